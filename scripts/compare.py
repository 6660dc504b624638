"""Writes docs/comparison.md: squared errors and bytes of mlt and coremltools for the same schemes.

For every base of Tests/Conformance/zoo and for a generated transformer of SIZE megabytes (100), at
least one block and the embedding.
Errors are of the weights that both compress, as coremltools decodes them; for chains that start
with pruning against the pruned weights, so that they speak of the kept values. Bytes are those
of data, tables, scales, offsets and masks.
"""

import argparse
import collections
import glob
import logging
import math
import os
import re
import shutil
import subprocess
import sys
import tempfile

from oracle_models import DATA, MIN_ELEMENTS, ROOT, Mlt, Oracle, same_bits, squared_error

import numpy as np
import coremltools.optimize.coreml as cto
from coremltools.optimize.coreml._quantization_passes import palettize_weights

Scheme = collections.namedtuple("Scheme", "name steps peer slow equal", defaults=(False, False))


class Row:
    """Errors and bytes by weight, of mlt and of coremltools where it can do the scheme."""

    def __init__(self, scheme, ours, peers=None):
        self.scheme = scheme
        self.mine, self.theirs = ours, peers
        keys = sorted(ours if peers is None else ours.keys() & peers.keys())
        if scheme.equal and peers is not None:
            keys = [key for key in keys if alike(ours[key][1], peers[key][1])]
        self.weights = len(keys)
        self.ours, self.our_bytes = totals(ours, keys)
        self.peers, self.peer_bytes = totals(peers, keys) if peers else (None, None)


def alike(size, other):
    """Whether sizes agree within 1 %: coremltools zeroes a few values more at the same share."""
    return abs(size - other) <= other / 100


def totals(measured, keys):
    """The error and the bytes of some weights."""
    return tuple(sum(measured[key][part] for key in keys) for part in (0, 1))

WEIGHTS = "/Data/*/weights/weight.bin"
THRESHOLD = {"weight_threshold": MIN_ELEMENTS}
BLOCKS = {"granularity": "per_block", "block_size": 16}
GROUPS = {"granularity": "per_grouped_channel", "group_size": 16}
BLOCK_WORDS = ["--granularity", "block", "--block-size", 16]
GROUP_WORDS = ["--granularity", "channel-group", "--group-size", 16]


def config(kind, **options):
    return cto.OptimizationConfig(global_config=kind(**{**THRESHOLD, **options}))


def quantizer(joint=False, **options):
    made = config(cto.OpLinearQuantizerConfig, **options)
    return lambda model: cto.linear_quantize_weights(model, made, joint_compression=joint)


def palettizer(joint=False, **options):
    made = config(cto.OpPalettizerConfig, **{"mode": "kmeans", **options})
    return lambda model: cto.palettize_weights(model, made, joint_compression=joint)


def pruner(**options):
    made = config(cto.OpMagnitudePrunerConfig, **options)
    return lambda model: cto.prune_weights(model, made)


def table():
    return quantizer(joint=True, granularity="per_tensor", weight_threshold=1)


def quantize(name, words, **options):
    return Scheme(name, [["quantize", *words]], [quantizer(**options)])


def palettize(name, words, **options):
    return Scheme(name, [["palettize", *words]], [palettizer(**options)])


def truly_scaled(weight, axis):
    """coremltools' k-means of a weight divided by one scale per output channel, decoded."""
    others = tuple(other for other in range(weight.ndim) if other != axis)
    scale = np.max(np.abs(weight), axis=others, keepdims=True)
    scale[scale == 0] = 1
    packed = palettize_weights.blockwise_compress(
        weight / scale, "KMEANS", 4, [0] * weight.ndim, channel_axis=axis
    )
    return palettize_weights.decompress(packed) * scale


