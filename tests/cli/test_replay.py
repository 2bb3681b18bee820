"""Replay packages: what is in them, that nothing else is, and that they run."""
import csv
import json
import os
import pathlib
import socket
import subprocess
import sys
import types
import unittest
import zipfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
from support import ROOT, SHARED, Case, environment, load_module, trawl

TRACE = SHARED / "traces/mi300_bert/trace.json.gz"
REFERENCE = SHARED / "cases/replay/mi300_bert/event_replay_ir.json"
PARTS = ["README.md", "event_replay_ir.json", "replay.py"]
HEAD = ["name", "op category", "process_name", "thread_name", "Input Dims", "Input type", "Input Strides",
        "Concrete Inputs", "ex_UID", "operation_count", "GFLOPS", "Roofline Bound", "Pct Roofline_mean",
        "Kernel Time (µs)_mean", "Kernel Time (µs)_sum", "kernel_details_summary", "call_stack"]
BF16, I64 = "c10::BFloat16", "long int"

# What PyTorch can run on a CPU: name, shapes, types, strides (None: not recorded), values.
CALLS = [
    ("aten::addmm", ((5,), (4, 3), (3, 5), (), ()), ("float",) * 3 + ("Scalar",) * 2,
     ((1,), (3, 1), (1, 3), (), ()), ("", "", "", "1", "2.")),
    ("aten::add_", ((2, 3), (2, 3), ()), (BF16, BF16, "Scalar"), ((3, 1), (1, 2), ()), ("", "", "1")),
    ("aten::abs", ((4,), (0,)), (I64, I64), ((1,), (1,)), ("", "")),
    ("aten::sub", ((), (1, 5), ()), ("double", BF16, "Scalar"), ((), (5, 1), ()), ("", "", "1")),
    ("aten::cat", (((4, 1), (4, 3)), ()), ("TensorList", "Scalar"), (((0, 1), (1, 4)), ()), ("", "1")),
    ("aten::index_select", ((9, 4), (), (7,)), ("float", "Scalar", I64), ((4, 1), (), (1,)), ("", "0", "")),
    ("aten::gather", ((3, 4), (), (50, 4), (), (50, 4)), (BF16, "Scalar", I64, "Scalar", BF16),
     ((4, 1), (), (1, 0), (), (4, 1)), ("", "0", "", "False", "")),
    ("aten::embedding", ((3, 8), (200,), (), (), ()), ("float", I64, "Scalar", "Scalar", "Scalar"), None,
     ("", "", "-1", "False", "False")),
    ("aten::embedding_dense_backward", ((20, 8), (20,), (), (), ()), ("float", I64, "Scalar", "Scalar", "Scalar"),
     None, ("", "", "2", "-1", "False")),
    ("aten::convolution", ((1, 2, 5, 5), (3, 2, 3, 3), (3,), (), (), (), (), (), ()),
     ("float",) * 3 + ("ScalarList",) * 3 + ("Scalar", "ScalarList", "Scalar"), None,
     ("", "", "", "[1, 1]", "[0, 0]", "[1, 1]", "False", "[0, 0]", "1")),
    ("aten::convolution_backward", ((1, 3, 3, 3), (1, 2, 5, 5), (3, 2, 3, 3)) + ((),) * 8,
     ("float",) * 3 + ("ScalarList",) * 4 + ("Scalar", "ScalarList", "Scalar", "ScalarList"), None,
     ("", "", "", "[3]", "[1, 1]", "[0, 0]", "[1, 1]", "False", "[0, 0]", "1", "[True, True, False]")),
    ("aten::max_pool2d_with_indices_backward", ((1, 2, 2, 2), (1, 2, 4, 4), (), (), (), (), (), (1, 2, 2, 2)),
     ("float", "float") + ("ScalarList",) * 4 + ("Scalar", I64), None,
     ("", "", "[2, 2]", "[2, 2]", "[0, 0]", "[1, 1]", "False", "")),
    ("aten::native_layer_norm_backward", ((6, 4), (6, 4), (), (6, 1), (6, 1), (4,), (4,), ()),
     ("float", "float", "ScalarList") + ("float",) * 4 + ("ScalarList",), None,
     ("", "", "[4]", "", "", "", "", "[True, True, True]")),
    ("aten::upsample_nearest2d", ((1, 2, 3, 3), (), ()), ("float", "", "ScalarList"), None, ("", "", "[2., 2.]")),
    ("aten::mean", ((4, 6), (), (), ()), ("float", "ScalarList", "Scalar", ""), None, ("", "[-1]", "True", "")),
    ("aten::gelu", ((8,), ()), ("float", ""), None, ("", "")),
    ("aten::where", ((2, 1), (), (1, 3)), ("bool", "float", "float"), None, ("", "", "")),
    ("aten::fill_", ((5, 5), ()), ("float", "Scalar"), None, ("", "-inf")),
    ("aten::_foreach_add_", (((2,), (3,)), ((2,), (3,)), ()), ("TensorList", "TensorList", "Scalar"),
     (((1,), (1,)), ((1,), (1,)), ()), ("", "", "-0.001")),
    ("aten::nll_loss_forward", ((6, 3), (6,), (), (), ()), ("float", I64, "", "Scalar", "Scalar"), None,
     ("", "", "", "1", "-100")),
    ("aten::mse_loss->void k<float>(float*) (Synthetic Op)", ((4,), (4,), ()), ("float", "float", "Scalar"), None,
     ("", "", "1")),
]
HOSTILE = ["../../x", "/etc/passwd", "aten::mm\nSecond: line", "\x1b[31mred", "名前::演算", "a" * 1000,
           "a" * 999 + "b", "$(touch pwned); `id` | \"q\" 'p'", "..", ".", "-rf",
           "<script>alert(1)</script>", "# heading", "a\\b"]


