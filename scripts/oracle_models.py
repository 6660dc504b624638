"""Running mlt, and reading what it wrote with coremltools: shared by the scripts that compare."""

import collections
import inspect
import json
import logging
import math
import os
import shutil
import subprocess
import time
import warnings

os.environ["TQDM_DISABLE"] = "1"
logging.disable(logging.ERROR)
warnings.filterwarnings("ignore")

import numpy as np  # noqa: E402
import coremltools as ct  # noqa: E402
from coremltools.converters.mil.frontend.milproto.load import load as load_program  # noqa: E402
from coremltools.converters.mil.mil import types  # noqa: E402

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
DATA = os.path.join(ROOT, "Tests", "Conformance")
MIN_ELEMENTS = 512


# Running mlt


class Mlt:
    """The executable under test."""

    def __init__(self, path):
        self.path = os.path.abspath(path)

    def __call__(self, *words):
        """Exit code, standard output."""
        done = subprocess.run(
            [self.path, *map(str, words)], capture_output=True, text=True, check=False
        )
        self.error = done.stderr.strip()
        return done.returncode, done.stdout

    def json(self, *words):
        code, text = self(*words, "--json")
        if code != 0:
            raise Mismatch(f"mlt {words[0]} ended with {code}: {self.error}")
        return json.loads(text)

    def read(self, path):
        """A report."""
        with open(path, encoding="utf-8") as file:
            return json.load(file)


def run(mlt, command, path, directory, *options, name="out"):
    """Ledger and output of a command that compresses something."""
    out = os.path.join(directory, f"{name}.mlpackage")
    shutil.rmtree(out, ignore_errors=True)
    return mlt.json(command, path, "-o", out, *options), out


class Mismatch(Exception):
    """What differs."""


def require(condition, message):
    if not condition:
        raise Mismatch(message)


# Reading with coremltools


class Oracle:
    """A model as coremltools reads it: the programs of its tree and their constants."""

    def __init__(self, path):
        self.model = ct.models.MLModel(path, skip_model_load=True)
        self.spec = self.model.get_spec()
        self.specs = dict(programs(self.spec))
        self.constants = {}
        self.names = {}
        for place, spec in self.specs.items():
            program = load_program(
                spec,
                specification_version=spec.specificationVersion,
                file_weights_dir=self.model.weights_dir,
            )
            for name, function in program.functions.items():
                self._collect(function, place, name)

    def _collect(self, block, place, function):
        prefix = f"{place}{function}/"
        for op in block.operations:
            for inner in op.blocks:
                self._collect(inner, place, function)
            if is_constant(op):
                continue
            for parameter, bound in op.inputs.items():
                listed = isinstance(bound, (list, tuple))
                for index, var in enumerate(bound if listed else [bound]):
                    if var is None or var.op is None or not is_constant(var.op):
                        continue
                    if not types.is_tensor(var.sym_type) or types.is_str(var.dtype):
                        continue
                    key = f"{prefix}{op.name}.{parameter}" + (f"[{index}]" if listed else "")
                    self.names[key] = function, place + var.op.name
                    self.constants[key] = np.asarray(value(var))


def programs(spec, place=""):
    """The ML Programs in a model and the models of its pipeline."""
    kind = spec.WhichOneof("Type")
    if kind == "mlProgram":
        yield place, spec
    elif kind.startswith("pipeline"):
        pipeline = spec.pipeline if kind == "pipeline" else getattr(spec, kind).pipeline
        for index, child in enumerate(pipeline.models):
            yield from programs(child, f"{place}model{index}/")


def is_constant(op):
    return op.op_type == "const" or op.op_type.startswith("constexpr_")


def value(var):
    """The dense value of a constant; coremltools' own code decodes compressed ones."""
    op = var.op
    if op.op_type == "const":
        return var.val
    decode = getattr(type(op), "decompress", None)
    if decode is None:
        result = op.materialized_val_inference()
    else:
        inputs = {name: op.inputs.get(name) for name in inspect.signature(decode).parameters}
        result = decode(**{k: None if v is None else value(v) for k, v in inputs.items()})
    return result[list(op.outputs).index(var)] if isinstance(result, tuple) else result


def graph(block, names=None):
    """A program's operations apart from constants; what constants are called does not matter."""
    constants = set(names or ())
    lines = []
    for op in block.operations:
        if op.type == "const" or op.type.startswith("constexpr_"):
            constants.update(output.name for output in op.outputs)
    for op in block.operations:
        if op.type == "const" or op.type.startswith("constexpr_"):
            continue
        inputs = {
            key: [
                "constant"
                if binding.WhichOneof("binding") == "value" or binding.name in constants
                else binding.name
                for binding in argument.arguments
            ]
            for key, argument in op.inputs.items()
        }
        lines.append(
            (
                op.type,
                sorted(inputs.items()),
                [output.SerializeToString(deterministic=True) for output in op.outputs],
                sorted(
                    (key, item.SerializeToString(deterministic=True))
                    for key, item in op.attributes.items()
                ),
                [graph(inner, constants) for inner in op.blocks],
            )
        )
    return lines, list(block.outputs)


def identity(operation):
    """What an operation of a graph is, apart from its inputs and blocks."""
    kind, _, outputs, attributes, _ = operation
    return kind, tuple(outputs), tuple(attributes)


