"""Compares mlt with coremltools.

Decoding: every weight of the packages in Tests/Conformance/zoo as `mlt inspect --tensor` writes
it, bit for bit against what coremltools decoded (NAME.dense.npz).
Quantization: every combination of settings on every uncompressed base. coremltools must load the
output; interface and graph must be as before, what was not compressed the same bits, the error
per weight not above that of coremltools for the same settings, the ledger's SNR the true one.
Palettization, pruning, joint schemes, decompression: see conformance_schemes.py
and conformance_joint.py.
Models: the same for programs of other shapes: functions, states, flexible inputs, pipelines; and
for the real ones in MLT_SHARED (../shared), where that exists.
"""

import argparse
import collections
import glob
import itertools
import os
import shutil
import sys
import tempfile

from oracle_models import (
    DATA,
    MIN_ELEMENTS,
    ROOT,
    Mlt,
    Oracle,
    Report,
    check_compressed,
    computing,
    require,
    same_bits,
    squared_error,
)

import numpy as np
import coremltools.optimize.coreml as cto

import conformance_joint
import conformance_schemes

Settings = collections.namedtuple("Settings", "bits mode unsigned granularity block search")


# coremltools' own quantization


class Peer:
    """Squared errors per weight of coremltools for the same settings, once per setting."""

    targets = {"ios16": "base_ios16", "ios17": "base_ios17", "ios18": "base_ios18"}

    def __init__(self, bases, directory):
        self.bases = bases
        self.directory = directory
        self.errors = {}

    def __call__(self, base, settings):
        """The errors by key; weights that coremltools leaves alone are absent."""
        classic = settings.bits == 8 and settings.granularity != "block"
        if not classic:
            base = "base_fp32_ios18" if "fp32" in base else "base_ios18"
        key = base, settings._replace(search=None)
        if key not in self.errors:
            self.errors[key] = self._measure(base, settings)
        return self.errors[key]

    def _measure(self, base, settings):
        granularity = {"channel": "per_channel", "tensor": "per_tensor", "block": "per_block"}
        options = {"block_size": settings.block} if settings.block else {}
        config = cto.OpLinearQuantizerConfig(
            mode="linear_symmetric" if settings.mode == "symmetric" else "linear",
            dtype=("uint" if settings.unsigned else "int") + str(settings.bits),
            granularity=granularity[settings.granularity],
            weight_threshold=MIN_ELEMENTS,
            **options,
        )
        before = self.bases[base]
        made = cto.linear_quantize_weights(
            before.model, cto.OptimizationConfig(global_config=config)
        )
        place = os.path.join(self.directory, "peer.mlpackage")
        made.save(place)
        after = Oracle(place)
        shutil.rmtree(place)
        return {
            key: squared_error(original, after.constants[key])
            for key, original in before.constants.items()
            if key in after.constants and not same_bits(original, after.constants[key])
        }


# The run


def check_decoding(mlt, package, directory):
    """Every dense tensor of the package's .npz as mlt decodes it."""
    expected = np.load(package.replace(".mlpackage", ".dense.npz"))
    facts = mlt.json("inspect", package)
    names = {
        f"{use['function']}/{use['operation']}.{use['input']}": weight["name"]
        for weight in facts["weights"]
        for use in weight["consumers"]
    }
    out = os.path.join(directory, "tensor.npy")
    for key in expected.files:
        require(key in names, f"inspect lists no weight {key}")
        code, _ = mlt("inspect", package, "--tensor", names[key], "-o", out, "--force")
        require(code == 0, f"inspect --tensor {names[key]} ended with {code}: {mlt.error}")
        require(same_bits(np.load(out), expected[key]), f"{key} differs")
        os.remove(out)
    return len(expected.files)


def combinations(quick):
    granularities = [("tensor", None), ("channel", None)]
    granularities += [("block", size) for size in ((16,) if quick else (8, 16, 32))]
    for bits, mode, unsigned, (granularity, block), search in itertools.product(
        (8, 4), ("symmetric", "affine"), (False, True), granularities, ("none", "mse")
    ):
        if not quick or search == "none" or (mode == "symmetric" and not unsigned):
            yield Settings(bits, mode, unsigned, granularity, block, search)


def words(settings):
    result = ["--bits", settings.bits, "--mode", settings.mode]
    result += ["--granularity", settings.granularity, "--scale-search", settings.search]
    if settings.unsigned:
        result.append("--unsigned")
    if settings.block:
        result += ["--block-size", settings.block]
    return result


def check_settings(mlt, base, path, before, settings, peer, directory):
    out = os.path.join(directory, "out.mlpackage")
    shutil.rmtree(out, ignore_errors=True)
    ledger = mlt.json(
        "quantize", path, "-o", out, "--min-elements", MIN_ELEMENTS, *words(settings)
    )
    after = Oracle(out)
    require(
        len([row for row in ledger["weights"] if row["status"] == "compressed"]) == 5,
        "not all five matrices were compressed",
    )
    return check_compressed(before, after, ledger, peer(base, settings))


