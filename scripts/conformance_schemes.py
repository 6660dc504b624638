"""Palettization and pruning compared with coremltools, for scripts/conformance.py.

Palettization: every combination of settings on every uncompressed base; the error per weight must
not be above that of coremltools for the same settings.
Pruning: exact counts of zeros, nothing but the least values gone, kept values bit for bit.
"""

import collections
import itertools
import json
import os
import shutil

from oracle_models import (
    MIN_ELEMENTS,
    Oracle,
    check_compressed,
    require,
    run,
    same_bits,
    squared_error,
)

import numpy as np
import coremltools.optimize.coreml as cto

Palette = collections.namedtuple("Palette", "bits mode group vector scale table")
Prune = collections.namedtuple("Prune", "rule value size dim")

# Output and input channels' axes of the bases' weights.
AXES = {"conv": (0, 1), "up": (1, 0), "fc1": (0, 1), "mm": (1, 0), "fc2": (0, 1)}


def axes_of(key):
    """The axes of output and input channels of a base's weight."""
    return AXES[key.split("/")[-1].split(".")[0].removesuffix("_has_output_shape")]


# Palettization


def palettes(quick):
    """Every mode and width, per tensor and in groups, with vectors, scales and quantized tables."""
    widths = (4,) if quick else (1, 2, 3, 4, 6, 8)
    for bits, mode, group in itertools.product(widths, ("kmeans", "uniform"), (None, 8, 16)):
        yield Palette(bits, mode, group, 1, False, False)
    for bits, group in itertools.product(widths, (None, 8)):
        yield Palette(bits, "kmeans", group, 1, True, False)
        yield Palette(bits, "kmeans", group, 1, False, True)
        for vector in (2, 4):
            if bits * vector <= 16:
                yield Palette(bits, "kmeans", group, vector, False, False)


def palette_words(settings):
    words = ["--nbits", settings.bits, "--mode", settings.mode]
    if settings.group:
        words += ["--granularity", "channel-group", "--group-size", settings.group]
    if settings.vector > 1:
        words += ["--cluster-dim", settings.vector]
    if settings.scale:
        words.append("--per-channel-scale")
    if settings.table:
        words += ["--lut-bits", 8]
    return words


def limits(**options):
    """A coremltools configuration whose scheme holds for all weights."""
    kind = options.pop("kind")
    return cto.OptimizationConfig(global_config=kind(weight_threshold=MIN_ELEMENTS, **options))


def peer_palettized(model, settings):
    options = {"granularity": "per_grouped_channel", "group_size": settings.group}
    made = cto.palettize_weights(
        model,
        limits(
            kind=cto.OpPalettizerConfig,
            mode=settings.mode,
            nbits=settings.bits,
            cluster_dim=settings.vector,
            enable_per_channel_scale=settings.scale,
            **(options if settings.group else {}),
        ),
    )
    if settings.table:
        quantizer = cto.OpLinearQuantizerConfig(granularity="per_tensor", weight_threshold=1)
        config = cto.OptimizationConfig(global_config=quantizer)
        made = cto.linear_quantize_weights(made, config, joint_compression=True)
    return made


def peer_pruned(model, settings):
    rules = {
        "sparsity": {"target_sparsity": settings.value},
        "n-m": {"n_m_ratio": (settings.value, settings.size)},
        "blocks": {"target_sparsity": settings.value, "block_size": settings.size},
    }
    options = rules[settings.rule]
    if settings.dim is not None:
        options["dim"] = settings.dim
    return cto.prune_weights(model, limits(kind=cto.OpMagnitudePrunerConfig, **options))


class Errors:
    """Squared errors per weight of coremltools, once per base and settings."""

    def __init__(self, bases, directory):
        self.bases = bases
        self.directory = directory
        self.known = {}

    def __call__(self, base, settings, make):
        """The errors by key; weights that coremltools leaves alone are absent."""
        base = "base_fp32_ios18" if "fp32" in base else "base_ios18"
        key = base, settings
        if key not in self.known:
            before = self.bases[base]
            place = os.path.join(self.directory, "peer.mlpackage")
            try:
                make(before.model, settings).save(place)
            except ValueError:  # too few values for its k-means
                self.known[key] = {}
                return {}
            after = Oracle(place)
            shutil.rmtree(place)
            self.known[key] = {
                key: squared_error(original, after.constants[key])
                for key, original in before.constants.items()
                if key in after.constants and not same_bits(original, after.constants[key])
            }
        return self.known[key]