def python_with_torch():
    for python in dict.fromkeys((sys.executable, "/usr/bin/python3")):
        done = subprocess.run([python, "-c", "import torch"], capture_output=True, check=False)
        if not done.returncode:
            return python
    return None


TORCH = python_with_torch()


def row(name, dims=None, types=None, strides=None, values=None, time_us=100.0, **more):
    cells = {"name": name, "op category": "GEMM", "process_name": "worker@host7", "thread_name": "thread 42 (alice)",
             "ex_UID": "1", "operation_count": "2", "Kernel Time (µs)_sum": str(time_us),
             "Kernel Time (µs)_mean": str(time_us / 2), "call_stack": "/home/alice/model.py(3): forward"}
    for key, value in (("Input Dims", dims), ("Input type", types), ("Input Strides", strides),
                       ("Concrete Inputs", values)):
        cells[key] = "" if value is None else repr(value)
    return {**cells, **more}


class Replay(Case):
    def directory(self, rows, name="analysis", platform="MI300X"):
        """What `trawl prepare` would have made of these rows."""
        made = self.tmp / name
        for folder in ("category_data", "metadata"):
            (made / folder).mkdir(parents=True)
        with open(made / "category_data/gemm_ops.csv", "w", encoding="utf-8", newline="") as file:
            writer = csv.DictWriter(file, HEAD, lineterminator="\n")
            writer.writeheader()
            writer.writerows(rows)
        (made / "metadata/gemm_metadata.json").write_text(json.dumps({"platform": platform}))
        (made / "category_manifest.json").write_text(json.dumps({
            "platform": platform, "device_name": "AMD Instinct MI300X", "trace_path": "secret_model.json.gz",
            "gpu_utilization": {"computation_time_ms": 1.0},
            "categories": [{"name": "multi_kernel", "tier": "system"}, {"name": "gemm", "tier": "compute_kernel"}]}))
        return made

    def replay(self, made, *names):
        """Packages by operation: {name: path}."""
        done = trawl("replay", made, *(f"--ops={name}" for name in names), "--format", "json")
        self.assertExit(done, 0)
        return {line[1]: made / line[0] for line in json.loads(done.out)["tables"][0]["rows"]}

    def unzip(self, package):
        with zipfile.ZipFile(package) as file:
            self.assertIsNone(file.testzip())
            self.assertEqual(file.namelist(), PARTS)
            return {name: file.read(name).decode("utf-8") for name in PARTS}

    def unpacked(self, packages, name="unpacked"):
        """The entries of all packages beside one script."""
        where, entries = self.tmp / name, []
        where.mkdir()
        for package in packages:
            parts = self.unzip(package)
            entries += json.loads(parts["event_replay_ir.json"])
            (where / "replay.py").write_text(parts["replay.py"], encoding="utf-8")
        (where / "event_replay_ir.json").write_text(json.dumps(entries), encoding="utf-8")
        return where

    def script(self, where, *options, python=TORCH, **env):
        return subprocess.run([python, where / "replay.py", *options], capture_output=True, text=True, check=False,
                              timeout=300, env=environment(**env), cwd=self.tmp)

    def run_on_cpu(self, where, *statuses):
        if not TORCH:
            self.skipTest("no PyTorch for this Python or /usr/bin/python3 (python3-torch): replay.py was not run")
        done = self.script(where, "--device", "cpu", "--repeats", "2", "--warmup", "1")
        self.assertIn(done.returncode, statuses, done.stdout + done.stderr)
        return done


