"""Times mlt against a warm `cp -r` of the same model, in one run.

Medians of five after a warm-up, interleaved with the copies; outputs are removed outside the
timing. mlt's time ends before the final fsync, which has a column of its own; `cp` does none.
Memory is the peak resident size of the process, mapped pages included.

Environment: SIZE (megabytes of weights, 1000), BENCH_DIR (keeps the models there), STRICT=1 (exit
code 1 when a limit is exceeded), PEER=1 (coremltools once; all figures to docs/benchmarks.md),
SIZES (several numbers: only how time and memory grow with the size, the best of three).
"""

import argparse
import datetime
import json
import os
import platform
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
ROUNDS = 5
MEMORY_LIMIT = 150e6
TABLE_MEMORY_LIMIT = 200e6

# Job, command, at most so many times `cp -r`.
GROUPS = ["--granularity", "channel-group", "--group-size", "16"]
BLOCKS = ["quantize", "--bits", "4", "--granularity", "block", "--scale-search", "mse"]
JOBS = [
    ("palettize 4 bits per tensor", ["palettize"], 2),
    ("palettize 8 bits per tensor", ["palettize", "--nbits", "8"], 2.5),
    ("palettize 4 bits, groups of 16", ["palettize", *GROUPS], 12),
    ("prune 75 %", ["prune", "--sparsity", "0.75"], 2),
    ("quantize 4 bits, blocks, mse", BLOCKS, 14),
    ("quantize 4 bits, affine blocks, mse", [*BLOCKS, "--mode", "affine"], 20),
]
# fp32 may take so many times the time per byte of fp16.
SINGLE_LIMIT = 3
# A bundle in the cache may take so much of the time that it takes to make it.
HIT_LIMIT = 0.05


class Run:
    """One finished process: seconds, peak bytes, standard output."""

    def __init__(self, words, environment=None):
        with tempfile.TemporaryFile() as output:
            start = time.monotonic()
            process = subprocess.Popen(
                words, stdout=output, stdin=subprocess.DEVNULL, env=environment
            )
            _, status, usage = os.wait4(process.pid, 0)
            self.seconds = time.monotonic() - start
            process.returncode = os.waitstatus_to_exitcode(status)
            output.seek(0)
            self.output = output.read().decode()
        self.peak = usage.ru_maxrss * 1024
        self.processor = usage.ru_utime + usage.ru_stime
        if process.returncode != 0:
            sys.exit(f"bench: {' '.join(words)} ended with {process.returncode}")

    @property
    def synchronize(self):
        """Seconds of the final fsync, from the ledger."""
        return json.loads(self.output)["synchronize_seconds"]


def remove(path):
    shutil.rmtree(path, ignore_errors=True)
    os.sync()


def interleaved(model, place, words, beside=None):
    """Five runs of `words` and five copies, or other runs, in turn, after one of each."""
    copy, out = os.path.join(place, "copy.mlpackage"), os.path.join(place, "out.mlpackage")
    copies, runs = [], []
    for _ in range(ROUNDS + 1):
        remove(copy)
        other = beside or ["cp", "-r", model, "OUT"]
        copies.append(Run([copy if word == "OUT" else word for word in other]))
        remove(copy)
        remove(out)
        runs.append(Run([out if word == "OUT" else word for word in words]))
    remove(out)
    return copies[1:], runs[1:]


class Table:
    columns = ("job", "seconds", "cp -r", "ratio", "limit", "ok", "fsync", "peak MB")

    def __init__(self):
        self.rows = []
        self.exceeded = False

    def add(
        self, job, seconds=None, copy=None, limit="", ok=None, fsync=None, peak=None, ratio=None
    ):
        number = lambda value, digits: "" if value is None else f"{value:.{digits}f}"  # noqa: E731
        ratio = seconds / copy if copy else ratio
        self.exceeded = self.exceeded or ok is False
        self.rows.append(
            (
                job,
                number(seconds, 3),
                number(copy, 3),
                number(ratio, 2),
                limit,
                "" if ok is None else "yes" if ok else "NO",
                number(fsync, 3),
                number(peak and peak / 1e6, 0),
            )
        )

    def lines(self):
        rows = [self.columns, *self.rows]
        widths = [max(len(row[column]) for row in rows) for column in range(len(self.columns))]
        for row in rows:
            cells = [row[0].ljust(widths[0])]
            cells += [cell.rjust(width) for cell, width in zip(row[1:], widths[1:])]
            yield "  ".join(cells).rstrip()

    def markdown(self):
        for index, row in enumerate([self.columns, *self.rows]):
            yield "| " + " | ".join(row) + " |"
            if index == 0:
                yield "|---" + "|---:" * (len(row) - 1) + "|"


def median(values):
    return statistics.median(values)