INT8 = "int8 per channel"
SCALED = "lut4, scale per channel"
TRULY_SCALED = "lut4, true scale per channel"
SCALE_WORDS = ["--per-channel-scale"]
PRUNE = ["prune", "--sparsity", 0.75]
PRUNED = "prune 75 %"
SCHEMES = [
    quantize(INT8, []),
    quantize("int8 affine per channel", ["--mode", "affine"], mode="linear"),
    quantize("int4 blocks of 16", ["--bits", 4, *BLOCK_WORDS], dtype="int4", **BLOCKS),
    *(
        quantize(
            f"{'u' if unsigned else ''}int4 {mode} blocks of 16, --scale-search mse",
            ["--bits", 4, "--mode", mode, *unsigned, *BLOCK_WORDS, "--scale-search", "mse"],
            dtype="uint4" if unsigned else "int4",
            mode="linear_symmetric" if mode == "symmetric" else "linear",
            **BLOCKS,
        )
        for unsigned in ([], ["--unsigned"])
        for mode in ("symmetric", "affine")
    ),
    *(palettize(f"lut{bits}", ["--nbits", bits], nbits=bits) for bits in (1, 2, 3, 4, 6, 8)),
    palettize("lut4 uniform", ["--mode", "uniform"], nbits=4, mode="uniform"),
    palettize("lut4, groups of 16", GROUP_WORDS, nbits=4, **GROUPS),
    palettize(SCALED, SCALE_WORDS, nbits=4, enable_per_channel_scale=True),
    Scheme(TRULY_SCALED, [["palettize", *SCALE_WORDS]], truly_scaled),
    palettize(
        "lut4, table per channel",
        ["--granularity", "channel-group", "--group-size", 1],
        nbits=4,
        granularity="per_grouped_channel",
        group_size=1,
    )._replace(slow=True, equal=True),
    palettize("lut4, vectors of 2", ["--cluster-dim", 2], nbits=4, cluster_dim=2)._replace(
        slow=True
    ),
    Scheme("lut4, int8 table", [["palettize", "--lut-bits", 8]], [palettizer(nbits=4), table()]),
    Scheme(PRUNED, [PRUNE], [pruner(target_sparsity=0.75)]),
    Scheme("prune 2:4", [["prune", "--n-m", "2:4"]], [pruner(n_m_ratio=(2, 4))]),
    Scheme(
        "prune 50 %, blocks of 4",
        [["prune", "--sparsity", 0.5, "--block-size", 4]],
        [pruner(target_sparsity=0.5, block_size=4)],
    ),
    Scheme(
        f"{PRUNED}, then lut4",
        [PRUNE, ["palettize"]],
        [pruner(target_sparsity=0.75), palettizer(True, nbits=4)],
    ),
    Scheme(
        f"{PRUNED}, then int8 per channel",
        [PRUNE, ["quantize"]],
        [pruner(target_sparsity=0.75), quantizer(True)],
    ),
    Scheme(
        f"{PRUNED}, then lut4, then int8 table",
        [PRUNE, ["palettize"], ["quantize", "--granularity", "tensor"]],
        [pruner(target_sparsity=0.75), palettizer(True, nbits=4), table()],
    ),
]

# What is claimed, for which schemes and models, and from how many dB on it holds.
CLAIMS = [
    ("int4 blocks with `--scale-search mse`: about 0.5 dB", "int4 symmetric blocks", "", 0.45),
    ("uint4 blocks with `--scale-search mse`: about 0.5 dB", "uint4", "", 0.45),
    ("a scale per channel: about 1.8 dB", SCALED, "", 1.6),
    ("the same beside one true scale per channel", TRULY_SCALED, "", 1.6),
    ("prune, then palettize: about 0.5 dB on the kept values", f"{PRUNED}, then lut4", "", 0.45),
    ("fp32 palettization: below", "lut", "fp32", 0.01),
    ("small groups: below", "lut4, groups", "base", 0.01),
]


