#!/usr/bin/env python3
"""Runs operations recorded in a PyTorch trace again, and times them.

Reads event_replay_ir.json beside this file. Tensors get the recorded shapes, types and strides and random
contents. Needs PyTorch; everything else is Python's standard library.

Exit status: 0 all ran; 1 PyTorch reported an error; 2 wrong usage, or no PyTorch; 3 something was left out: an
operation or a type that this PyTorch lacks, an argument that was not recorded. Whatever can run, runs.
"""
import argparse
import json
import math
import os
import sys
import time

TYPES = {  # as the profiler names them, in lower case and without "c10::"
    "float": "float32", "double": "float64", "half": "float16", "int": "int32", "long": "int64", "long int": "int64",
    "long long": "int64", "short": "int16", "short int": "int16", "char": "int8", "signed char": "int8",
    "byte": "uint8", "unsigned char": "uint8", "unsigned short": "uint16", "unsigned short int": "uint16",
    "unsigned int": "uint32", "unsigned long": "uint64", "unsigned long int": "uint64", "complex<float>": "complex64",
    "complexfloat": "complex64", "complex<double>": "complex128", "complexdouble": "complex128",
    "complex<half>": "complex32", "complex<c10::half>": "complex32", "complexhalf": "complex32",
}
SHORT = {"float32": "f32", "float64": "f64", "float16": "f16", "bfloat16": "bf16", "int64": "i64", "int32": "i32"}
NUMBERS = ("float", "number", "Optional[float]", "Optional[number]")  # types of arguments
# Integer arguments that say where something is, by their names in PyTorch's schemas.
INDICES = ("index", "indices", "target", "targets")
# Integer arguments that say where sequences begin and end.
OFFSETS = ("cum_seq_q", "cum_seq_k", "cu_seqlens_q", "cu_seqlens_k", "cu_seqlens", "offsets")


class LeftOut(Exception):
    """What cannot be run here, and why."""


def is_tensor(value):
    return isinstance(value, dict)


def is_tensor_list(value):
    return isinstance(value, list) and bool(value) and all(is_tensor(item) for item in value)


def is_number(value):
    return isinstance(value, (int, float)) and not isinstance(value, bool) or value in ("inf", "-inf", "nan")


# ---- which overload of an operation was called, and which value is which argument


def fits(wanted, value):
    """Whether a recorded value can be an argument of that type of a schema."""
    if wanted.startswith("Optional["):
        return value is None or fits(wanted[9:-1], value)
    wanted = wanted.replace("SymInt", "int")
    if wanted.startswith("List["):
        if value == []:
            return True
        if wanted in ("List[Tensor]", "List[Optional[Tensor]]"):
            return is_tensor_list(value)
        return isinstance(value, list) and all(fits(wanted[5:-1], item) for item in value)
    if wanted == "Tensor":
        return is_tensor(value)
    if wanted == "bool":
        return isinstance(value, bool)
    if wanted == "int":
        return isinstance(value, int) and not isinstance(value, bool)
    if wanted in ("float", "number"):
        return is_number(value) or wanted == "number" and isinstance(value, bool)
    if wanted == "complex":
        return is_number(value)
    return wanted == "str" and isinstance(value, str)


def bind(schema, values):
    """[(argument, value)] of what is to be given, and the names of arguments that were not recorded; or None."""
    given, missing = [], []
    if any(value is not None for value in values[len(schema.arguments):]):
        return None
    for position, argument in enumerate(schema.arguments):
        value = values[position] if position < len(values) else None
        wanted = str(argument.type)
        if value is None and argument.has_default_value():
            continue
        if value is None and not wanted.startswith("Optional["):
            if wanted == "Tensor" and position < len(values):
                return None
            missing.append(argument.name)
        elif not fits(wanted, value):
            return None
        else:
            given.append((argument, value))
    return given, missing


