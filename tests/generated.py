"""Reports of generated traces against the truth that the generator wrote with them, to the nanosecond."""
import collections
import json
import subprocess
from decimal import Decimal

from support import Case, tracegen

TIMES = {"busy_ns": "busy (ms)", "compute_ns": "computing (ms)", "exposed_comm_ns": "exposed communication (ms)",
         "exposed_memcpy_ns": "exposed copies (ms)", "total_comm_ns": "communication (ms)", "span_ns": "span (ms)",
         "idle_ns": "idle (ms)", "sum_ns": "GPU time (ms)"}
SERVED = ("phase", "family", "prefill_requests", "decode_requests", "tokens")
PASSES = ("forward", "backward", "recompute")
MODULE = {"ns": "GPU time (ms)", "self_ns": "self GPU time (ms)", "comm_ns": "communication (ms)",
          "host_ns": "host time (ms)", **{f"{p}_ns": f"{p} (ms)" for p in PASSES}}
MODULE_COUNTS = {"calls": "calls", "recomputed": "recomputed", "events": "GPU events", "self_events": "self GPU events"}


def ns(milliseconds):
    value = Decimal(milliseconds or 0).scaleb(6)
    assert value == int(value), milliseconds
    return int(value)


class Generated(Case):
    def generate(self, *options, name="trace.json"):
        """The report of a generated trace, and its truth."""
        trace, truth = self.tmp / name, self.tmp / "truth.json"
        subprocess.run([tracegen(), *options, "--truth", truth, "-o", trace], check=True)
        return trace, json.loads(truth.read_text())

    def check_step(self, row, facts):
        self.assertEqual(int(row["GPU events"]), facts["n"])
        self.assertEqual({k: ns(row[v]) for k, v in TIMES.items()}, {k: facts[k] for k in TIMES})

    def check_steps(self, report, truth):
        rows = {row["name"]: row for row in report.table("steps")}
        for facts in truth["steps"]:
            self.check_step(rows[f"ProfilerStep#{facts['step']}"], facts)
        unlinked = rows.get("(no launch)", {"GPU events": 0})
        self.assertEqual(int(unlinked["GPU events"]), truth["n_unlinked"])
        sums = {row["quantity"]: int(row["time ns"]) for row in report.table("reconciliation")}
        self.assertEqual(sums["step_difference"], 0)
        self.assertEqual(sums["step_difference_by_time"], 0)
        self.assertEqual(sum(ns(row["busy by time (ms)"]) for row in rows.values()), truth["busy_ns"])
        return rows

    def check_phases(self, report, truth):
        rows = [row for row in report.table("phases") if row["phase"]]
        self.assertEqual(len(rows), truth["n_steps"])
        for row, facts in zip(rows, truth["steps"]):
            self.check_step(row, facts)
            self.assertEqual({k: row[k.replace("_", " ")] for k in SERVED}, {k: str(facts[k]) for k in SERVED})
        total, = report.table("phases_summary")
        self.assertEqual(int(total["tokens"]), sum(f["tokens"] for f in truth["steps"]))
        self.assertEqual(ns(total["busy (ms)"]), sum(f["busy_ns"] for f in truth["steps"]))

    def check_passes(self, rows, facts, key):
        self.assertEqual({r[key]: [ns(r.get(f"{p} (ms)")) for p in PASSES] for r in rows},
                         {f[key]: [f[f"{p}_ns"] for p in PASSES] for f in facts}, key)

    def check_modules(self, report, truth):
        rows = {row["module"]: row for row in report.table("modules")}
        unlinked = rows.pop("(unlinked)", {})
        self.assertEqual(ns(unlinked.get("GPU time (ms)")), truth["unlinked_sum_ns"])
        for facts in truth["modules"]:
            row = rows.pop(facts["module"])
            self.assertEqual({k: ns(row[v]) for k, v in MODULE.items()}, {k: facts[k] for k in MODULE}, row["module"])
            self.assertEqual({k: int(row[v] or 0) for k, v in MODULE_COUNTS.items()},
                             {k: facts[k] for k in MODULE_COUNTS}, row["module"])
        self.assertEqual(rows, {})
        sums = {row["quantity"]: int(row["time ns"]) for row in report.table("reconciliation")}
        self.assertEqual(sums["modules_difference"], 0)

    def check_who(self, report, truth):
        """Modules, where there are any, call sites, and what was computed again."""
        if any(facts["calls"] for facts in truth["modules"]):
            self.check_modules(report, truth)
        else:
            self.assertFalse(report.has("modules"))
        sites = [r for r in report.table("call_sites") if r["call_site"] != "(unlinked)"]
        self.check_passes(sites, truth["call_sites"], "call_site")
        again = report.table("recompute") if report.has("recompute") else []
        self.assertEqual({r["operator"]: (ns(r["forward (ms)"]), ns(r["recompute (ms)"])) for r in again},
                         {f["operator"]: (f["forward_ns"], f["recompute_ns"]) for f in truth["recompute"]})

    def check_graphs(self, report, truth):
        """With a capture: what is known of each node, and that modules and operators have it too."""
        facts = truth["graphs"]
        self.assertReconciles(report)
        graphs = report.table("graphs")
        self.assertEqual({(row["source"], row["matched (%)"]) for row in graphs}, {("capture", "100")})
        self.assertEqual(sum(int(row["launches"]) for row in graphs), facts["launches"])
        self.assertEqual(sum(ns(row["GPU time (ms)"]) for row in graphs), facts["sum_ns"])
        keys = ("kernel", "operator", "module", "call_site")
        nodes, modules = collections.defaultdict(lambda: [0, 0]), collections.Counter()
        for row in report.table("graph_nodes"):
            node = nodes[row["Kernel name"], row["operator"], row["module"], row["call site"]]
            node[0] += int(row["count"])
            node[1] += ns(row["GPU time (ms)"])
            modules[row["module"]] += ns(row["GPU time (ms)"])
        self.assertEqual(dict(nodes), {tuple(n[k] for k in keys): [n["n"], n["sum_ns"]] for n in facts["nodes"]})
        self.assertEqual({r["module"]: ns(r["self GPU time (ms)"]) for r in report.table("modules")
                          if r["module"] in modules}, dict(modules))
