"""Events that were recorded twice: every table is as if they were there once, and it is said."""
import gzip
import json
import pathlib
import shutil
import sqlite3
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
from support import ROOT, SHARED, Case, document, kernel, launch, op, trawl

GPU = {"kernel", "gpu_memcpy", "gpu_memset"}
SAMPLE = ROOT / "examples/sample.json.gz"
FOUND = SHARED / "cases/found"


def sample():
    return json.loads(gzip.decompress(SAMPLE.read_bytes()))


class Twice(Case):
    def tables(self, report, but=("quality",)):
        return {p.name: p.read_text() for p in sorted(report.csvs.glob("*.csv"))
                if p.stem not in but}

    def kinds(self, report):
        return {r["kind"]: r["count"] for r in report.quality()}

    def same_as_once(self, document):
        once, twice = self.report(SAMPLE), self.report(self.write(json.dumps(document), "t.json"))
        self.assertExit(twice, 0)
        self.assertEqual(self.tables(once), self.tables(twice))
        return self.kinds(twice)

    def test_gpu_events(self):
        document = sample()
        gpu = [e for e in document["traceEvents"] if e.get("cat") in GPU]
        document["traceEvents"] += gpu
        kinds = self.same_as_once(document)
        self.assertEqual(kinds["repeated_gpu"], str(len(gpu)))
        self.assertNotIn("repeated_host", kinds)

    def test_each_behind_itself(self):
        document = sample()
        document["traceEvents"] = [e for e in document["traceEvents"]
                                   for _ in range(2 if e.get("cat") in GPU else 1)]
        report = self.report(self.write(json.dumps(document), "t.json"))
        self.assertEqual(self.report(SAMPLE).kernels(), report.kernels())

    def test_all_of_a_trace(self):
        """The list behind itself: operations, calls and arrows too."""
        document = sample()
        events = document["traceEvents"]
        gpu = sum(e.get("cat") in GPU for e in events)
        document["traceEvents"] = events + events
        kinds = self.same_as_once(document)
        self.assertEqual(kinds["repeated_gpu"], str(gpu))
        host = sum(e.get("cat") in ("cpu_op", "cuda_runtime", "cuda_driver") and e["ph"] == "X"
                   for e in events)
        self.assertEqual(kinds["repeated_host"], str(host))

    def test_what_has_no_id(self):
        """Annotations, functions of Python, calls and arrows: once in a step's work and in merged traces."""
        def flow(phase, pid, tid, ts):
            return {"ph": phase, "cat": "ac2g", "name": "ac2g", "id": 1, "pid": pid, "tid": tid, "ts": ts, "bp": "e"}
        gpu = kernel("gemm", 1050.5, 100, 1)
        events = [op("ProfilerStep#1", 1000.25, 500, cat="user_annotation"),
                  op("ProfilerStep#1", 1050.5, 100, cat="gpu_user_annotation"),
                  op("train.py(1): step", 1000.25, 400, cat="python_function", **{"Python id": 1}),
                  op("aten::mm", 1001, 20, **{"External id": 1}), launch(1005, 5, 1),
                  op("cudaDeviceSynchronize", 1200.125, 90, cat="cuda_runtime"), gpu,
                  flow("s", 1, 1, 1005), flow("f", gpu["pid"], gpu["tid"], 1050.5)]
        other = [{**e, "cat": "Kernel"} if e is gpu else e for e in events]
        once = self.report(self.write(document(events), "once.json"), "--step", "1")
        self.assertEqual(once.table("step_work")[0]["GPU events"], "1")
        merged = {}
        for name, more in (("once", []), ("twice", events), ("other", other)):
            place = self.tmp / name / "rank0.json"
            place.parent.mkdir()
            place.write_text(document(events + more))
            report = self.report(place, "--step", "1")
            self.assertEqual(self.tables(once), self.tables(report), name)
            # The step, on host and GPU, the operation and two calls.
            self.assertEqual(self.kinds(report).get("repeated_host"), "5" if more else None)
            self.assertExit(trawl("merge", place.parent, "-o", self.tmp / "merged.json"), 0)
            merged[name] = sorted((e["ph"], e.get("cat", "").lower(), e["name"]) for e in
                                  json.loads((self.tmp / "merged.json").read_text())["traceEvents"])
        self.assertEqual(len([e for e in merged["once"] if e[0] == "X"]), 5)
        self.assertEqual(merged["once"], merged["twice"])
        self.assertEqual(merged["once"], merged["other"])

    def test_three_times(self):
        events = [op("aten::mm", 1000, 20, **{"External id": 1}), launch(1005, 5, 1),
                  *[kernel("gemm", 1050.5, 100, 1)] * 3]
        report = self.report(self.write(json.dumps({"traceEvents": events}), "t.json"))
        self.assertEqual(report.kernels(), {"gemm": (1, 100, 100, 100)})
        self.assertEqual(report.direct("aten::mm"), 100)
        self.assertEqual(self.kinds(report)["repeated_gpu"], "2")

    def test_what_differs_is_not_twice(self):
        """Another length, another launch, another stream; operations and calls without an id."""
        host = op("aten::mm", 1000, 20)
        host["args"] = {}
        events = [launch(1005, 5, 1), launch(1015, 5, 2), kernel("k", 1050, 100, 1),
                  kernel("k", 1050, 90, 1), kernel("k", 1050, 100, 2),
                  kernel("k", 1050, 100, 1, stream=9), host, host]
        report = self.report(self.write(json.dumps({"traceEvents": events}), "t.json"))
        self.assertEqual(report.kernels()["k"][0], 4)
        self.assertNotIn("repeated_gpu", self.kinds(report))
        self.assertNotIn("repeated_host", self.kinds(report))

    def test_check(self):
        document = sample()
        document["traceEvents"] += [e for e in document["traceEvents"] if e.get("cat") in GPU][:5]
        path = self.write(json.dumps(document), "t.json")
        result = trawl("check", path)
        self.assertExit(result, 0)
        self.assertRegex(result.out, r"defect +5 x GPU events recorded twice")
        self.assertExit(trawl("check", "--strict", path), 1)
        self.assertExit(trawl("check", "--strict", SAMPLE), 0)

    def ranks(self, twice):
        place = self.tmp / ("twice" if twice else "once")
        place.mkdir()
        for rank in range(2):
            document = sample()
            document["distributedInfo"].update(rank=rank, world_size=2)
            if twice:
                document["traceEvents"] += [e for e in document["traceEvents"]
                                            if e.get("cat") in GPU]
            (place / f"rank{rank}.json").write_text(json.dumps(document))
        return place

    def test_collectives_and_merge(self):
        tables, slices = {}, {}
        for twice in (False, True):
            place, out = self.ranks(twice), self.tmp / f"collectives{twice}"
            result = trawl("collectives", place, "-o", out, "--no-xlsx")
            # The sample's group has eight ranks, of which two are here: the others are missing.
            self.assertExit(result, 3)
            self.assertEqual("repeated_gpu" in result.err, twice, result.err)
            tables[twice] = {p.name: p.read_text() for p in sorted(out.rglob("*.csv"))
                             if p.stem != "ranks"}
            result = trawl("merge", place, "-o", self.tmp / "merged.json")
            self.assertExit(result, 0)
            self.assertEqual("repeated_gpu" in result.err, twice, result.err)
            merged = json.loads((self.tmp / "merged.json").read_text())
            slices[twice] = sum(e.get("cat") in GPU for e in merged["traceEvents"])
        self.assertGreater(len(tables[False]), 5)
        self.assertEqual(tables[False], tables[True])
        self.assertEqual(slices[False], slices[True])

    def test_export(self):
        path = self.tmp / "twice.sqlite"
        shutil.copy(ROOT / "examples/sample.sqlite", path)
        path.chmod(0o644)
        with sqlite3.connect(path) as db:
            count = db.execute("SELECT COUNT(*) FROM CUPTI_ACTIVITY_KIND_KERNEL").fetchone()[0]
            db.execute("INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL "
                       "SELECT * FROM CUPTI_ACTIVITY_KIND_KERNEL")
        db.close()
        once, twice = self.report(ROOT / "examples/sample.sqlite"), self.report(path)
        self.assertEqual(once.kernels(), twice.kernels())
        for table in ("gpu_timeline", "coll_analysis", "streams", "launches"):
            self.assertEqual(once.table(table), twice.table(table))
        self.assertEqual(self.kinds(twice)["repeated_gpu"], str(count))

    def twice_export(self):
        """All events again, so far behind that other threads read them."""
        path = self.tmp / "all.sqlite"
        shutil.copy(ROOT / "examples/sample.sqlite", path)
        path.chmod(0o644)
        with sqlite3.connect(path) as db:
            for table in ("KERNEL", "MEMCPY", "MEMSET", "RUNTIME", "SYNCHRONIZATION", "NVTX_EVENTS"):
                table = table if table.startswith("NVTX") else f"CUPTI_ACTIVITY_KIND_{table}"
                names = ", ".join(r[1] for r in db.execute(f"PRAGMA table_info({table})"))
                db.execute(f"INSERT INTO {table} (rowid, {names}) "
                           f"SELECT rowid + 3000000, {names} FROM {table}")
        db.close()
        return path

    def test_queries_of_an_export(self):
        sample, path = ROOT / "examples/sample.sqlite", self.twice_export()
        for query in (["windows"], ["streams"], ["streams", "--by", "pp"], ["overlap"], ["setup"],
                      ["overlap", "--by", "stage", "-j1"], ["streams", "--start", "0", "--end", "1000000000000"], ["ranges"]):
            once, twice = (trawl("nsys", *query, p, "--format", "csv") for p in (sample, path))
            self.assertExit(once, 0)
            self.assertExit(twice, 0)
            self.assertGreater(len(once.out.splitlines()), 2)
            self.assertEqual(once.out, twice.out, query)
        self.assertIn("764 duplicate kernel records in the windows",
                      trawl("nsys", "streams", "--start", "0", "--end", "1000000000000", path).out)
        self.assertIn("652 ranges recorded twice", trawl("nsys", "ranges", path).out)

    def test_queries_tell_nodes_of_a_graph_apart(self):
        """What differs in its node, its stream, its length or its launch is there twice."""
        path = self.tmp / "nodes.sqlite"
        shutil.copy(ROOT / "examples/sample.sqlite", path)
        path.chmod(0o644)
        changes = ("graphNodeId = 7", "streamId = streamId", "end = end + 1", "correlationId = 1")
        with sqlite3.connect(path) as db:
            first = db.execute("SELECT MIN(rowid) FROM CUPTI_ACTIVITY_KIND_KERNEL").fetchone()[0]
            names = [r[1] for r in db.execute("PRAGMA table_info(CUPTI_ACTIVITY_KIND_KERNEL)")]
            for i, change in enumerate(changes):
                db.execute(f"INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL (rowid, {', '.join(names)}) "
                           f"SELECT {3000000 + i}, {', '.join(names)} FROM CUPTI_ACTIVITY_KIND_KERNEL "
                           f"WHERE rowid = {first}")
                db.execute(f"UPDATE CUPTI_ACTIVITY_KIND_KERNEL SET {change} WHERE rowid = {3000000 + i}")
        db.close()

        def kernels(path):
            result = trawl("nsys", "streams", "--start", "0", "--end", "1000000000000", path, "--format", "csv")
            rows = [line.split(",") for line in result.out.splitlines()[1:]]
            return sum(int(r[2]) + int(r[3]) for r in rows)
        self.assertEqual(kernels(path) - kernels(ROOT / "examples/sample.sqlite"), 3)

    @unittest.skipUnless(FOUND.is_dir(), "needs the given cases")
    def test_given_cases(self):
        case = FOUND / "attack-01-duplicate-gpu-events"
        document = json.loads(gzip.decompress((case / "kdup.json.gz").read_bytes()))
        gpu = set()
        document["traceEvents"] = [e for e in document["traceEvents"] if e.get("cat") not in GPU or
                                   not (json.dumps(e) in gpu or gpu.add(json.dumps(e)))]
        report = self.report(case / "kdup.json.gz")
        self.assertEqual(self.kinds(report)["repeated_gpu"], "487")
        once = self.report(self.write(json.dumps(document), "once.json"))
        self.assertEqual(self.tables(once), self.tables(report))
        result = trawl("check", "--strict", case / "g2.json")
        self.assertExit(result, 1)
        self.assertRegex(result.out, r"200 x GPU events recorded twice")
        case = FOUND / "kineto-34-duplicate-events"
        self.assertEqual(self.kinds(self.report(case / "trace.json"))["repeated_gpu"], "3")


if __name__ == "__main__":
    unittest.main()