class Contents(Replay):
    def real(self):
        if not TRACE.exists() or not REFERENCE.exists():
            self.skipTest("given material absent: traces, cases/replay (TRAWL_SHARED)")
        made = self.tmp / "made"
        self.assertExit(trawl("prepare", TRACE, "-o", made, "--platform", "MI300X"), 0)
        names = set()
        for table in (made / "category_data").glob("*_ops.csv"):
            with open(table, encoding="utf-8", newline="") as file:
                names.update(line["name"] for line in csv.DictReader(file)
                             if line.get("name", "").startswith("aten::"))
        return self.replay(made, *sorted(names))

    def test_calls_are_those_of_the_reference(self):
        """Deviations: the reference fills booleans with normal numbers, which cannot be done; its rows are of the
        innermost operation (native_layer_norm), the tables' of layer_norm; scalars are written as recorded (1, not
        1.0), which is the same number."""
        ours = {}
        for name, package in self.real().items():
            for entry in json.loads(self.unzip(package)["event_replay_ir.json"]):
                self.assertEqual(entry["op_name"], name)
                ours.setdefault(name, []).append(entry)
        compared = set()
        for wanted in json.loads(REFERENCE.read_text()):
            name = wanted["op_name"]
            if name == "aten::native_layer_norm":
                self.assertNotIn(name, ours)
                continue
            for argument in wanted["replay_ir"]["list_pos_args"]:
                value = argument["value"]
                if isinstance(value, dict) and value["dtype"] == "bool":
                    value["init"] = "bool"
            same = [entry for entry in ours[name] if entry["replay_ir"] == wanted["replay_ir"]]
            self.assertEqual([entry["count"] for entry in same], [wanted["count"]], wanted)
            compared.add(name)
        self.assertEqual(compared, {"aten::addmm", "aten::add", "aten::add_", "aten::all", "aten::_local_scalar_dense"})

    def test_every_call_of_a_real_trace_runs(self):
        packages = self.real()
        done = self.run_on_cpu(self.unpacked(packages.values()), 0, 3)
        # PyTorch 1.13 has no such operation, later ones not on the CPU.
        self.assertRegex(done.stderr, r"\A(replay.py: aten::_scaled_dot_product_flash_attention: .*\n)?\Z")

    def test_times_and_efficiency_are_those_of_the_table(self):
        kernels = repr([{"name": "k<a|b>", "stream": 7, "count": 2, "total_duration_us": 123.4567,
                         "mean_duration_us": 61.728, "min_duration_us": 60.0, "max_duration_us": 63.4567}])
        made = self.directory([row("aten::mm", ((2, 3), (3, 4)), ("float", "float"), None, ("", ""), 123.4567,
                                   ex_UID="77", GFLOPS="0.5", **{"Pct Roofline_mean": "12.345",
                                                                 "Roofline Bound": "MEMORY_BOUND",
                                                                 "kernel_details_summary": kernels})])
        parts = self.unzip(self.replay(made)["aten::mm"])
        entry, = json.loads(parts["event_replay_ir.json"])
        self.assertEqual((entry["uid"], entry["count"], entry["time_ms"], entry["mean_us"], entry["gflops"],
                          entry["percent_of_compute"], entry["platform"], entry["device_name"]),
                         (77, 2, 0.123, 61.728, 0.5, 12.35, "MI300X", "AMD Instinct MI300X"))
        self.assertEqual((entry["efficiency"]["efficiency_percent"], entry["efficiency"]["bound_type"],
                          entry["efficiency"]["tflops_achieved"]), (12.35, "MEMORY_BOUND", None))
        self.assertEqual(entry["kernels"], [{"name": "k<a|b>", "count": 2, "mean_us": 61.728, "min_us": 60,
                                             "max_us": 63.457, "total_us": 123.457}])
        for text in ("Replay artifact recommended for kernel team to investigate and optimize.",
                     "| 1 | `float[2, 3], float[3, 4]` | 2 | 0.123 | 61.728 | 12.35 | 12.35 % | memory | n/a | n/a |",
                     "| 1 | `k<a\\|b>` | 2 | 61.728 | 60 | 63.457 |", "profile with hardware counters"):
            self.assertIn(text, parts["README.md"])

    def test_types_without_their_namespace(self):
        made = self.directory([row("aten::neg", ((2, 3),), ("c10::Half",), None, ("",), 5)])
        self.assertIn("| 1 | `Half[2, 3]` |", self.unzip(self.replay(made, "aten::neg")["aten::neg"])["README.md"])

    def test_lists_of_tensors_in_brackets(self):
        made = self.directory([row("aten::cat", (((4, 1), (4, 3)), ()), ("TensorList", "Scalar"),
                                   (((0, 1), (1, 4)), ()), ("", "1"), 5)])
        self.assertIn("| 1 | `(?[4, 1], ?[4, 3]), 1` |",
                      self.unzip(self.replay(made, "aten::cat")["aten::cat"])["README.md"])

    def test_nothing_tells_where_it_comes_from(self):
        made = self.directory([row(*call) for call in CALLS] +
                              [row("aten::op", ((2,), ()), ("float", ""), None, ("", "/home/alice/weights.bin"))])
        words = [str(self.tmp), socket.gethostname(), os.environ.get("USER") or "alice", "/home", "alice", "host7",
                 "worker@", "thread 42", "secret_model", "/work", "weights.bin"]
        for package in self.replay(made, *{call[0] for call in CALLS}, "aten::op").values():
            parts = self.unzip(package)
            raw = package.read_bytes()
            for word in words:
                for name in ("README.md", "event_replay_ir.json"):
                    self.assertNotIn(word, parts[name], (package.name, name))
                # Compressed bytes hold every short word by chance.
                if len(word) > 3:
                    self.assertNotIn(word.encode(), raw)
            self.assertEqual(parts["replay.py"], (ROOT / "data/replay.py").read_text(encoding="utf-8"))

    def test_overloads_have_the_names_of_their_arguments(self):
        shapes, kinds = ((2, 3), (3, 4), (2, 4)), ("float",) * 3
        made = self.directory([row("aten::mm.out", shapes, kinds, None, ("",) * 3),
                               row("_C::cutlass_scaled_mm.default", ((2, 4), (2, 3), (3, 4), (1,), (1,), ()),
                                   (BF16, "c10::Float8_e4m3fn", "c10::Float8_e4m3fn", "float", "float", ""), None,
                                   ("",) * 6)])
        names = {}
        for name, package in self.replay(made, "aten::mm.out", "_C::cutlass_scaled_mm.default").items():
            entry, = json.loads(self.unzip(package)["event_replay_ir.json"])
            self.assertEqual(entry["op_name"], name)
            names[name] = [[one["arg_name"] for one in entry["replay_ir"][part]]
                           for part in ("list_pos_args", "list_kwargs")]
        self.assertEqual(names, {"aten::mm.out": [["self", "mat2"], ["out"]], "_C::cutlass_scaled_mm.default": [
            ["out", "a", "b", "a_scales", "b_scales", "bias"], []]})

    def test_same_bytes(self):
        rows = [row(*call, time_us=100 - i) for i, call in enumerate(CALLS)]
        names = [call[0] for call in CALLS]
        all_of_them = self.replay(self.directory(rows, "a"), *names)
        alone = self.replay(self.directory(rows, "b"), names[3])
        self.assertEqual(len(all_of_them), len(CALLS))
        self.assertEqual(alone[names[3]].read_bytes(), all_of_them[names[3]].read_bytes())
        again = self.replay(self.tmp / "a", *reversed(names))
        self.assertEqual(list(again), list(all_of_them))
        before = {path: path.read_bytes() for path in again.values()}
        done = trawl("replay", self.tmp / "a", "--ops", *names, env=environment(TZ="Asia/Tokyo", LC_ALL="C.UTF-8"))
        self.assertExit(done, 0)
        self.assertEqual(before, {path: path.read_bytes() for path in again.values()})

    def test_hostile_names(self):
        made = self.directory([row(name, time_us=100 - i) for i, name in enumerate(HOSTILE)])
        packages = self.replay(made, *HOSTILE)
        self.assertEqual(len(packages), len(HOSTILE))
        self.assertEqual(len(set(packages.values())), len(HOSTILE))
        for path in packages.values():
            self.assertRegex(path.name, r"\A[A-Za-z0-9._-]+_replay_package\.zip\Z")
            self.assertLessEqual(len(path.name), 255)
            self.assertEqual(path.parent, made / "replay_packages")
            parts = self.unzip(path)
            self.assertEqual(parts["README.md"].splitlines()[1], "")
            self.assertNotIn("\x1b", parts["README.md"] + parts["event_replay_ir.json"])
            self.assertEqual(json.loads(parts["event_replay_ir.json"])[0]["left_out"],
                             "its arguments were not recorded")
        self.assertEqual(sorted(p.name for p in made.iterdir()),
                         ["category_data", "category_manifest.json", "metadata", "replay_packages"])
        self.assertEqual([p.name for p in self.tmp.iterdir()], ["analysis"])

    def test_usage(self):
        made = self.directory([row("aten::mm", time_us=10), row("aten::addmm", time_us=20)])
        for options, status, message in (
                (("replay",), 2, "missing DIR argument"),
                (("replay", made, "aten::mm"), 2, "name operators with --ops"),
                (("replay", made, "--ops", "admm"), 2, "nearest: 'aten::addmm', 'aten::mm'"),
                (("replay", self.tmp / "absent"), 1, "category_manifest.json"),
        ):
            with self.subTest(options=options):
                done = trawl(*options)
                self.assertExit(done, status)
                self.assertIn(message, done.err)
        self.assertFalse((made / "replay_packages").exists())
        done = trawl("replay", made)
        self.assertExit(done, 0)
        self.assertIn("choose with --ops", done.out)
        done = trawl("replay", "--ops", "aten::mm", made, "aten::addmm", "--ops=aten::mm", "--format", "csv")
        self.assertExit(done, 0)
        self.assertEqual(done.out.count("_replay_package.zip"), 2)


