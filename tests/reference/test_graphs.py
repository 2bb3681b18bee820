"""What runs inside GPU graph replays, against an independent program and made cases with the truth."""
import ast
import collections
import csv
import gzip
import json
import pathlib
import re
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
from support import SHARED, Case, shared

REFS = SHARED / "refs/graphs"
CASES = sorted(p.name for p in REFS.glob("g[0-9]*")) if REFS.exists() else []
CAPTURES = {
    "sglang_decode": "refs/graphs/sglang_decode/capture.json.gz",
    "vllm_decode_full": "refs/graphs/vllm_decode_full/capture.json.gz",
    "xdit_flux": "refs/graphs/xdit_flux_self/capture.json.gz",
}
REPLAYS = {
    "sglang_decode": "refs/graphs/sglang_decode/replay.json.gz",
    "vllm_decode_full": "refs/graphs/vllm_decode_full/replay.json.gz",
    "xdit_flux_sage": "traces/xdit_flux/trace.json.gz",
    "xdit_flux (own replay in the capture trace)": "refs/graphs/xdit_flux_self/capture.json.gz",
}
PAIRS = (("vllm_decode_full", "replay.json.gz"), ("sglang_decode", "replay.json.gz"),
         ("xdit_flux_self", "capture.json.gz"))
CALL = re.compile(r"(cuda|cu|hip)[A-Z]\w*")


def ns(text, digits):
    """A decimal number of milliseconds (digits 6) or microseconds (3) in nanoseconds."""
    whole, _, part = text.partition(".")
    assert len(part) <= digits, text
    return int(whole + part.ljust(digits, "0"))


def oracle(folder, name):
    path = REFS / folder / "oracle" / name
    text = gzip.open(path, "rt").read() if name.endswith(".gz") else path.read_text()
    return list(csv.DictReader(text.splitlines()))


def lists(text):
    """What Python writes as tuples, as JSON has it."""
    return json.loads(json.dumps(ast.literal_eval(text))) if text else None


class Graphs(Case):
    def run_graphs(self, replay, *options):
        result = self.report(replay, *options)
        self.assertExit(result, 0)
        self.assertReconciles(result)
        return result

    def operators(self, rep):
        """Nanoseconds by operator of the nodes, over all launches."""
        sums = collections.Counter()
        for row in rep.table("graph_nodes"):
            sums[row["operator"] or "(not matched)"] += ns(row["GPU time (ms)"], 6)
        return sums

    def paths(self, rep):
        sums = collections.Counter()
        for row in rep.table("graph_nodes"):
            sums[row["module"] or "(none)"] += ns(row["GPU time (ms)"], 6)
        return sums


class RealPairs(Graphs):
    def check(self, folder, replay):
        shared("refs/graphs", folder)
        trace = REFS / folder / replay
        rep = self.run_graphs(trace, "--capture", REFS / folder / "capture.json.gz")
        self.check_graphs(folder, rep)
        self.check_nodes(folder, rep)
        self.assertEqual(self.operators(rep), {r["operation"]: int(r["gpu_ns"])
                                               for r in oracle(folder, "graph_ops.csv")})
        self.assertEqual(self.paths(rep), {r["module_path"]: int(r["gpu_ns"])
                                           for r in oracle(folder, "graph_paths.csv")})
        self.check_operators(folder, rep)

    def check_graphs(self, folder, rep):
        for row, right in zip(rep.table("graphs"), oracle(folder, "graphs.csv"), strict=True):
            for column, name in (("graph", "graph"), ("launches", "launches"),
                                 ("nodes", "nodes_first"), ("GPU events", "gpu_events"),
                                 ("streams", "streams"), ("source", "source"), ("match", "mode"),
                                 ("nodes without call", "nodes_without"),
                                 ("calls without node", "calls_left")):
                self.assertEqual(row[column], right[name], column)
            self.assertEqual(ns(row["GPU time (ms)"], 6), int(right["gpu_ns"]))
            self.assertEqual(row["capture"].replace(" ", ""), right["candidate"])
            self.assertEqual(row["matched (%)"], "100")

    def check_nodes(self, folder, rep):
        right = [r for r in oracle(folder, "graph_nodes.csv.gz") if r["replay"] == "0"]
        for row, r in zip(rep.table("graph_nodes"), right, strict=True):
            self.assertEqual((row["graph"], row["Kernel name"], row["stream"], row["operator"],
                              row["module"], row["source"]),
                             (r["graph"], r["kernel"], r["stream"], r["operation"],
                              r["module_path"], r["source"]))
            self.assertEqual(lists(row["Input Dims"]), json.loads(r["input_dims"] or "null"))
            if row["count"] == "1":
                self.assertEqual(ns(row["GPU time (ms)"], 6), int(r["dur_ns"]))

    def check_operators(self, folder, rep):
        """All GPU time by operator, apart for graphs: launchers of ops_summary, communication aside."""
        rows = collections.Counter()
        for row in rep.table("ops_unique_args"):
            name, via = row["name"], row.get("via") or "direct"
            rows[name, via] += ns(row["total_direct_kernel_time_sum"], 3)
        right = {(r["operation"], r["via"]): int(r["gpu_ns"]) for r in oracle(folder, "ops_all.csv")
                 if r["operation"] != "(unlinked)"}
        self.assertEqual(rows, right)

    def test_vllm_decode_full(self):
        self.check(*PAIRS[0])

    def test_sglang_decode(self):
        self.check(*PAIRS[1])

    def test_xdit_flux_self(self):
        self.check(*PAIRS[2])