def choose(schemas, values, name):
    """The first schema that fits: best one with as many arguments as were recorded and none unknown."""
    found = []
    for order, schema in enumerate(schemas):
        bound = bind(schema, values)
        if bound:
            found.append((len(bound[1]), abs(len(schema.arguments) - len(values)), order, schema, bound))
    if not found:
        raise LeftOut(f"{name}: none of its schemas in this PyTorch fits the recorded arguments")
    missing, _, _, schema, bound = min(found, key=lambda one: one[:3])
    if missing:
        raise LeftOut(f"{name}: not recorded: {', '.join(bound[1])}")
    return schema, bound[0]


# ---- tensors


def type_of(torch, recorded):
    name = recorded.lower()
    name = name[5:] if name.startswith("c10::") else name
    found = getattr(torch, TYPES.get(name, name), None)
    if not isinstance(found, torch.dtype):
        raise LeftOut(f"this PyTorch ({torch.__version__}) lacks the type {recorded}")
    return found


class Builder:
    """Values for one call."""

    def __init__(self, torch, op, given, device, list_type):
        self.torch, self.op, self.given, self.device = torch, op, given, device
        self.named = {argument.name: value for argument, value in given}
        self.specs = [item for value in self.named.values() for item in (value if isinstance(value, list) else [value])
                      if is_tensor(item)]
        self.unrecorded_type = list_type or next((spec["dtype"] for spec in self.specs if spec["dtype"]), "float")

    def index_bound(self, name, place):
        """Indices are below this; `place` is that of the index in a list of them."""
        source = next((self.named[key] for key in ("self", "input", "weight") if is_tensor(self.named.get(key))), None)
        if isinstance(self.named.get("num_weights"), int):
            return self.named["num_weights"]
        if source is None or not source["shape"]:
            return 1
        shape = source["shape"]
        if "embedding" in self.op:
            return (self.named["weight"] if is_tensor(self.named.get("weight")) else source)["shape"][0]
        if "max_pool" in self.op:
            return math.prod(shape[-(3 if "3d" in self.op else 2):])
        if place is not None:
            return shape[place] if place < len(shape) else 1
        if isinstance(self.named.get("dim"), int):
            return shape[self.named["dim"]]
        if name.startswith("target"):
            return shape[1] if len(shape) > 1 else shape[0]
        return min(shape)

    def fill(self, flat, name, place):
        """Contents of the recorded type; indices stay inside what they index."""
        if flat.dtype == self.torch.bool:
            return flat.random_(0, 2)
        if flat.is_floating_point() or flat.is_complex():
            try:
                return flat.normal_()
            except (RuntimeError, NotImplementedError):
                return self.torch.randn(flat.shape, device=flat.device).to(flat.dtype)
        if name in OFFSETS:
            total = self.specs[0]["shape"][0] if self.specs[0]["shape"] else 0
            return flat.copy_(self.torch.linspace(0, total, flat.numel()).floor())
        low, high = (0, self.index_bound(name, place)) if name in INDICES else (1, 8)
        return flat.random_(low, max(high, low + 1))

    def is_wrapped_number(self, spec, name):
        """A Python number beside tensors is recorded as a tensor without dimensions; PyTorch keeps it on the CPU."""
        return not spec["shape"] and spec["dtype"] in ("double", "long int") and name not in INDICES + OFFSETS and any(
            other["shape"] and other["dtype"] not in (None, spec["dtype"]) for other in self.specs)

    def tensor(self, spec, name, place=None):
        dtype = type_of(self.torch, spec["dtype"] or self.unrecorded_type)
        shape, strides = spec["shape"], spec["strides"]
        if strides is None:
            strides = [math.prod(shape[i + 1:]) for i in range(len(shape))]
        extent = 0 if 0 in shape else 1 + sum((size - 1) * stride for size, stride in zip(shape, strides))
        device = "cpu" if self.is_wrapped_number(spec, name) else self.device
        # The memory behind it, filled as a whole: elements may share it, as those of expanded tensors do.
        try:
            flat = self.torch.empty(extent, dtype=dtype, device=device)
            if spec["init"] and extent:
                flat = self.fill(flat, name, place)
        except (TypeError, NotImplementedError) as error:
            raise LeftOut(f"{self.op}: type {spec['dtype']}: {first_line(error)}") from error
        return flat.as_strided(shape, strides)

    def value(self, argument, value):
        if is_tensor(value):
            return self.tensor(value, argument.name)
        if is_tensor_list(value):
            return [self.tensor(item, argument.name, place) for place, item in enumerate(value)]
        if isinstance(value, str) and str(argument.type) in NUMBERS:
            return float(value)
        return value

    def values(self, schema):
        """What stands by position, and what by name: what is behind an argument that is left out."""
        positional, keywords = [], {}
        for argument, value in self.given:
            value = self.value(argument, value)
            if not keywords and not argument.kwarg_only and schema.arguments[len(positional)].name == argument.name:
                positional.append(value)
            else:
                keywords[argument.name] = value
        return positional, keywords


