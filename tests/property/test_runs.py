"""Made runs with known faults (tests/gen/runs.py): what is true of them, by the simulation that
made them, is what their traces hold."""
import gzip
import hashlib
import json
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest
from collections import Counter

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))
sys.path.insert(0, str(ROOT / "gen"))
import runs
from made import comm, truth
from made.job import Job
from support import Case, FULL, report, shared, trawl

ROWS = {"total": "total_time", "busy": "busy_time", "idle": "idle_time", "compute": "computation_time",
        "exposed_comm": "exposed_comm_time", "exposed_memcpy": "exposed_memcpy_time",
        "comm": "total_comm_time", "memcpy": "total_memcpy_time"}
# What a fault may change: places of the program and what is drawn there, as a regular expression.
# (What else is different in a run without it would be a second, unknown fault.)
TOUCHES = {
    "loading": r"DataLoader", "read_loss": r"log_metrics", "pause": r"pause$",
    "alloc": r"aten::empty|empty_cache", "save": r"save_checkpoint", "recompile": r"compile_wrapper",
    # Another stream less: its first work has no gap, and the last wait is for one end less.
    "pageable": r"prefetch|to_gpu|gap$|^/return$", "exposed_copy": r"prefetch|gap$|^/return$",
    "sync": r"record_router_load|active_tokens|keep_summary|timed|log_norms",
    "attention": r"attention_scores|scaled_dot_product|ScaledDotProduct",
    "norm": r"_norm|FusedRmsNorm", "layout": r"aten::contiguous|_heads",
    "chain": r"activation|fused_gelu|fused_mul_silu|MLP \d+/.*/CompiledFunctionBackward",
    "rope": r"apply_rotary_pos_emb|fused_add_cat_mul_neg|Attention \d+/.*/CompiledFunctionBackward",
    "nchw": r"convolution", "conv": r"convolution", "gemm": r"Linear (up|o) |o_proj",
    "layer": r"Linear up 5",
    # The loss has as many columns.
    "misaligned": r"Linear lm_head|log_softmax", "no_tf32": r"aten::mm", "small_gemms": r"group_projection",
    "slow_extra": r"gate_scale|channel_energy|layer_scale", "slow_attention": r"_attention_",
    "lookup": r"aten::embedding", "optimizer": r"Optimizer\.step", "side_gemm": r"refresh",
    "queued_gap": r"gap$", "graph_gap": r"gap$", "host_late": r"write_histograms",
    "late_reduce": r"c10d::|average_gradients|autograd/c10d|AccumulateGrad|transfer$|Event|record",
    "small_collectives": r"c10d::|average_gradients|AccumulateGrad|transfer$|Event|record",
    "slow_link": r"transfer$", "imbalance": r"Linear w[12]|_AllToAll|fused_gelu|transfer$",
}
FACTORS = ("straggler", "power")


def by_fault():
    """(scenario, fault), each fault once, in the long run in each scenario that has it."""
    seen = set()
    for s in runs.SCENARIOS.values():
        for fault in {**s.faults, **s.hidden}:
            if FULL or fault not in seen:
                yield s, fault
            seen.add(fault)


