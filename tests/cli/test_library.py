"""The programs of examples/: what they print, against figures worked out here from their inputs."""
import collections
import csv
import gzip
import json
import pathlib
import sqlite3
import subprocess
import sys
import unittest
from decimal import Decimal

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
from support import BUILD, ROOT, Case, environment, tracegen, trawl

EXAMPLES = BUILD / "examples"


def run(name, *args):
    return subprocess.run([EXAMPLES / name, *map(str, args)], capture_output=True, text=True,
                          timeout=120, env=environment(LD_LIBRARY_PATH=BUILD))


class Examples(Case):
    def setUp(self):
        super().setUp()
        if not EXAMPLES.is_dir():
            self.skipTest("no examples in this build")

    def prints(self, name, *args):
        done = run(name, *args)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        return done.stdout.splitlines()


class Events(Examples):
    """Memory copies by kind, device and stream."""

    @staticmethod
    def rows(lines):
        """Sorted (device, stream, copies, bytes, ns) of what events prints, names left out."""
        return sorted((*map(int, x.split()[-6:-2]), int(Decimal(x.split()[-2]) * 1000))
                      for x in lines[1:])

    @staticmethod
    def expected(copies):
        """The same of (kind, device, stream, bytes, ns) a copy."""
        sums = collections.defaultdict(lambda: [0, 0, 0])
        for kind, device, stream, size, ns in copies:
            s = sums[kind, device, stream]
            s[0] += 1
            s[1] += size
            s[2] += ns
        return sorted((device, stream, *s) for (_, device, stream), s in sums.items())

    def check_json(self, path, text):
        copies = [(e["name"], e["args"]["device"], e["args"]["stream"], e["args"]["bytes"],
                   int(e["dur"] * 1000))
                  for e in json.loads(text, parse_float=Decimal)["traceEvents"]
                  if e.get("cat") == "gpu_memcpy"]
        lines = self.prints("events", path)
        self.assertGreater(len(copies), 4)
        self.assertEqual(self.rows(lines), self.expected(copies))
        self.assertEqual({x[:32].strip() for x in lines[1:]}, {c[0] for c in copies})

    def test_sample(self):
        path = ROOT / "examples/sample.json.gz"
        self.check_json(path, gzip.decompress(path.read_bytes()))

    def test_made_trace(self):
        path = self.tmp / "made.json"
        subprocess.run([tracegen(), "--kind", "infer", "--seed", "5", "-o", path], check=True)
        self.check_json(path, path.read_bytes())

    def test_export(self):
        path = ROOT / "examples/sample.sqlite"
        with sqlite3.connect(f"file:{path}?mode=ro", uri=True) as db:
            copies = db.execute("select copyKind, deviceId, streamId, bytes, end - start "
                                "from CUPTI_ACTIVITY_KIND_MEMCPY").fetchall()
        self.assertEqual(self.rows(self.prints("events", path)), self.expected(copies))

    def test_no_trace(self):
        done = run("events", self.tmp / "absent.json")
        self.assertEqual((done.returncode, done.stdout), (1, ""))
        self.assertRegex(done.stderr, r"^events: .*absent\.json.*\n$")


class Overlap(Examples):
    """Hidden communication by stage of an export."""

    def test_sample(self):
        path = ROOT / "examples/sample.sqlite"
        table = trawl("nsys", "overlap", path, "--by", "stage", "--format", "csv").out
        rows = list(csv.DictReader(table.splitlines()))
        self.assertEqual([x.replace("(compute stream)", "(compute_stream)").split() for x in
                          self.prints("overlap", path)],
                         [[*filter(None, [r["stage"].replace(" ", "_")]), f"{float(r['overlap']):.2f}", "%", "hidden",
                           r["exposed_ns"], "ns", "exposed"] for r in rows])
        self.assertGreater(len(rows), 3)

    def test_no_export(self):
        done = run("overlap", ROOT / "examples/sample.json.gz")
        self.assertEqual((done.returncode, done.stdout), (1, ""))
        self.assertRegex(done.stderr, r"^overlap: .*sample\.json\.gz: .+\n$")


class Ranks(Examples):
    """The ranks of a job and who holds them up, against the generator's truth."""

    def test_straggler(self):
        job, facts = self.tmp / "job", self.tmp / "facts"
        subprocess.run([tracegen(), "--ranks", "4", "--steps", "2", "--straggler", "2:1.5",
                        "--truth", facts, "-o", job], check=True)
        lines = self.prints("ranks", job)
        for rank, line in enumerate(lines[:4]):
            fact = json.loads((facts / f"rank{rank}.json").read_text())
            self.assertEqual(line, f"rank {rank}: {fact['device_name']}, {fact['n_gpu_events']} "
                                   f"GPU events, {job}/rank{rank}_trace.json")
        self.assertTrue(lines[4].startswith("rank 2 is the straggler"), lines[4])

    def test_a_rank_is_missing(self):
        done = run("ranks", ROOT / "examples/sample.json.gz")
        self.assertEqual(done.returncode, 0)
        self.assertEqual(done.stderr, "ranks: missing ranks 1-7 (the job has 8)\n")
        done = run("ranks", self.tmp / "absent")
        self.assertEqual((done.returncode, done.stdout), (1, ""))
        self.assertRegex(done.stderr, r"^ranks: .*absent")


class Compare(Examples):
    """Two runs, whose total times are the generator's truth."""

    def test_a_slower_run(self):
        times = []
        for name, options in (("fast", ()), ("slow", ("--straggler", "0:1.5"))):
            subprocess.run([tracegen(), "--ranks", "2", "--steps", "2", *options, "--truth",
                            self.tmp / f"{name}_facts", "-o", self.tmp / name], check=True)
            fact = json.loads((self.tmp / f"{name}_facts/rank0.json").read_text())
            times.append(fact["span_ns"])
        sides = [self.tmp / name / "rank0_trace.json" for name in ("fast", "slow")]
        done = run("compare", *sides)
        self.assertEqual((done.returncode, done.stderr), (3, ""))
        percent = (times[1] / times[0] - 1) * 100
        self.assertIn(f" is {percent:.1f} % slower than ", done.stdout.splitlines()[0])
        self.assertRegex(done.stdout, r"(?m)^worse: .*total_time")
        done = run("compare", sides[0], sides[0])
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertNotIn("worse", done.stdout)

    def test_nothing_there(self):
        done = run("compare", self.tmp / "a", self.tmp / "b")
        self.assertEqual((done.returncode, done.stdout), (1, ""))
        self.assertRegex(done.stderr, r"^compare: .*a'")


if __name__ == "__main__":
    unittest.main()