def check_palette(mlt, base, path, before, settings, errors, directory):
    out = os.path.join(directory, "out.mlpackage")
    report = os.path.join(directory, "report.json")
    shutil.rmtree(out, ignore_errors=True)
    words = ["-o", out, "--min-elements", MIN_ELEMENTS, "--report", report]
    code, _ = mlt("palettize", path, *words, *palette_words(settings))
    require(code in (0, 1), f"mlt ended with {code}: {mlt.error}")
    ledger = mlt.read(report)
    for row in ledger["weights"]:
        stays = row["parameters"] <= MIN_ELEMENTS or "would not shrink" in (row["reason"] or "")
        require(row["status"] == "compressed" or stays, f"{row['name']}: {row['reason']}")
    if code == 1:
        return 0
    # Groups whose tables would outweigh the savings become larger: not the same settings.
    scope = f"per {settings.group} channels" if settings.group else "per tensor"
    same = {row["name"] for row in ledger["weights"] if scope in (row["scheme"] or "")}
    keys = [key for key in before.constants if before.names[key][1] in same]
    found = errors(base, settings, peer_palettized)
    if settings.scale:
        keys = [key for key in keys if fewer_scales(before.constants[key], axes_of(key)[0])]
    reference = {key: found[key] for key in keys if key in found}
    for key in reference:
        if settings.mode == "uniform":
            # The levels are given. Those that coremltools computes in float16 miss them, for
            # better or worse.
            even = even_levels_error(before.constants[key], settings, axes_of(key)[0])
            reference[key] = max(reference[key], even)
        if settings.vector > 1:
            # No method for vectors is exact, neither ours nor theirs.
            reference[key] *= 1.005
        if settings.table:
            # How few entries round to 8 bits is luck beyond that.
            reference[key] *= 1.0005
    return check_compressed(before, Oracle(out), ledger, reference)