class Comparison:
    def __init__(self, mlt, directory):
        self.mlt = mlt
        self.directory = directory

    def place(self, name):
        path = os.path.join(self.directory, name + ".mlpackage")
        shutil.rmtree(path, ignore_errors=True)
        return path

    def stored(self, path):
        """Stored bytes by consumer."""
        return {
            f"{use['function']}/{use['operation']}.{use['input']}": row["stored_bytes"]
            for row in self.mlt.json("inspect", path)["weights"]
            for use in row["consumers"]
        }

    def ours(self, path, scheme):
        """The outputs of the steps."""
        for number, step in enumerate(scheme.steps):
            out = self.place(f"ours{number}")
            words = ["-o", out, "--min-elements", MIN_ELEMENTS]
            self.ledger = self.mlt.json(step[0], path, *words, *step[1:])
            path = out
            yield path

    def peers(self, model, scheme):
        for number, step in enumerate(scheme.peer):
            model = step(model)
            out = self.place(f"peer{number}")
            model.save(out)
            yield out

    def measured(self, before, outputs, scheme):
        """Squared errors and bytes by key; those of chains against the pruned weights."""
        paths = list(outputs)
        first, last = Oracle(paths[0]), Oracle(paths[-1])
        originals = first.constants if len(scheme.steps) > 1 else before.constants
        stored = self.stored(paths[-1])
        return {
            key: (squared_error(originals[key], decoded), stored[key])
            for key, decoded in last.constants.items()
            if key in before.constants and not same_bits(before.constants[key], decoded)
        }

    def composed(self, before, ours, scheme):
        """Errors of a peer made of coremltools' parts, stored in our form."""
        schemes = {row["name"]: row.get("scheme") or "" for row in self.ledger["weights"]}
        result = {}
        for key, (_, size) in ours.items():
            axis = re.search(r"axis (\d+)", schemes[before.names[key][1]])
            weight = before.constants[key]
            decoded = scheme.peer(weight, int(axis[1])).astype(weight.dtype)
            result[key] = squared_error(weight, decoded), size
        return result

    def row(self, path, before, scheme):
        ours = self.measured(before, self.ours(path, scheme), scheme)
        try:
            if callable(scheme.peer):
                return Row(scheme, ours, self.composed(before, ours, scheme))
            peers = self.peers(before.model, scheme)
            return Row(scheme, ours, self.measured(before, peers, scheme))
        except (ValueError, KeyError) as error:
            print(f"  {scheme.name}: coremltools: {str(error)[:100]}", file=sys.stderr)
            return Row(scheme, ours)


def decibels(row):
    """How much less error mlt has; None without both."""
    if not row.peers or not row.ours:
        return None
    return 10 * math.log10(row.peers / row.ours)


def section(name, rows):
    yield f"## {name}"
    yield ""
    yield "| scheme | weights | error | coremltools | dB | bytes | coremltools |"
    yield "|---|---:|---:|---:|---:|---:|---:|"
    for row in rows:
        gain = decibels(row)
        cells = [row.scheme.name, str(row.weights), f"{row.ours:.6g}"]
        if row.peers is None:
            cells += ["–"] * 4
        else:
            cells += [f"{row.peers:.6g}", "" if gain is None else f"{gain:+.3f}"]
            cells += [str(row.our_bytes), str(row.peer_bytes)]
        yield "| " + " | ".join(cells) + " |"
    yield ""


def verdicts(tables):
    """Claims with the range of dB found and whether they hold."""
    yield "| claim | found, dB | bytes, of coremltools' | |"
    yield "|---|---:|---:|---|"
    above = []
    for model, rows in tables.items():
        for row in rows:
            gain = decibels(row)
            if gain is not None and alike(row.our_bytes, row.peer_bytes) and row.ours > row.peers:
                above.append((gain, f"{row.scheme.name} of {model} ({gain:+.4f})"))
    above.sort()
    where = "not met: " + "; ".join(text for _, text in above) if above else "met"
    worst = f"{above[0][0]:+.4f}" if above else "≥ 0"
    yield f"| at equal size no scheme has more error | {worst} | within 1 % | {where} |"
    for text, scheme, model, least in CLAIMS:
        found = [
            row
            for name, rows in tables.items()
            for row in rows
            if decibels(row) is not None and row.scheme.name.startswith(scheme) and model in name
            and "uniform" not in row.scheme.name and "int8" not in row.scheme.name
            and (scheme != "lut" or "," not in row.scheme.name)
        ]
        if not found:
            continue
        gains = [decibels(row) for row in found]
        shares = [row.our_bytes / row.peer_bytes for row in found]
        met = "met" if min(gains) >= least else "met in part" if max(gains) >= least else "not met"
        yield claim(text, gains, shares, met)
        if scheme == TRULY_SCALED:
            yield from at_their_size(tables)
    yield ""


