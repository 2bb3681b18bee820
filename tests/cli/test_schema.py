"""What `--format json` prints fits the schemas of the repository, and other documents do not."""
import copy
import json
import pathlib
import subprocess
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
from support import (ROOT, Case, base_events, document, event, kernel, op, tracegen, trawl)

SCHEMAS = {name: ROOT / f"schema/trawl.{name}-1.json" for name in ("report", "check")}
CHECKER = pathlib.Path(__file__).resolve().parent / "check_schema.py"


class Schema(Case):
    def validate(self, name, doc):
        """Complaints about a document; '' when it fits."""
        path = self.write(doc if isinstance(doc, str) else json.dumps(doc), "document.json")
        # The library is Debian's: for the system's Python, if not for this one.
        for python in (sys.executable, "/usr/bin/python3"):
            done = subprocess.run([python, CHECKER, SCHEMAS[name], path], capture_output=True,
                                  text=True)
            if done.returncode != 3:
                self.assertEqual(done.stderr, "")
                self.assertEqual(bool(done.stdout), done.returncode == 1, str(done))
                return done.stdout
        self.skipTest("no python3-jsonschema: the documents were not compared with their schemas")

    def printed(self, data, *options):
        path = data if isinstance(data, pathlib.Path) else self.write(data)
        result = trawl("report", path, "--no-csv", "--no-xlsx", "--format", "json", *options)
        self.assertExit(result, 0, 3)
        return result.out

    def test_reports_fit(self):
        huge = [kernel("k", 1, 501120000000, None) for _ in range(40)]
        idle = base_events() + [event("X", "user_annotation", "wait", 31, 32, 350, 40)]
        odd = document(base_events()) + "trailing"
        cases = {
            "all": (document(base_events()), ()),
            "micro idle": (document(base_events()), ("--micro-idle-us", "10")),
            "view": (document(base_events()), ("--start", 220000, "--end", 310000)),
            "idle view": (document(idle), ("--range", "wait")),
            "no launches": (document([kernel("k", 1, 5)]), ()),
            "no length": (document([kernel("k", 1, 0)]), ()),
            "only the host": (document([op("a", 1, 5)]), ()),
            "long": (document(huge), ()),
            "damaged": (odd, ()),
        }
        for name, (data, options) in cases.items():
            with self.subTest(name):
                self.assertEqual(self.validate("report", self.printed(data, *options)), "")

    def test_report_of_a_generated_trace_fits(self):
        path = self.tmp / "made.json"
        subprocess.run([tracegen(), "--steps", "1", "-o", path], check=True)
        self.assertEqual(self.validate("report", self.printed(path)), "")

    def test_checks_fit(self):
        good, bad = self.write(document(base_events())), self.write(
            document(base_events()).replace('"dur": 100', '"dur": NaN'), "bad.json")
        for paths in ((good,), (bad,), (good, bad)):
            result = trawl("check", *paths, "--format", "json")
            self.assertExit(result, 0, 3)
            self.assertEqual(self.validate("check", result.out), "")

    def test_other_documents_do_not_fit(self):
        doc = json.loads(self.printed(document(base_events())))
        self.assertEqual([t["name"] for t in doc["tables"]],
                         ["gpu_timeline", "top_operations", "quality"])

        def changed(change):
            other = copy.deepcopy(doc)
            change(other)
            return other

        def rename(d):
            d["tables"][0]["columns"][1]["id"] = "time"

        def unit(d):
            d["tables"][0]["columns"][1]["unit"] = "us"

        wrong = {
            "version": changed(lambda d: d.update(schema="trawl.report/2")),
            "more at the top": changed(lambda d: d.update(more=1)),
            "no tables": changed(lambda d: d.pop("tables")),
            "table missing": changed(lambda d: d["tables"].pop()),
            "order of tables": changed(lambda d: d["tables"].reverse()),
            "more in a table": changed(lambda d: d["tables"][0].update(more=1)),
            "no notes": changed(lambda d: d["tables"][0].pop("notes")),
            "column renamed": changed(rename),
            "unit": changed(unit),
            "row too long": changed(lambda d: d["tables"][0]["rows"][0].append(1)),
            "row too short": changed(lambda d: d["tables"][0]["rows"][0].pop()),
            "time as text": changed(lambda d: d["tables"][0]["rows"][0].__setitem__(1, "1")),
            "kind of time": changed(lambda d: d["tables"][0]["rows"][0].__setitem__(0, "x_time")),
        }
        for name, other in wrong.items():
            with self.subTest(name):
                self.assertNotEqual(self.validate("report", other), "")
        self.assertNotEqual(self.validate("check", doc), "")


if __name__ == "__main__":
    unittest.main()