def even_levels_error(original, settings, axis):
    """The least squared error with evenly spaced levels from the least to the greatest value."""
    lines = np.moveaxis(original, axis, 0)
    total = 0.0
    for group in np.split(lines, len(lines) // (settings.group or len(lines))):
        values = np.sort(group.astype(np.float64), axis=None)
        levels = np.linspace(values[0], values[-1], 2**settings.bits)
        levels = levels.astype(original.dtype).astype(np.float64)
        nearest = np.searchsorted((levels[1:] + levels[:-1]) / 2, values)
        total += float(((values - levels[nearest]) ** 2).sum())
    return total * (1 + 1e-12)


def fewer_scales(array, axis):
    """Whether coremltools has no more scales, and so bytes: its scales lie along the channels."""
    return array.size // array.shape[axis] <= array.shape[axis]


def check_unique(mlt, path, directory):
    """The distinct values of a palettized model, decompressed, give the same weights and no error."""
    _, pal = run(mlt, "palettize", path, directory, "--min-elements", MIN_ELEMENTS, name="pal")
    _, dense = run(mlt, "decompress", pal, directory, name="dense")
    ledger, out = run(
        mlt, "palettize", dense, directory, "--min-elements", MIN_ELEMENTS, "--mode", "unique"
    )
    require(ledger["totals"]["snr_db"] is None, "the distinct values lose something")
    before, after = Oracle(dense), Oracle(out)
    for key, original in before.constants.items():
        require(same_bits(original, after.constants[key]), f"{key} differs")
    return check_compressed(before, after, ledger)


# Pruning


def prunings(quick):
    for share in (0.75,) if quick else (0.1, 0.5, 0.6, 0.75, 0.9, 1.0):
        yield Prune("sparsity", share, None, None)
    for limit in (0.05,) if quick else (0, 1e-9, 0.001, 0.02, 0.05, 0.1):
        yield Prune("threshold", limit, None, None)
    ratios = ((2, 4),) if quick else ((2, 4), (1, 4), (3, 4), (5, 7), (4, 8))
    for (zeros, size), dim in itertools.product(ratios, (0, 1)):
        yield Prune("n-m", zeros, size, dim)
    for size, share, dim in itertools.product((4,) if quick else (2, 3, 4, 8), (0.5, 0.75), (0, 1)):
        yield Prune("blocks", share, size, dim)


def prune_words(settings):
    words = {
        "sparsity": ["--sparsity", settings.value],
        "threshold": ["--threshold", settings.value],
        "n-m": ["--n-m", f"{settings.value}:{settings.size}"],
        "blocks": ["--sparsity", settings.value, "--block-size", settings.size],
    }[settings.rule]
    return words + (["--dim", settings.dim] if settings.dim is not None else [])


def blocks_of(array, axis, size):
    """The blocks of `size` elements along an axis, one per row; the last ones padded with NaN."""
    lines = np.moveaxis(array, axis, -1).astype(np.float64)
    missing = -lines.shape[-1] % size
    lines = np.pad(lines, [(0, 0)] * (lines.ndim - 1) + [(0, missing)], constant_values=np.nan)
    return lines.reshape(-1, size)


def check_zeros(key, original, decoded, settings):
    """Exactly the zeros that the rule asks for, the least values; the others bit for bit."""
    kept = decoded != 0
    require(np.array_equal(original[kept], decoded[kept]), f"{key}: a kept value changed")
    size = np.abs(original.astype(np.float64))
    if settings.rule in ("sparsity", "threshold"):
        if settings.rule == "sparsity":
            wanted = max(int((original == 0).sum()), int(np.floor(settings.value * original.size)))
        else:
            wanted = int((size <= settings.value).sum())
        count = int((~kept).sum())
        require(count == wanted, f"{key}: {count} zeros instead of {wanted}")
        ordered = not kept.any() or kept.all() or size[~kept].max() <= size[kept].min()
        require(ordered, f"{key}: a greater value became zero than one that is kept")
        return
    axis = axes_of(key)[settings.dim]
    before = blocks_of(size, axis, settings.size)
    after = blocks_of(kept.astype(np.float64), axis, settings.size)
    there = ~np.isnan(before)
    if settings.rule == "n-m":
        missing = (~there).sum(axis=1)
        wanted = np.maximum(np.maximum(settings.value - missing, 0), (before == 0).sum(axis=1))
        require(
            np.array_equal((after == 0).sum(axis=1), wanted),
            f"{key}: not {settings.value} of every {settings.size} are zero",
        )
        least = np.where(after == 1, before, np.inf).min(axis=1)
        most = np.where(after == 0, before, -np.inf).max(axis=1)
        require((most <= least).all(), f"{key}: a greater value became zero")
        return
    empty = np.nansum(after, axis=1) == 0
    wanted = int(np.floor(settings.value * len(before)))
    require(int(empty.sum()) == wanted, f"{key}: {empty.sum()} blocks instead of {wanted}")
    norms = np.nansum(before * before, axis=1)
    require(norms[empty].max() <= norms[~empty].min(), f"{key}: a greater block became zero")
    lost = (after == 0) & (before > 0) & ~empty[:, None]
    require(not lost.any(), f"{key}: a value of a kept block became zero")


def check_prune_nothing(mlt, path, before, words, directory):
    """A threshold below all values: all skipped with the reason, nothing written."""
    out = os.path.join(directory, "nothing.mlpackage")
    code, text = mlt(
        "prune", path, "-o", out, "--min-elements", MIN_ELEMENTS, *words, "--json"
    )
    require(code == 1, f"mlt prune ended with {code}: {mlt.error}")
    require(not os.path.exists(out), "an output was written")
    rows = {row["name"]: row for row in json.loads(text)["weights"]}
    asked = 0
    for key, original in before.constants.items():
        row = rows.get(before.names[key][1])
        if row is None or original.size <= MIN_ELEMENTS:
            continue
        require(row["status"] == "skipped", f"{key} is {row['status']}")
        if "fewer than" not in row["reason"]:
            require((original != 0).all(), f"{key} has zeros")
            require("no value is to become zero" in row["reason"], f"{key}: {row['reason']}")
            asked += 1
    require(asked > 0, "no weight was asked for")


def check_prune(mlt, base, path, before, settings, errors, directory):
    words = prune_words(settings)
    if settings.value < 1e-6:
        return check_prune_nothing(mlt, path, before, words, directory)
    ledger, out = run(mlt, "prune", path, directory, "--min-elements", MIN_ELEMENTS, *words)
    after = Oracle(out)
    names = {row["name"] for row in ledger["weights"] if row["status"] == "compressed"}
    for key, original in before.constants.items():
        if before.names[key][1] in names:
            check_zeros(key, original, after.constants[key], settings)
    unchanged = {
        before.names[key][1]
        for key, original in before.constants.items()
        if settings.rule == "threshold" and (np.abs(original) > settings.value).all()
    }
    for row in ledger["weights"]:
        stays = row["parameters"] <= MIN_ELEMENTS or "fewer than" in (row["reason"] or "")
        stays = stays or row["name"] in unchanged
        require(row["status"] == "compressed" or stays, f"{row['name']}: {row['reason']}")
        if row["status"] == "compressed":
            require(row["after_bytes"] <= row["before_bytes"], f"{row['name']} grew")
    reference = None
    if settings.rule != "threshold":
        reference = errors(base, settings, peer_pruned)
    return check_compressed(before, after, ledger, reference)


# The run


def run_all(mlt, report, wanted, bases, paths, directory, quick):
    """All groups of this file."""
    errors = Errors(bases, directory)
    for name, before in bases.items():
        path = paths[name]
        group = f"palettize {name}"
        for settings in palettes(quick) if wanted(group) else ():
            label = " ".join(map(str, palette_words(settings)))
            work = lambda: check_palette(mlt, name, path, before, settings, errors, directory)  # noqa: E731
            report.run(group, label, work)
        if wanted(group):
            report.run(group, "unique", lambda: check_unique(mlt, path, directory))
        group = f"prune {name}"
        for settings in prunings(quick) if wanted(group) else ():
            label = " ".join(map(str, prune_words(settings)))
            work = lambda: check_prune(mlt, name, path, before, settings, errors, directory)  # noqa: E731
            report.run(group, label, work)