def operation(torch, name, schema):
    library, operator = name.split("::", 1)
    packet = getattr(getattr(torch.ops, library), operator)
    return getattr(packet, schema.overload_name or "default", packet)


def prepare(torch, entry, device, list_type=None):
    """The call as a function without arguments."""
    recorded, ir = entry["op_name"], entry["replay_ir"]
    if entry.get("left_out"):
        raise LeftOut(f"{recorded}: {entry['left_out']}")
    name, _, overload = recorded.partition(".")
    if name.count("::") != 1 or not all(part.isidentifier() for part in [*name.split("::"), overload or "none"]):
        raise LeftOut(f"{recorded}: no operation of PyTorch")
    schemas = torch._C._jit_get_schemas_for_operator(name)
    if not schemas:
        raise LeftOut(f"{name}: this PyTorch ({torch.__version__}) has no such operation")
    if overload:
        wanted = "" if overload == "default" else overload
        schemas = [one for one in schemas if one.overload_name == wanted] or schemas
    schema, given = choose(schemas, [one["value"] for one in ir["list_pos_args"] + ir["list_kwargs"]], name)
    positional, keywords = Builder(torch, name, given, device, list_type).values(schema)
    function = operation(torch, name, schema)
    return lambda: function(*positional, **keywords)


# ---- timing


def synchronize(torch, device):
    module = getattr(torch, device.type, None)
    if device.type != "cpu" and hasattr(module, "synchronize"):
        module.synchronize()


def timed(torch, device, call, times):
    """Seconds of so many calls, one behind the other."""
    synchronize(torch, device)
    if device.type == "cuda":
        begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        begin.record()
        for _ in range(times):
            call()
        end.record()
        end.synchronize()
        return begin.elapsed_time(end) / 1000
    start = time.perf_counter()
    for _ in range(times):
        call()
    synchronize(torch, device)
    return time.perf_counter() - start


def measure(torch, device, call, options):
    """Mean microseconds of a call; fewer calls than asked for where they would take too long."""
    first = timed(torch, device, call, 1)
    if options.warmup > 1:
        warm = max(1, min(options.warmup - 1, int(options.seconds / max(first, 1e-9))))
        first = timed(torch, device, call, warm) / warm
    times = max(1, min(options.repeats, int(options.seconds / max(first, 1e-9))))
    return timed(torch, device, call, times) / times * 1e6


# ---- what is printed


def describe(value):
    if is_tensor(value):
        name = str(value["dtype"]).lower().replace("c10::", "")
        name = TYPES.get(name, name)
        return f"{SHORT.get(name, name)}[{','.join(map(str, value['shape']))}]"
    if is_tensor_list(value):
        more = f", ... {len(value)} tensors" if len(value) > 2 else ""
        return f"({', '.join(map(describe, value[:2]))}{more})"
    return "-" if value is None else str(value).replace(" ", "")


def arguments_text(entry, limit=72):
    ir = entry["replay_ir"]
    text = " ".join([describe(one["value"]) for one in ir["list_pos_args"]] +
                    [f"{one['arg_name']}={describe(one['value'])}" for one in ir["list_kwargs"]])
    return text if len(text) <= limit else text[:limit - 3] + "..."


def shown(value, digits):
    return "-" if value is None else f"{value:.{digits}f}"