class Runs(Case):
    made = {}

    @classmethod
    def setUpClass(cls):
        cls.kept = tempfile.TemporaryDirectory(prefix="trawl-runs-")

    @classmethod
    def tearDownClass(cls):
        cls.kept.cleanup()
        cls.made.clear()

    def make(self, name):
        """Truth and traces of a run, made once."""
        if name not in self.made:
            facts = runs.make(runs.SCENARIOS[name], self.kept.name)
            self.made[name] = facts, traces_of(pathlib.Path(self.kept.name) / name)
        return self.made[name]

    def one(self, name):
        """The report reads every trace without a defect, and the timeline is the simulation's to
        the nanosecond."""
        facts, traces = self.make(name)
        self.assertEqual(len(traces), facts["ranks"])
        for trace, of_rank in zip(traces, facts["gpu_timeline_ns"]):
            rep = report(trace, self.tmp / "out" / trace.stem)
            self.assertAlive(rep)
            self.assertClean(rep)
            self.assertReconciles(rep)
            self.assertEqual({k: int(v * 1000) for k, v in rep.figures().items()},
                             {k: of_rank[v] for k, v in ROWS.items()})
        self.assertExit(trawl("check", "--strict", *traces), 0)

    def test_every_kind_has_a_run(self):
        told = {k for s in runs.SCENARIOS.values() for k in s.kinds.values()}
        # No trace proves what could have run beside other work: the program has no such kind either.
        self.assertEqual(set(truth.KINDS) - told, {"stream_serialization"})
        self.assertEqual({s.observation for s in runs.SCENARIOS.values()} - {None}, {
            "warmup_in_recording", "recording_edge", "work_before_recording", "profiler_start_skew",
            "clock_skew", "graph_hides_operations", "nothing_found"})

    def test_kinds_are_those_of_the_given_list(self):
        rows = shared("design", "finding-kinds.tsv").read_text().splitlines()
        given = [r.split("\t") for r in rows if r and not r.startswith("#")]
        self.assertEqual({r[0] for r in given if not r[1].startswith("observation")}, set(truth.KINDS))

    def test_same_bytes(self):
        for name in ("slow_link", "decode_in_a_graph_hip"):
            _, first = self.make(name)
            # In another process, where hashes of texts are others.
            done = subprocess.run([sys.executable, runs.__file__, str(self.tmp), name],
                                  capture_output=True, text=True, env={"PYTHONHASHSEED": "77"})
            self.assertEqual(done.returncode, 0, done.stderr)
            for p in [*first, first[0].parent / "truth.json"]:
                self.assertEqual(p.read_bytes(), (self.tmp / name / p.name).read_bytes(), p.name)

    def test_held_out_truths_stay(self):
        """Runs whose truth was fixed before the rules that are judged by it."""
        for name, digest in runs.HELD_OUT.items():
            facts = self.make(name)[0]
            text = json.dumps({k: facts[k] for k in sorted(facts)})
            self.assertEqual(hashlib.sha256(text.encode()).hexdigest()[:16], digest, name)

    def test_without_differs_in_the_fault_alone(self):
        for s, fault in by_fault():
            if fault == "bubble":
                continue  # Other microbatches: everything is another size.
            every, with_, without = {**s.faults, **s.hidden}, [], []
            Job(s, every, ledger=with_)
            Job(s, {k: v for k, v in every.items() if k != fault}, ledger=without)
            with self.subTest(f"{s.name}: {fault}"):
                self.assertNotEqual(with_, without)
                differ = Counter(with_)
                differ.subtract(without)
                left = [v for v, n in differ.items() if n]
                if fault in FACTORS:
                    self.assertScaled(s.faults[fault], with_, without)
                elif fault == "eager":
                    self.assertEqual([v for v in left if v[2].startswith("kernel")], [])
                elif fault == "recompute":
                    # Layers run again with the numbers of the first time.
                    same = set(without)
                    self.assertEqual([v for v in left if v not in same and not re.search(
                        r"[Cc]heckpoint", "/".join(map(str, v)))], [])
                else:
                    self.assertEqual([v for v in left if not re.search(
                        TOUCHES[fault], f"{v[1]}/{v[2]}")], [])

    def assertScaled(self, fault, with_, without):
        """The same draws in the same order; kernels of a rank by a factor."""
        self.assertEqual([v[:3] for v in with_], [v[:3] for v in without])
        factors = set(fault.get("factors", [fault.get("factor")])) | {1.0}
        for (rank, path, what, a), (_, _, _, b) in zip(with_, without):
            if what.startswith("kernel") and fault.get("rank") in (None, rank):
                # A kernel has 600 ns at least, and whole ns.
                self.assertLess(min(abs(a - f * b) for f in factors), 3, f"{path}/{what}")
            else:
                self.assertEqual(a, b, f"{path}/{what}")

    def test_hidden_faults_gain_nothing(self):
        for s in runs.SCENARIOS.values():
            if s.hidden:
                facts = self.make(s.name)[0]
                for kind, ms in facts["gain_of_hidden_ms_per_step"].items():
                    self.assertLess(abs(ms), 0.001 * facts["step_ms_with"], s.name)
                    self.assertIn(kind, facts["must_not"])

    def test_faults_gain_and_none_else(self):
        """Each fault gains; what is not told of a run gains less than 1 %: launching, transfers."""
        for name in some():
            s, facts = runs.SCENARIOS[name], self.make(name)[0]
            for row in facts["order"]:
                self.assertGreater(row["gain_percent"], 0.5, s.name)
            told = {r["kind"] for r in facts["order"]} | set(facts["also_ok"])
            every = {**s.faults, **s.hidden}
            base = truth.times(Job(s, every))[0]
            if "launch_bound" not in told:
                free = truth.times(Job(s, every, host_factor=0.02))[0]
                self.assertLess(base - free, 0.01 * base, s.name)
            if "exposed_communication" not in told and s.ranks > 1:
                real, comm.transfer_us = comm.transfer_us, lambda *_, **__: 0.5
                try:
                    free = truth.times(Job(s, every))[0]
                finally:
                    comm.transfer_us = real
                self.assertLess(base - free, 0.01 * base, s.name)

    def test_identity_by_the_reference(self):
        """The slow reference explains every time of these traces by what was before it."""
        folder = shared("refs", "path", "path_oracle.py").parent
        sys.path.insert(0, str(folder))
        import path_oracle
        for name in some(6):
            _, traces = self.make(name)
            job = path_oracle.build([path_oracle.load(str(p), r) for r, p in enumerate(traces)])
            self.assertEqual(path_oracle.replay(job), job.t, name)
            _, total, window = path_oracle.path(job)
            self.assertEqual(total, window, name)

    def test_judge_takes_the_truth_itself(self):
        """Findings made of the truth are right for the judge of findings."""
        judge = shared("tools", "check_findings.py")
        for name in ("three_faults_one_gpu", "straggler_eight_ranks", "pause_in_one_step", "slow_gemm",
                     "decode_in_a_graph", "healthy_h100_train"):
            facts, traces = self.make(name)
            rows = ["n,kind,gain_ms,gain_percent,where,rank"]
            for n, row in enumerate(facts["order"], 1):
                where = row["where"]
                text = " ".join(str(v) for v in where.values())
                rows.append(f'{n},{row["kind"]},,{row["gain_percent"]},"{text}",{where.get("rank", "")}')
            if facts["observation"]:
                rows.append(f'1,{facts["observation"]},,,,')
            table = self.write("\n".join(rows) + "\n", "findings.csv")
            done = subprocess.run(
                [sys.executable, str(judge), str(table), str(traces[0].parent / "truth.json")],
                capture_output=True, text=True)
            self.assertEqual(done.returncode, 0, name + "\n" + done.stdout)

    def test_traces_are_as_the_profiler_writes_them(self):
        """Arrows have two ends, ids are of one call, children lie inside, streams run one at a time."""
        for name in ("item_in_layers", "straggler_loads", "bubble_1f1b"):
            for trace in self.make(name)[1]:
                text = gzip.decompress(trace.read_bytes())
                self.assertWellFormed(json.loads(text, parse_float=str)["traceEvents"])

    def assertWellFormed(self, events):
        for cat in ("ac2g", "fwdbwd"):
            starts, ends = (sorted(e["id"] for e in events if e.get("cat") == cat and e["ph"] == ph)
                            for ph in "sf")
            self.assertEqual(starts, ends, cat)
        spans = {}
        for e in events:
            if e.get("ph") == "X" and e["cat"] not in ("Trace", "gpu_user_annotation", "cuda_sync"):
                start = ns(e["ts"])
                spans.setdefault((e["pid"], e["tid"]), []).append(
                    (start, -start - ns(e["dur"]), e["cat"]))
        for track, rows in spans.items():
            gpu, open_ = rows[0][2] in ("kernel", "gpu_memcpy", "gpu_memset"), []
            for start, end, _ in sorted(rows):
                while open_ and open_[-1] <= start:
                    open_.pop()
                self.assertTrue(not open_ or not gpu and -end <= open_[-1], f"{track} at {start}")
                open_.append(-end)
        calls = [e["args"]["correlation"] for e in events
                 if e.get("cat") in ("cuda_runtime", "cuda_driver")]
        self.assertEqual(len(calls), len(set(calls)))

    def test_command_line(self):
        def call(*args):
            return subprocess.run([sys.executable, runs.__file__, *args], capture_output=True,
                                  text=True)
        listed = call("--list")
        self.assertEqual([x.split()[0] for x in listed.stdout.splitlines()], list(runs.SCENARIOS))
        self.assertEqual((call().returncode, call(str(self.tmp), "nothing").returncode), (2, 2))
        self.assertIn("nothing", call(str(self.tmp), "nothing").stderr)


def some(every=3):
    """Names of runs: all in the long run."""
    return list(runs.SCENARIOS)[::1 if FULL else every]


def traces_of(directory):
    return sorted(directory.glob("*.json.gz"), key=lambda p: (len(p.name), p.name))


def ns(text):
    whole, _, part = text.partition(".")
    return int(whole) * 1000 + int(part.ljust(3, "0"))


def add_tests():
    for name in some():
        setattr(Runs, f"test_run_{name}", lambda self, n=name: self.one(n))


add_tests()

if __name__ == "__main__":
    unittest.main()
