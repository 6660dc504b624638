"""Joint schemes and decompression compared with coremltools, for scripts/conformance.py.

Chains of commands on every uncompressed base, and each command on every package of the zoo, which
coremltools made: what Core ML can express composes, the rest is left with a reason. Decompression
gives what coremltools decodes.
"""

import glob
import os
import shutil

from oracle_models import (
    DATA,
    MIN_ELEMENTS,
    Oracle,
    check_compressed,
    check_interface,
    require,
    run,
    same_bits,
)

import numpy as np


def encodings(mlt, path):
    """The encodings of the weights, by name."""
    return {row["name"]: row["encoding"] for row in mlt.json("inspect", path)["weights"]}


PRUNE = ("prune", "--sparsity", 0.75)
PRUNE_MORE = ("prune", "--sparsity", 0.9)
PALETTE = ("palettize",)
GROUPS = ("palettize", "--granularity", "channel-group", "--group-size", 8)
QUANTIZE = ("quantize",)
BLOCKS = ("quantize", "--bits", 4, "--granularity", "block", "--block-size", 16)
TABLE = ("quantize", "--granularity", "tensor")

# Chains of commands with the encoding that they end in.
CHAINS = [
    ([PRUNE, PALETTE], "sparse+lut"),
    ([PRUNE, GROUPS], "sparse+lut"),
    ([PRUNE, ("palettize", "--nbits", 2, "--mode", "uniform")], "sparse+lut"),
    ([PRUNE, ("palettize", "--nbits", 8)], None),
    ([PRUNE, ("palettize", "--lut-bits", 8)], "sparse+lut+blockwise"),
    ([PRUNE, QUANTIZE], "sparse+blockwise"),
    ([PRUNE, ("quantize", "--mode", "affine")], "sparse+blockwise"),
    ([PRUNE, BLOCKS], None),
    ([PALETTE, TABLE], "lut+blockwise"),
    ([GROUPS, TABLE], "lut+blockwise"),
    ([("palettize", "--cluster-dim", 2), TABLE], "lut+blockwise"),
    ([PRUNE, PALETTE, TABLE], "sparse+lut+blockwise"),
    ([PALETTE, PRUNE], "sparse+lut"),
    ([PALETTE, TABLE, PRUNE], "sparse+lut+blockwise"),
    ([QUANTIZE, PRUNE], "sparse+blockwise"),
    ([BLOCKS, PRUNE], "sparse+blockwise"),
    ([PRUNE, PRUNE_MORE], "sparse"),
    ([PRUNE, PALETTE, PRUNE_MORE], "sparse+lut"),
]


def check_chain(mlt, path, chain, encoding, directory):
    """Every step against the model before it; the last one's zeros are those of the pruning."""
    current = path
    sparse = {}
    for number, step in enumerate(chain):
        before = Oracle(copied(current, directory))
        ledger, current = run(
            mlt, step[0], current, directory, "--min-elements", MIN_ELEMENTS, *step[1:],
            name=f"step{number}",
        )
        after = Oracle(current)
        check_compressed(before, after, ledger)
        if step[0] == "prune":
            sparse = {key: value == 0 for key, value in after.constants.items()}
        for key, zeros in sparse.items():
            require(not after.constants[key][zeros].any(), f"{key}: zeros are gone")
        require(
            ledger["totals"]["after_bytes"] <= ledger["totals"]["before_bytes"], "the model grew"
        )
    if encoding:
        found = encodings(mlt, current)
        for row in ledger["weights"]:
            if row["status"] == "compressed":
                name = row["name"]
                require(found[name] == encoding, f"{name} is {found[name]}, not {encoding}")
    return sum(row["status"] == "compressed" for row in ledger["weights"])


def copied(path, directory):
    """A copy: coremltools rewrites the manifest of what it opens."""
    copy = os.path.join(directory, "before.mlpackage")
    shutil.rmtree(copy, ignore_errors=True)
    shutil.copytree(path, copy)
    return copy