class CrossPairs(Graphs):
    def test_every_wrong_capture_is_refused_and_every_right_one_matches_whole(self):
        pairs = shared("refs/graphs/cross_pairs.tsv")
        for pair in csv.DictReader(pairs.read_text().splitlines(), delimiter="\t"):
            with self.subTest(replay=pair["replay"], capture=pair["capture"]):
                rep = self.run_graphs(SHARED / REPLAYS[pair["replay"]], "--capture",
                                      SHARED / CAPTURES[pair["capture"]])
                graphs = rep.table("graphs")
                matched, of = pair["matched_by_lcs_of_the_first_graph"].split(" of ")
                self.assertEqual(sum(int(g["GPU events"]) for g in graphs), int(pair["nodes"]))
                self.assertEqual(graphs[0]["nodes"], of)
                self.assertEqual(int(of) - int(graphs[0]["nodes without call"]), int(matched))
                right = "capture" if pair["expected"] == "match all" else "kernel names"
                self.assertEqual({g["source"] for g in graphs}, {right})
                if right != "capture":
                    self.assertIn(f"matches {matched} of {of} nodes", graphs[0]["note"])


class MadeCases(Graphs):
    def check(self, name, *options):
        shared("refs/graphs", name)
        folder = REFS / name
        rep = self.run_graphs(folder / "replay.json", *options)
        truth = json.loads((folder / "truth.json").read_text())
        self.assertEqual(self.operators(rep), truth["ops_ns"])
        self.assertEqual(self.paths(rep), truth["paths_ns"])
        nodes = collections.defaultdict(int)
        for replay in truth["replays"]:
            for node in replay:
                nodes[node["kernel"], node["operation"], node["path"]] += node["ns"]
        got = collections.defaultdict(int)
        for row in rep.table("graph_nodes"):
            got[row["Kernel name"], row["operator"], row["module"]] += ns(row["GPU time (ms)"], 6)
        self.assertEqual(got, nodes)
        return rep

    def capture(self, name, file="capture.json"):
        return "--capture", REFS / name / file

    def sources(self, rep):
        return {g["source"] for g in rep.table("graphs")}

    def test_g01_names(self):
        rep = self.check("g01-names", *self.capture("g01-names"))
        (graph,) = rep.table("graphs")
        self.assertEqual((graph["source"], graph["launches"], graph["GPU events"], graph["match"]),
                         ("capture", "3", "162", "equal"))
        self.assertEqual({r["count"] for r in rep.table("graph_nodes")}, {"3"})

    def test_g02_calls_without_names_take_those_of_the_warm_up(self):
        rep = self.check("g02-cuda-no-names-warmup", *self.capture("g02-cuda-no-names-warmup"))
        self.assertEqual(self.sources(rep), {"capture"})

    def test_g03_counts_alone_are_no_proof(self):
        name = "g03-cuda-no-names-no-warmup"
        rep = self.check(name, *self.capture(name))
        self.assertEqual(self.sources(rep), {"capture by count only"})
        self.assertEqual({r["name"] for r in rep.table("ops_summary")}, {"cudaGraphLaunch"})
        rep = self.check(name, *self.capture(name), "--accept-count")
        truth = json.loads((REFS / name / "truth.json").read_text())
        self.assertEqual({r["name"]: ns(r["total_direct_kernel_time_sum"], 3)
                          for r in rep.table("ops_summary")}, truth["ops_ns"])

    def test_g05_two_batches(self):
        rep = self.check("g05-two-batches", *self.capture("g05-two-batches", "captures.json"))
        (graph,) = rep.table("graphs")
        self.assertEqual(graph["capture"], "captures.json #1")
        self.assertIn("((16, 4096),)", {r["Input Dims"] for r in rep.table("graph_nodes")})

    def test_g08_pieces_of_equal_kernels_are_different_layers(self):
        rep = self.check("g08-piecewise", *self.capture("g08-piecewise", "captures.json"))
        self.assertEqual([g["capture"] for g in rep.table("graphs")],
                         [f"captures.json #{k}" for k in range(6)])

    def test_g10_lost_events(self):
        rep = self.check("g10-lost-few", *self.capture("g10-lost-few"))
        graphs = rep.table("graphs")
        self.assertEqual(sum(int(g["GPU events"]) for g in graphs), 718)
        self.assertEqual({g["matched (%)"] for g in graphs}, {"100"})
        self.assertEqual([g["note"] for g in graphs], ["", "2 nodes not recorded"])

    def test_g11_two_streams(self):
        rep = self.check("g11-two-streams", *self.capture("g11-two-streams"))
        (graph,) = rep.table("graphs")
        self.assertEqual((graph["match"], graph["streams"]), ("by name", "2"))

    def test_g13_eager_run(self):
        name = "g13-eager-map"
        rep = self.check(name, "--map", REFS / name / "eager.json")
        self.assertEqual(self.sources(rep), {"eager run"})

    def test_g14_launch_without_events(self):
        name = "g14-launch-without-events"
        rep = self.check(name, *self.capture(name))
        self.assertEqual([g["launches"] for g in rep.table("graphs")], ["1"])
        rows = {(r["name"], r["via"]) for r in rep.table("ops_summary")}
        self.assertIn(("aten::sum", "direct"), rows)

    def test_all_cases_are_tested(self):
        tests = [t for t in dir(self) if re.match(r"test_g\d\d", t)]
        self.assertEqual(sorted(c[:3] for c in CASES) or sorted(t[5:8] for t in tests),
                         sorted(t[5:8] for t in tests))


if __name__ == "__main__":
    unittest.main()