def check_half(mlt, path, before, options, directory):
    """--bits 16: float16 weights of the nearest values, the interface as it was."""
    out = os.path.join(directory, "out.mlpackage")
    shutil.rmtree(out, ignore_errors=True)
    mlt.json("quantize", path, "-o", out, "--bits", 16, *options)
    after = Oracle(out)
    require(
        before.spec.description.SerializeToString(deterministic=True)
        == after.spec.description.SerializeToString(deterministic=True),
        "the description changed",
    )
    if before.spec.specificationVersion == after.spec.specificationVersion:
        for place, spec in before.specs.items():
            for name, function in spec.mlProgram.functions.items():
                other = after.specs[place].mlProgram.functions[name]
                require(
                    computing(function.block_specializations[function.opset])
                    == computing(other.block_specializations[other.opset]),
                    f"{name} has other operations",
                )
    count = 0
    for key, original in before.constants.items():
        if original.dtype != np.float32 or original.size < 10:
            continue
        expected = original.astype(np.float16)
        decoded = after.constants.get(key)
        require(decoded is not None, f"{key} is missing")
        if options:  # storage only: the value is float32 again
            expected = expected.astype(np.float32)
        require(same_bits(expected, decoded), f"{key} is not what numpy rounds to")
        count += 1
    return count


def check_model(mlt, path, options, directory):
    out = os.path.join(directory, "out.mlpackage")
    shutil.rmtree(out, ignore_errors=True)
    copy = os.path.join(directory, "before.mlpackage")
    shutil.rmtree(copy, ignore_errors=True)
    shutil.copytree(path, copy)
    before = Oracle(copy)
    ledger = mlt.json("quantize", path, "-o", out, "--min-elements", 16, *options)
    check_compressed(before, Oracle(out), ledger)
    return sum(row["status"] == "compressed" for row in ledger["weights"])


def main():
    parser = argparse.ArgumentParser(description="compare mlt with coremltools")
    parser.add_argument("--mlt", default=os.path.join(ROOT, ".build", "release", "mlt"))
    parser.add_argument("--quick", action="store_true", help="a subset")
    parser.add_argument("--only", default="", help="groups whose name contains this")
    arguments = parser.parse_args()
    mlt = Mlt(arguments.mlt)
    report = Report()
    directory = tempfile.mkdtemp(prefix="mlt-conformance-")
    wanted = lambda group: arguments.only in group  # noqa: E731
    try:
        packages = sorted(glob.glob(os.path.join(DATA, "zoo", "*.mlpackage")))
        require(packages, f"no packages in {DATA}/zoo")
        for package in packages:
            name = os.path.basename(package)
            group = "decoding the zoo"
            if wanted(group):
                report.run(group, name, lambda: check_decoding(mlt, package, directory))

        bases, paths = {}, {}
        for package in packages:
            name = os.path.basename(package).removesuffix(".mlpackage")
            if name.startswith("base_"):
                # coremltools rewrites the manifest of what it opens: it gets a copy.
                copy = os.path.join(directory, name + ".mlpackage")
                shutil.copytree(package, copy)
                bases[name], paths[name] = Oracle(copy), package
        peer = Peer(bases, directory)
        for name, before in bases.items():
            group = f"quantize {name}"
            for settings in combinations(arguments.quick) if wanted(group) else ():
                label = " ".join(map(str, words(settings)))
                report.run(
                    group,
                    label,
                    lambda: check_settings(
                        mlt, name, paths[name], before, settings, peer, directory
                    ),
                )
            group = "16 bits"
            for options in ([], ["--storage-only"]) if "fp32" in name and wanted(group) else ():
                report.run(
                    group,
                    " ".join([name, *options]),
                    lambda: check_half(mlt, paths[name], before, options, directory),
                )

        conformance_schemes.run_all(
            mlt, report, wanted, bases, paths, directory, arguments.quick
        )
        conformance_joint.run_all(mlt, report, wanted, paths, directory, arguments.quick)

        quantizations = [], ["--bits", "4"], ["--target-os", "iOS26"]
        others = glob.glob(os.path.join(DATA, "models", "*.mlpackage"))
        others += glob.glob(os.path.join(ROOT, "samples", "*.mlpackage"))
        for path in sorted(others):
            name = os.path.basename(path)
            group = "other programs"
            for options in quantizations if wanted(group) else ():
                report.run(
                    group,
                    " ".join([name, *options]),
                    lambda: check_model(mlt, path, options, directory),
                )
        group = "real programs"
        shared = os.environ.get("MLT_SHARED") or os.path.join(ROOT, "..", "shared")
        for path in sorted(glob.glob(os.path.join(shared, "models", "*", "*.mlpackage"))):
            name = os.path.basename(path)
            for options in quantizations if wanted(group) else ():
                report.run(
                    group,
                    " ".join([name, *options]),
                    lambda: check_model(mlt, path, options, directory),
                )
            for options in ([], ["--storage-only"]) if wanted(group) else ():
                copy = os.path.join(directory, "before.mlpackage")
                shutil.rmtree(copy, ignore_errors=True)
                shutil.copytree(path, copy)
                report.run(
                    group,
                    " ".join([name, "--bits 16", *options]),
                    lambda: check_half(mlt, path, Oracle(copy), options, directory),
                )
    finally:
        shutil.rmtree(directory)
    report.table()
    return 1 if report.failed or not report.passed else 0


if __name__ == "__main__":
    sys.exit(main())