# What a command makes of an encoding, or part of the reason why it leaves the weight.
COMPOSITIONS = {
    "palettize": {
        "dense": "lut", "sparse": "sparse+lut", "affine": "is quantized",
        "blockwise": "is quantized", "sparse+blockwise": "is quantized", "lut": "already",
        "lut+blockwise": "already", "sparse+lut": "already", "sparse+lut+blockwise": "already",
    },
    "quantize": {
        "dense": "blockwise", "sparse": "sparse+blockwise", "affine": "already",
        "blockwise": "already", "sparse+blockwise": "already", "lut": "lut+blockwise",
        "lut+blockwise": "already", "sparse+lut": "sparse+lut+blockwise",
        "sparse+lut+blockwise": "already",
    },
    "prune": {
        "dense": "sparse", "sparse": "sparse", "affine": "sparse+blockwise",
        "blockwise": "sparse+blockwise", "sparse+blockwise": "sparse+blockwise",
        "lut": "sparse+lut", "lut+blockwise": "sparse+lut+blockwise", "sparse+lut": "sparse+lut",
        "sparse+lut+blockwise": "sparse+lut+blockwise",
    },
}


def check_composition(mlt, package, command, directory):
    """A command on a package that coremltools compressed."""
    found = encodings(mlt, package)
    vector = "vector" in os.path.basename(package)
    options = {"palettize": [], "quantize": ["--granularity", "tensor"], "prune": PRUNE_MORE[1:]}
    out = os.path.join(directory, "out.mlpackage")
    report = os.path.join(directory, "report.json")
    shutil.rmtree(out, ignore_errors=True)
    words = ["-o", out, "--min-elements", MIN_ELEMENTS, "--report", report, "--target-os", "iOS18"]
    code, _ = mlt(command, package, *words, *options[command])
    require(code in (0, 1), f"{command} ended with {code}: {mlt.error}")
    ledger = mlt.read(report)
    count = 0
    after = encodings(mlt, out) if code == 0 else {}
    for row in ledger["weights"]:
        if row["parameters"] <= MIN_ELEMENTS or row["name"] not in found:
            continue
        wanted = COMPOSITIONS[command][found[row["name"]]]
        if vector and command == "prune" and wanted != "sparse":
            wanted = "vectors"
        label = f"{row['name']} ({found[row['name']]})"
        if row["status"] == "compressed":
            count += 1
            name = after[row["name"]]
            require(name == wanted, f"{label} became {name}, not {wanted}")
        elif "would not shrink" not in row["reason"]:  # tables of two entries
            require(wanted in row["reason"], f"{label}: {row['reason']}; expected {wanted}")
    if code == 0:
        check_compressed(Oracle(copied(package, directory)), Oracle(out), ledger)
    return count


def check_decompress(mlt, package, directory):
    """Plain weights that are what coremltools decodes."""
    expected = np.load(package.replace(".mlpackage", ".dense.npz"))
    _, out = run(mlt, "decompress", package, directory)
    require(set(encodings(mlt, out).values()) == {"dense"}, "something is compressed still")
    before, after = Oracle(copied(package, directory)), Oracle(out)
    check_interface(before, after)
    for key in expected.files:
        require(same_bits(after.constants[key], expected[key]), f"{key} differs")
    return len(expected.files)


# The run


def run_all(mlt, report, wanted, paths, directory, quick):
    """All groups of this file; `paths` are those of the bases by name."""
    for name, path in paths.items():
        group = f"joint {name}"
        for chain, encoding in CHAINS[:: 4 if quick else 1] if wanted(group) else ():
            label = ", then ".join(" ".join(map(str, step)) for step in chain)
            report.run(group, label, lambda: check_chain(mlt, path, chain, encoding, directory))

    for package in sorted(glob.glob(os.path.join(DATA, "zoo", "*.mlpackage"))):
        name = os.path.basename(package)
        group = "compositions with the zoo"
        for command in COMPOSITIONS if wanted(group) else ():
            work = lambda: check_composition(mlt, package, command, directory)  # noqa: E731
            report.run(group, f"{command} {name}", work)
        group = "decompressing the zoo"
        if wanted(group) and not name.startswith("base_"):
            report.run(group, name, lambda: check_decompress(mlt, package, directory))