def print_table(head, rows):
    widths = [max(len(row[i]) for row in [head] + rows) for i in range(len(head))]
    for row in [head] + rows:
        print("  ".join(cell.ljust(width) if i < 2 else cell.rjust(width)
                        for i, (cell, width) in enumerate(zip(row, widths))).rstrip())


def first_line(error, limit=200):
    line = (str(error).strip() or type(error).__name__).splitlines()[0]
    return line if len(line) <= limit else line[:limit - 3] + "..."


def tell(message):
    print(f"replay.py: {message}", file=sys.stderr)


# ---- all of it


def read_options():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--device", help="where to run, as PyTorch names it: cuda, cuda:1, cpu (default: a GPU if "
                                         "there is one)")
    parser.add_argument("--repeats", type=int, default=100, help="timed calls (default 100)")
    parser.add_argument("--warmup", type=int, default=10, help="calls before those (default 10)")
    parser.add_argument("--seconds", type=float, default=5, help="fewer calls of what takes longer (default 5)")
    parser.add_argument("--list-type", default=None,
                        help="type of tensors in lists, which traces often do not have (default: that of the other "
                             "arguments, else float)")
    options = parser.parse_args()
    if options.repeats < 1 or options.warmup < 0 or not options.seconds >= 0:
        parser.error("--repeats is at least 1, --warmup and --seconds at least 0")
    return options


def read_entries():
    path = os.path.join(os.path.dirname(os.path.abspath(__file__)), "event_replay_ir.json")
    try:
        with open(path, encoding="utf-8") as file:
            return json.load(file)
    except (OSError, ValueError) as error:
        tell(f"event_replay_ir.json cannot be read: {first_line(error)}")
        sys.exit(2)


def choose_device(torch, options):
    try:
        device = torch.device(options.device or ("cuda" if torch.cuda.is_available() else "cpu"))
        torch.empty(1, device=device)
        return device
    except (RuntimeError, AssertionError) as error:
        tell(f"--device {options.device}: {first_line(error)}")
        sys.exit(2)


def run(torch, entry, device, options):
    """(microseconds, exit status, message)"""
    try:
        return measure(torch, device, prepare(torch, entry, device, options.list_type), options), 0, None
    except LeftOut as error:
        return None, 3, str(error)
    except NotImplementedError as error:
        return None, 3, f"{entry['op_name']}: not on {device.type}: {first_line(error)}"
    except (RuntimeError, TypeError, ValueError, IndexError, AttributeError, MemoryError) as error:
        # A CPU has fewer mixtures of types than a GPU.
        lacks = "not implemented for" in str(error) or device.type == "cpu" and "expected scalar type" in str(error)
        return None, 3 if lacks else 1, f"{entry['op_name']}: {first_line(error)}"


def main():
    options = read_options()
    entries = read_entries()
    try:
        import torch
    except ImportError:
        tell("PyTorch is needed, and this Python has none (python3 -c 'import torch' shows why)")
        return 2
    device = choose_device(torch, options)
    name = torch.cuda.get_device_name(device) if device.type == "cuda" else device.type
    print(f"PyTorch {torch.__version__} on {name}")
    torch.manual_seed(0)
    torch.set_flush_denormal(True)
    rows, statuses, messages = [], set(), []
    with torch.no_grad():
        for entry in entries:
            us, status, message = run(torch, entry, device, options)
            gflops = entry.get("gflops")
            rows.append([entry["op_name"], arguments_text(entry), str(entry["count"]), shown(entry.get("mean_us"), 3),
                         shown(us, 3), shown(1000 * gflops / us if gflops and us else None, 3)])
            statuses.add(status)
            if message and message not in messages:
                messages.append(message)
    print_table(["operation", "arguments", "count", "recorded us", "measured us", "TFLOP/s"], rows)
    print("recorded: mean time of the kernels of a call; measured: mean time of a call, one behind the other")
    sys.stdout.flush()
    for message in messages:
        tell(message)
    return 1 if 1 in statuses else max(statuses, default=0)


if __name__ == "__main__":
    sys.exit(main())
