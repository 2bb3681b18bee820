"""Category metrics against those that another program made of the same category files (MI300X).

Deviations, each with its reason:
- percent_of_compute: there the share of the whole time, here of the computation time; it is compared with
  percent_of_total.
- args: there lists of numbers are among them ("() ScalarList"); they are no tensors.
- launcher_path, module_chain, call_chain: there from columns of the report, here from the tree data.
- FLOPS/Byte, kernel_details_summary, workload_profile.sum_*: there in some categories, copies of cells.
- impact_estimates: there without the operations of a fusion candidate, which has no counterpart here; estimates
  that round to nothing are left out here. Scores have two digits, of which the last may differ by one, because
  binary fractions are rounded there and decimal ones here; a group's score may differ by one for each member.
- category_findings: compared where no operation of the category is of a fusion candidate.
"""
import json
import pathlib
import shutil
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
from support import SHARED, Case, trawl

CASES = ("mi300_bert", "mi300_qwen")
RELATIVE = 1e-3
LAST_DIGIT = 0.0101
SCORES = ("impact_score", "impact_score_low", "impact_score_high")
OF_OPERATION = ("name", "count", "time_ms", "percent_of_category", "percent_of_total", "efficiency",
                "Input Dims", "Input type", "has_perf_model", "perf_params", "library", "kernel_name",
                "kernel_name_trunc", "cov", "high_variance")


@unittest.skipUnless((SHARED / "cases/standalone").is_dir(), "no reference data")
@unittest.skipUnless(trawl("help", "category").rc == 0, "this trawl has no command category")
class Categories(Case):
    def each(self):
        """(category, our metrics, theirs) of each category of both traces."""
        for case in CASES:
            given = SHARED / "cases/standalone" / f"agent_{case}"
            place = self.tmp / case
            (place / "category_data").mkdir(parents=True)
            shutil.copytree(given / "metadata", place / "metadata")
            for path in sorted((given / "category_data").glob("*_ops.csv")):
                name = path.name[:-len("_ops.csv")]
                if name == "cpu_idle":
                    continue
                shutil.copy(path, place / "category_data")
                self.assertExit(trawl("category", name, place), 0)
                file = f"category_data/{name}_metrics.json"
                yield (f"{case} {name}", json.loads((place / file).read_text()),
                       json.loads((given / file).read_text()))

    def same(self, ours, theirs, where):
        if isinstance(theirs, dict):
            for key, value in theirs.items():
                self.assertIn(key, ours, where)
                self.same(ours[key], value, f"{where}.{key}")
        elif isinstance(theirs, (int, float)) and not isinstance(theirs, bool):
            self.assertIsNotNone(ours, where)
            self.assertLessEqual(abs(ours - theirs), RELATIVE * abs(theirs), where)
        else:
            self.assertEqual(ours, theirs, where)

    def test_totals(self):
        for name, ours, theirs in self.each():
            with self.subTest(name):
                for key in ("category", "status", "comparison_scope", "total_time_ms", "operation_count"):
                    self.same(ours[key], theirs[key], key)
                self.same(ours["percent_of_total"], theirs["percent_of_compute"], "percent_of_total")
                self.same(ours["category_specific"], theirs["category_specific"], "category_specific")

    def test_operations(self):
        for name, ours, theirs in self.each():
            with self.subTest(name):
                self.assertEqual(len(ours["operations"]), len(theirs["operations"]))
                for i, (a, b) in enumerate(zip(ours["operations"], theirs["operations"])):
                    for key in OF_OPERATION:
                        if key in b:
                            self.same(a[key], b[key], f"operations[{i}].{key}")
                    args = [x for x in b["args"].split("<br>") if not x.endswith(" ScalarList")]
                    self.assertEqual(a["args"], "<br>".join(args))
                    for key, value in b.get("classification", {}).items():
                        if key == "workload_profile":
                            value = {k: v for k, v in value.items() if not k.startswith("sum_")}
                        self.same(a["classification"][key], value, f"operations[{i}].{key}")

    def close(self, ours, theirs, where, units=1):
        for key in SCORES:
            self.assertLessEqual(abs(ours[key] - theirs[key]),
                                 LAST_DIGIT * units + RELATIVE * theirs[key], f"{where}.{key}")

    def test_impact_estimates(self):
        for name, ours, theirs in self.each():
            with self.subTest(name):
                def key(e):
                    return (e["operation"], e["time_ms"], e["efficiency_pct"],
                            e.get("percent_of_total"))
                found = {key(e): e for e in ours["impact_estimates"]}
                for e in theirs["impact_estimates"]:
                    if e["impact_score_high"] < 0.01 and key(e) not in found:
                        continue
                    mine = found[key(e)]
                    for k in ("category", "type", "estimate_method", "bound_type", "library",
                              "time_ms", "percent_of_total"):
                        if k in e:
                            self.same(mine[k], e[k], k)
                    self.close(mine, e, key(e))
                flagged = {o["name"] for o in theirs["operations"] if o.get("fusion_flagged")}
                extra = set(found) - {key(e) for e in theirs["impact_estimates"]}
                self.assertEqual([k for k in extra if k[0] not in flagged], [])

    def test_findings(self):
        compared = 0
        for name, ours, theirs in self.each():
            with self.subTest(name):
                if any(o.get("fusion_flagged") for o in theirs["operations"]):
                    continue
                compared += len(theirs["category_findings"])
                self.assertEqual(len(ours["category_findings"]), len(theirs["category_findings"]))
                for a, b in zip(ours["category_findings"], theirs["category_findings"]):
                    for key in ("bound_type", "library", "eff_bucket", "estimate_method",
                                "member_count", "rank"):
                        self.same(a[key], b[key], key)
                    self.close(a, b, name, b["member_count"])
                    self.assertEqual([m["operation"] for m in a["members"]],
                                     [m["operation"] for m in b["members"]])
        self.assertGreaterEqual(compared, 4)


if __name__ == "__main__":
    unittest.main()