def measure(mlt, model, large, place, table):
    """The rows of the table; returns the quantize time."""
    copies, runs = interleaved(
        model, place, [mlt, "quantize", model, "-o", "OUT", "--json", "--quiet"]
    )
    seconds = median([run.seconds - run.synchronize for run in runs])
    copy = median([run.seconds for run in copies])
    peak = max(run.peak for run in runs)
    table.add(
        "quantize 8 bits per channel",
        seconds,
        copy,
        "1.5 x",
        seconds <= 1.5 * copy,
        median([run.synchronize for run in runs]),
        peak,
    )
    quantize_seconds = seconds

    runs = [Run([mlt, "inspect", model]) for _ in range(ROUNDS + 1)][1:]
    seconds = median([run.seconds for run in runs])
    table.add(
        "inspect",
        seconds,
        limit="0.030 s",
        ok=seconds <= 0.030,
        peak=max(run.peak for run in runs),
    )

    copies, runs = interleaved(model, place, [mlt, "inspect", model, "--weights"])
    seconds = median([run.seconds for run in runs])
    copy = median([run.seconds for run in copies])
    table.add(
        "inspect --weights",
        seconds,
        copy,
        "2.0 x",
        seconds <= 2 * copy,
        peak=max(run.peak for run in runs),
    )

    table.add("quantize, memory", limit="150 MB", ok=peak <= MEMORY_LIMIT, peak=peak)
    if large:
        out = os.path.join(place, "out.mlpackage")
        remove(out)
        run = Run([mlt, "quantize", large, "-o", out, "--json", "--quiet"])
        remove(out)
        table.add(
            "quantize, memory, four times the size",
            run.seconds - run.synchronize,
            limit="150 MB",
            ok=run.peak <= MEMORY_LIMIT,
            fsync=run.synchronize,
            peak=run.peak,
        )
    return quantize_seconds


def measure_tables(mlt, model, single, large, place, table):
    """The rows of palettize and prune."""
    options = ["-o", "OUT", "--json", "--quiet"]
    peaks = []
    for job, words, limit in JOBS:
        copies, runs = interleaved(model, place, [mlt, words[0], model, *words[1:], *options])
        seconds = median([run.seconds - run.synchronize for run in runs])
        copy = median([run.seconds for run in copies])
        peak = max(run.peak for run in runs)
        peaks.append(peak)
        fsync = median([run.synchronize for run in runs])
        table.add(job, seconds, copy, f"{limit} x", seconds <= limit * copy, fsync, peak)

    # In turn, so that what else the machine does bears on both.
    halves, runs = interleaved(
        single,
        place,
        [mlt, "palettize", single, *options],
        [mlt, "palettize", model, *options],
    )
    seconds, half = (
        median([run.seconds - run.synchronize for run in side]) for side in (runs, halves)
    )
    ratio = seconds / half / (size_of(single) / size_of(model))
    peaks.append(max(run.peak for run in runs))
    table.add(
        "palettize 4 bits, fp32, per byte",
        seconds,
        limit=f"{SINGLE_LIMIT} x fp16",
        ok=ratio <= SINGLE_LIMIT,
        peak=peaks[-1],
        ratio=ratio,
    )
    peak = max(peaks)
    table.add("tables, memory", limit="200 MB", ok=peak <= TABLE_MEMORY_LIMIT, peak=peak)
    for job, words, _ in [JOBS[0], JOBS[3]] if large else ():
        out = os.path.join(place, "out.mlpackage")
        remove(out)
        run = Run([mlt, words[0], large, *words[1:], "-o", out, "--json", "--quiet"])
        remove(out)
        table.add(
            f"{job}, four times the size",
            run.seconds - run.synchronize,
            limit="200 MB",
            ok=run.peak <= TABLE_MEMORY_LIMIT,
            fsync=run.synchronize,
            peak=run.peak,
        )


def measure_cache(mlt, model, place, table):
    """The rows of compile: a bundle made and copied into the cache, and one found there."""
    cache = os.path.join(place, "cache")
    words = [mlt, "compile", model, "--cache-dir", cache, "--json", "--quiet"]
    cold, hits = [], []
    for _ in range(ROUNDS + 1):
        remove(cache)
        cold.append(Run(words))
        hits.append(Run(words))
    remove(cache)
    if any(json.loads(run.output)["hit"] for run in cold) or not all(
        json.loads(run.output)["hit"] for run in hits
    ):
        sys.exit("bench: the cache does not do what is timed")
    seconds = median([run.seconds for run in cold[1:]])
    found = median([run.seconds for run in hits[1:]])
    table.add("compile, nothing in the cache", seconds, peak=max(run.peak for run in cold))
    table.add(
        "compile, a hit, by the time without one",
        found,
        seconds,
        f"{HIT_LIMIT} x",
        found <= HIT_LIMIT * seconds,
        peak=max(run.peak for run in hits),
    )