class Script(Replay):
    def test_the_overload_that_was_recorded_is_called(self):
        """With what stands in for PyTorch: three overloads without arguments, each says its name."""
        called = {"default": "mm", "out": "mm.out", "dtype": "mm.dtype"}
        packet = types.SimpleNamespace(**{key: lambda value=value: value for key, value in called.items()})
        schemas = [types.SimpleNamespace(overload_name=name, arguments=[]) for name in ("", "out", "dtype")]
        torch = types.SimpleNamespace(
            __version__="stand-in", ops=types.SimpleNamespace(aten=types.SimpleNamespace(mm=packet)),
            _C=types.SimpleNamespace(_jit_get_schemas_for_operator=lambda name: schemas if name == "aten::mm" else []))
        script = load_module(ROOT / "data/replay.py")
        for name, wanted in (("aten::mm", "mm"), ("aten::mm.default", "mm"), ("aten::mm.out", "mm.out"),
                             ("aten::mm.dtype", "mm.dtype"), ("aten::mm.unknown", "mm")):
            entry = {"op_name": name, "replay_ir": {"list_pos_args": [], "list_kwargs": []}}
            self.assertEqual(script.prepare(torch, entry, "cpu")(), wanted)
        for name in ("aten::bmm.out", "aten::mm.out.more.x y", "mm.out"):
            entry = {"op_name": name, "replay_ir": {"list_pos_args": [], "list_kwargs": []}}
            with self.assertRaises(script.LeftOut):
                script.prepare(torch, entry, "cpu")

    def test_runs_every_kind_of_call(self):
        made = self.directory([row(*call, time_us=100 - i, GFLOPS="0.25") for i, call in enumerate(CALLS)])
        where = self.unpacked(self.replay(made, *{call[0] for call in CALLS}).values())
        done = self.run_on_cpu(where, 0)
        lines = done.stdout.splitlines()
        self.assertEqual(len(lines), len(CALLS) + 3)
        self.assertRegex(lines[0], r"^PyTorch \S+ on cpu$")
        self.assertEqual(done.stderr, "")
        for call, line in zip(CALLS, lines[2:]):
            self.assertRegex(line, rf"^{call[0].split('->')[0]} .* 2 +\d+\.\d{{3}} +\d+\.\d{{3}} +\d+\.\d{{3}}$")

    def test_tensors_are_as_recorded(self):
        made = self.directory([row(*call) for call in CALLS])
        names = ["aten::gather", "aten::addmm", "aten::sub", "aten::embedding"]
        where = self.unpacked([self.replay(made, *names)[name] for name in names])
        if not TORCH:
            self.skipTest("no PyTorch: tensors were not built")
        (where / "look.py").write_text("""
import json, sys, torch, replay
shown = []
def operation(torch, name, schema):
    def call(*positional, **named):
        shown.append((name, schema.overload_name, [one(v) for v in positional], {k: one(v) for k, v in named.items()}))
    return call
def one(v):
    if not isinstance(v, torch.Tensor):
        return v
    whole = v.dtype.is_floating_point or (int(v.min()), int(v.max()))
    return [str(v.dtype), list(v.shape), list(v.stride()), whole]
replay.operation = operation
for entry in replay.read_entries():
    replay.prepare(torch, entry, torch.device("cpu"))()
print(json.dumps(shown))
""")
        done = subprocess.run([TORCH, where / "look.py"], capture_output=True, text=True, check=False)
        self.assertEqual(done.returncode, 0, done.stderr)
        gather, addmm, sub, embedding = json.loads(done.stdout)
        self.assertEqual(gather[:2], ["aten::gather", "out"])
        self.assertEqual(gather[2][0], ["torch.bfloat16", [3, 4], [4, 1], True])
        self.assertEqual(gather[2][1], 0)
        self.assertEqual(gather[2][2], ["torch.int64", [50, 4], [1, 0], [0, 2]])
        self.assertEqual(gather[3], {"sparse_grad": False, "out": ["torch.bfloat16", [50, 4], [4, 1], True]})
        self.assertEqual(addmm[2][2], ["torch.float32", [3, 5], [1, 3], True])
        self.assertEqual(addmm[3], {"beta": 1, "alpha": 2.0})
        self.assertEqual(sub[1:], ["Tensor", [["torch.float64", [], [], True],
                                              ["torch.bfloat16", [1, 5], [5, 1], True]], {"alpha": 1}])
        self.assertEqual(embedding[2][1], ["torch.int64", [200], [1], [0, 2]])

    def test_what_this_pytorch_lacks_is_named(self):
        made = self.directory([
            row("aten::no_such_operation", ((2,),), ("float",), None, ("",), 90),
            row("aten::neg", ((2,),), ("c10::Float3_e1m1",), None, ("",), 80),
            row("aten::index", ((4, 2), ()), ("float", ""), None, ("", ""), 70),
            row("hipGraphLaunch->kernel (Synthetic Op)", time_us=60),
            row("aten::exp", ((2,),), ("float",), None, ("",), 50),
        ])
        names = ("aten::no_such_operation", "aten::neg", "aten::index", "hipGraphLaunch->kernel (Synthetic Op)",
                 "aten::exp")
        packages = self.replay(made, *names)
        done = self.run_on_cpu(self.unpacked(packages.values()), 3)
        self.assertRegex(done.stdout, r"(?m)^aten::exp .* \d+\.\d{3} +-$")
        lines = done.stderr.splitlines()
        self.assertEqual(len(lines), 4)
        self.assertRegex(lines[0], r"aten::no_such_operation: this PyTorch \(\S+\) has no such operation")
        self.assertRegex(lines[1], r"lacks the type c10::Float3_e1m1")
        self.assertIn("aten::index: not recorded: indices", lines[2])
        self.assertIn("hipGraphLaunch: its arguments were not recorded", lines[3])
        self.assertIn("its arguments were not recorded. They are not run.",
                      self.unzip(packages[names[3]])["README.md"])

    def test_what_pytorch_refuses_is_an_error(self):
        made = self.directory([row("aten::mm", ((2, 3), (4, 5)), ("float", "float"), None, ("", ""), 90),
                               row("aten::exp", ((2,),), ("float",), None, ("",), 50)])
        done = self.run_on_cpu(self.unpacked(self.replay(made, "aten::mm", "aten::exp").values()), 1)
        self.assertRegex(done.stderr, r"\Areplay.py: aten::mm: .*\n\Z")
        self.assertRegex(done.stdout, r"(?m)^aten::exp .* \d+\.\d{3} +-$")

    def test_without_pytorch(self):
        made = self.directory([row("aten::exp", ((2,),), ("float",), None, ("",))])
        where = self.unpacked(self.replay(made, "aten::exp").values())
        (self.tmp / "stub").mkdir()
        (self.tmp / "stub/torch.py").write_text("raise ImportError('none here')\n")
        done = self.script(where, python=sys.executable, PYTHONPATH=self.tmp / "stub")
        self.assertEqual((done.returncode, done.stdout), (2, ""))
        self.assertRegex(done.stderr, r"\Areplay.py: PyTorch is needed.*\n\Z")
        (where / "event_replay_ir.json").write_text("[")
        done = self.script(where, python=sys.executable, PYTHONPATH=self.tmp / "stub")
        self.assertEqual(done.returncode, 2)
        self.assertRegex(done.stderr, r"\Areplay.py: event_replay_ir.json cannot be read: .*\n\Z")
        self.assertEqual(self.script(where, "--repeats", "0", python=sys.executable).returncode, 2)


if __name__ == "__main__":
    unittest.main()