def same_graph(before, after, raised):
    """Whether two graphs agree. A raised version may add operations in front of inputs."""
    if not raised:
        return before == after
    rest = {identity(operation): operation for operation in after[0]}
    added = rest.keys() - {identity(operation) for operation in before[0]}
    # An output stands as serialized name and type: byte 1 is the length of the name.
    names = {output[2 : 2 + output[1]].decode() for item in added for output in item[1]}
    for operation in before[0]:
        inputs, blocks = operation[1], operation[4]
        other = rest.get(identity(operation))
        if other is None:
            return False
        bound = dict(other[1])
        for key, values in inputs:
            if bound.get(key) != values and not names.intersection(bound.get(key, [])):
                return False
        if len(blocks) != len(other[4]):
            return False
        if not all(same_graph(left, right, raised) for left, right in zip(blocks, other[4])):
            return False
    return before[1] == after[1]


def graphs(oracle):
    """The graphs of all functions."""
    result = {}
    for place, spec in oracle.specs.items():
        for name, function in spec.mlProgram.functions.items():
            block = function.block_specializations[function.opset]
            inputs = [item.SerializeToString(deterministic=True) for item in function.inputs]
            result[place + name] = inputs, graph(block)
    return result


def computing(block):
    """The operations that are neither constants nor casts: type and block structure."""
    return [
        (op.type, [computing(inner) for inner in op.blocks])
        for op in block.operations
        if op.type not in ("const", "cast") and not op.type.startswith("constexpr_")
    ]


def same_bits(left, right):
    return (
        left.dtype == right.dtype
        and left.shape == right.shape
        and np.ascontiguousarray(left).tobytes() == np.ascontiguousarray(right).tobytes()
    )


def squared_error(original, decoded):
    difference = original.astype(np.float64) - decoded.astype(np.float64)
    return float((difference * difference).sum())


# What is compared


def check_interface(before, after):
    require(
        before.spec.description.SerializeToString(deterministic=True)
        == after.spec.description.SerializeToString(deterministic=True),
        "the description changed",
    )
    require(
        after.spec.specificationVersion >= before.spec.specificationVersion,
        "the specification version went down",
    )
    lost = before.constants.keys() - after.constants.keys()
    require(not lost, f"lost {', '.join(sorted(lost))}")


def check_compressed(before, after, ledger, reference=None):
    """Interface, graph, values, errors; the number of weights compared with `reference`."""
    check_interface(before, after)
    left, right = graphs(before), graphs(after)
    require(left.keys() == right.keys(), "the functions changed")
    raised = after.spec.specificationVersion > before.spec.specificationVersion
    for name in left:
        require(left[name][0] == right[name][0], f"the inputs of {name} changed")
        require(
            same_graph(left[name][1], right[name][1], raised), f"the graph of {name} changed"
        )
    rows = {
        (function, row["name"]): row for row in ledger["weights"] for function in row["functions"]
    }
    compared = 0
    sums = [0.0, 0.0]
    seen = []
    for key, original in before.constants.items():
        decoded = after.constants[key]
        row = rows.get(before.names[key], {})
        if row.get("status") != "compressed":
            require(same_bits(original, decoded), f"{key} is not compressed and changed")
            continue
        require(
            original.dtype == decoded.dtype and original.shape == decoded.shape,
            f"{key}: {original.dtype}{original.shape} became {decoded.dtype}{decoded.shape}",
        )
        error = squared_error(original, decoded)
        power = squared_error(original, np.zeros_like(original))
        if row not in seen:
            seen.append(row)
            sums[0] += power
            sums[1] += error
        check_snr(key, row["snr_db"], power, error)
        if reference is not None and key in reference:
            compared += 1
            require(
                error <= reference[key],
                f"{key}: squared error {error:.6g}, coremltools has {reference[key]:.6g}",
            )
    check_snr("totals", ledger["totals"]["snr_db"], *sums)
    require(seen, "nothing was compressed")
    return compared


def check_snr(place, stated, power, error):
    true = 10 * math.log10(power / error) if error > 0 and power > 0 else None
    same = stated is None if true is None else stated is not None and abs(stated - true) < 1e-6
    require(same, f"{place}: the ledger says {stated} dB, it is {true}")


# The run


class Report:
    """Counts by group and prints what failed."""

    def __init__(self):
        self.groups = collections.OrderedDict()
        self.failed = 0
        self.passed = 0

    def run(self, group, label, work):
        """Runs one check; `work` returns what to add to the group's count of weights."""
        counts = self.groups.setdefault(group, [0, 0, 0, 0.0])
        start = time.monotonic()
        try:
            counts[2] += work() or 0
            counts[0] += 1
            self.passed += 1
        except Mismatch as mismatch:
            self._fail(counts, group, label, str(mismatch))
        except Exception as error:  # what coremltools raises when it cannot load an output
            self._fail(counts, group, label, f"{type(error).__name__}: {error}")
        counts[3] += time.monotonic() - start

    def _fail(self, counts, group, label, why):
        counts[1] += 1
        self.failed += 1
        if counts[1] <= 25:
            print(f"FAIL {group}: {label}: {why}", flush=True)
        elif counts[1] == 26:
            print(f"FAIL {group}: further failures are counted only", flush=True)

    def table(self):
        print(f"{'group':34}  {'passed':>6}  {'failed':>6}  {'weights':>7}  {'seconds':>7}")
        for name, (passed, failed, weights, seconds) in self.groups.items():
            print(f"{name:34}  {passed:6}  {failed:6}  {weights:7}  {seconds:7.1f}")
        print(f"{self.passed} passed, {self.failed} failed")