GROWING = [("palettize 4 bits per tensor", ["palettize"]), ("quantize 8 bits per channel", ["quantize"])]


def growth(mlt, generate, place, sizes):
    """Lines of a table of seconds, of these and of processor time per GB, and memory by size."""
    yield "| job | MB | seconds | per GB | processor, per GB | fsync | peak MB |"
    yield "|---|---:|---:|---:|---:|---:|---:|"
    out = os.path.join(place, "out.mlpackage")
    for job, words in GROWING:
        for size in sizes:
            model = generated(generate, size, place)
            runs = []
            for _ in range(4):
                remove(out)
                runs.append(Run([mlt, *words, model, "-o", out, "--json", "--quiet"]))
            remove(out)
            run = min(runs[1:], key=lambda run: run.seconds - run.synchronize)
            seconds = run.seconds - run.synchronize
            processor = min(run.processor for run in runs)
            cells = [job, size, f"{seconds:.2f}"]
            cells += [f"{time / size_of(model) * 1e9:.2f}" for time in (seconds, processor)]
            cells += [f"{run.synchronize:.2f}", f"{max(run.peak for run in runs) / 1e6:.0f}"]
            yield "| " + " | ".join(map(str, cells)) + " |"


def size_of(package):
    """Bytes of all files."""
    return sum(
        os.path.getsize(os.path.join(folder, name))
        for folder, _, names in os.walk(package)
        for name in names
    )


def machine():
    """Processor, cores, memory, system."""
    with open("/proc/cpuinfo", encoding="utf-8") as lines:
        names = [line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")]
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 1e9
    return (
        f"{names[0] if names else platform.machine()}, {len(os.sched_getaffinity(0))} cores, "
        f"{memory:.0f} GB memory, Linux {platform.release().split('-')[0]}"
    )


def record(table, size):
    """Adds the table to docs/benchmarks.md."""
    day = datetime.datetime.now(datetime.timezone.utc).date().isoformat()
    lines = ["", f"## {day}, {size} MB", "", f"{machine()}.", "", *table.markdown()]
    with open(os.path.join(ROOT, "docs", "benchmarks.md"), "a", encoding="utf-8") as file:
        file.write("\n".join(lines) + "\n")


def generated(generate, size, place, kind="fp16"):
    """A transformer of `size` megabytes in `place`, made unless it is there."""
    suffix = "" if kind == "fp16" else f"-{kind}"
    model = os.path.join(place, f"transformer-{size}{suffix}.mlpackage")
    if not os.path.isdir(model):
        Run([generate, "transformer", str(size), model, kind])
        os.sync()
    return model


def main():
    parser = argparse.ArgumentParser(description="time mlt against cp -r")
    parser.add_argument("--mlt", required=True)
    parser.add_argument("--generate", required=True)
    arguments = parser.parse_args()
    mlt, generate = os.path.abspath(arguments.mlt), os.path.abspath(arguments.generate)
    size = int(os.environ.get("SIZE") or 1000)
    kept = os.environ.get("BENCH_DIR")
    peer = os.environ.get("PEER") == "1"
    place = kept or tempfile.mkdtemp(prefix="bench-", dir=os.path.join(ROOT, ".build"))
    os.makedirs(place, exist_ok=True)
    sizes = [int(size) for size in os.environ.get("SIZES", "").split()]
    table = Table()
    try:
        if sizes:
            for line in growth(mlt, generate, place, sizes):
                print(line, flush=True)
            return 0
        free = shutil.disk_usage(place).free
        model = generated(generate, size, place)
        # Both models and the output of the large one at the same time.
        large = generated(generate, 4 * size, place) if free > 8e6 * size else None
        quantize = measure(mlt, model, large, place, table)
        single = generated(generate, size, place, "fp32")
        measure_tables(mlt, model, single, large, place, table)
        measure_cache(mlt, model, place, table)
        if peer:
            out = os.path.join(place, "peer.mlpackage")
            script = os.path.join(ROOT, "scripts", "peer.py")
            python = os.path.join(ROOT, ".oracle", "venv", "bin", "python")
            run = Run([python, script, model, out])
            remove(out)
            table.add("coremltools 9.0, 8 bits per channel, once", run.seconds, peak=run.peak)
            table.add(f"  mlt is {run.seconds / quantize:.0f} times as fast")
        print(f"{size} MB of weights; {machine()}")
        print("\n".join(table.lines()))
        if not large:
            print("no room for the model of four times the size")
        if peer:
            record(table, size)
    finally:
        if not kept:
            shutil.rmtree(place)
    if table.exceeded:
        print("a limit is exceeded")
    return 1 if table.exceeded and os.environ.get("STRICT") == "1" else 0


if __name__ == "__main__":
    sys.exit(main())