def claim(text, gains, shares, met):
    cells = [f"{min(gains):+.2f} … {max(gains):+.2f}", f"{min(shares):.2f} … {max(shares):.2f}"]
    return "| " + " | ".join([text, *cells, met]) + " |"


def at_their_size(tables):
    """What int8 does for the bytes of coremltools' scales per channel, where they suffice."""
    gains, shares = [], []
    for rows in tables.values():
        named = {row.scheme.name: row for row in rows}
        theirs, mine = named[SCALED].theirs or {}, named[INT8].mine
        keys = [key for key in theirs if key in mine and mine[key][1] <= theirs[key][1]]
        if keys:
            (our_error, our_bytes), (error, size) = totals(mine, keys), totals(theirs, keys)
            gains.append(10 * math.log10(error / our_error))
            shares.append(our_bytes / size)
    if gains:
        yield claim("int8 per channel beside coremltools' scales, where they take more bytes: below", gains, shares, "met")


INTRODUCTION = """# Compared with coremltools

`make compare` writes this page: the squared error Σ(w − ŵ)² and the stored bytes of mlt and of
coremltools 9.0 for the same schemes, over the weights that both compress. dB is how much less
error mlt has; negative means more. Chains that start with pruning are measured against the pruned
weights. `–`: coremltools cannot do it for the model's version. Bytes are those of data, tables,
scales, offsets and masks.

With a scale per channel either stores a table per scale. Those of mlt lie along the output channels;
coremltools' lie along the other axes, which takes two to three times the bytes for convolutions. "lut4,
true scale per channel" compares with a peer made of coremltools' parts: weights divided by the greatest
magnitude of their output channel, its k-means, one table; stored in the same form, hence in the same
bytes. What either scale gains depends on how much the channels differ: little in `transformer`, whose
channels are all alike. "lut4, table per channel" is what both can do without scales, for the weights that
take equal bytes.

`transformer` is the model of `make bench`, here for iOS 18 and of {size} MB of weights; vectors are left out, which take
coremltools hours.
"""


def main():
    parser = argparse.ArgumentParser(description="compare errors and bytes with coremltools")
    parser.add_argument("--mlt", required=True)
    parser.add_argument("--generate", required=True)
    parser.add_argument("--only", default="", help="models whose name contains this; prints only")
    arguments = parser.parse_args()
    size = int(os.environ.get("SIZE") or 100)
    mlt = Mlt(arguments.mlt)
    directory = tempfile.mkdtemp(prefix="mlt-compare-")
    tables = {}
    try:
        models = sorted(glob.glob(os.path.join(DATA, "zoo", "base_*.mlpackage")))
        transformer = os.path.join(directory, "transformer.mlpackage")
        if arguments.only in "transformer":
            words = ["transformer", str(size), transformer, "fp16", "9"]
            subprocess.run([arguments.generate, *words], check=True)
            size = round(os.path.getsize(glob.glob(transformer + WEIGHTS)[0]) / 1e6)
        for path in [*models, transformer]:
            name = os.path.basename(path).removesuffix(".mlpackage")
            if arguments.only not in name:
                continue
            print(name, file=sys.stderr, flush=True)
            copy = os.path.join(directory, "before.mlpackage")
            shutil.rmtree(copy, ignore_errors=True)
            shutil.copytree(path, copy)
            before = Oracle(copy)
            compare = Comparison(mlt, directory)
            tables[name] = [
                compare.row(path, before, scheme)
                for scheme in SCHEMES
                if path != transformer or not scheme.slow
            ]
    finally:
        shutil.rmtree(directory)
    lines = [INTRODUCTION.format(size=size), *verdicts(tables)]
    for name, rows in tables.items():
        lines += section(name, rows)
    text = "\n".join(lines).rstrip("\n") + "\n"
    if arguments.only:
        print(text, end="")
    else:
        with open(os.path.join(ROOT, "docs", "comparison.md"), "w", encoding="utf-8") as file:
            file.write(text)
    return 0


if __name__ == "__main__":
    logging.disable(logging.CRITICAL)
    sys.exit(main())
