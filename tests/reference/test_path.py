"""The dependencies of runs against an independent program: the same points, the same time of each in
every scenario, the same slack, critical path and windows. Times are compared less the base time of each
rank and what its clock was shifted by, which the two measure differently by some ns.

TRAWL_SHARED/refs/path has the program, cases/diag made runs, traces and traces_odd recorded ones.
"""
import collections
import importlib.util
import pathlib
import subprocess
import sys
import unittest
from decimal import Decimal

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
from support import BUILD, FULL, ROOT, SANITIZED, SHARED, Case, environment, read_csv, trawl

ORACLE = SHARED / "refs/path/path_oracle.py"
DIAG = SHARED / "cases/diag"
TRACES = SHARED / "traces"
DLRM = SHARED / "traces_odd/dlrm_8rank_v100"
SCENARIOS = ("gpu_free", "host_free", "launches_free", "transfers_free", "no_waiting")
# Clocks of ranks are measured differently, by no more than this: the points of each move together.
CLOCKS_NS = 20
# What that comes to over a chain of collectives.
CHAINS_NS = 100
# Those of the short run: each kind of cause, one job with and one without a straggler.
SHORT = ("01", "02", "03", "04", "05", "06", "16", "22", "23", "26", "27", "31", "39")


def load_oracle():
    spec = importlib.util.spec_from_file_location("path_oracle", ORACLE)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def files_of(folder):
    return sorted(folder.glob("*.json.gz")) or sorted(folder.glob("*.pt.trace.json"))


def dump():
    for build in (BUILD, ROOT / "build/release"):
        if (build / "tools/path_dump").exists():
            return build / "tools/path_dump"
    return BUILD / "tools/path_dump"


class Path(Case):
    @classmethod
    def setUpClass(cls):
        if not ORACLE.exists():
            raise unittest.SkipTest("given material absent: refs/path (TRAWL_SHARED)")
        cls.oracle = load_oracle()

    def points(self, files):
        """{rank: [(time, side, name, time less that as recorded in each scenario ..., slack)]} of trawl."""
        done = subprocess.run([dump(), *files], capture_output=True, env=environment())
        self.assertEqual(done.returncode, 0, done.stderr.decode())
        out = collections.defaultdict(list)
        for line in done.stdout.decode().split("\n"):
            if not line or line[0] == "#":
                continue
            f = line.split("\t")
            time, recorded, slack = int(f[1]), int(f[5]), int(f[13])
            self.assertEqual(time, recorded, "an unchanged replay differs")
            out[int(f[0]) if len(files) > 1 else 0].append(
                (time, f[2], f[12], *(int(v) - recorded for v in f[6:11]), slack))
        return out

    def expected(self, graph):
        o = self.oracle
        times = [o.replay(graph, o.SCENARIOS[k](graph)) for k in SCENARIOS]
        slack = o.slack(graph)
        self.assertEqual(o.replay(graph), graph.t)
        out = collections.defaultdict(list)
        for p, time in enumerate(graph.t):
            owner = graph.owner[p]
            out[owner.rank].append((time, graph.side[p], owner.name, *(t[p] - time for t in times),
                                    -1 if slack[p] >= 1 << 61 else slack[p]))
        return out, [o.window(graph, t) for t in [graph.t, *times]]

    def without_instants(self, made, expected):
        """Without operators of no length at the end of another, which the other program has inside of that
        one: times of whole microseconds cannot decide it."""
        more = collections.Counter(p[:3] for p in made)
        shift = min(made)[0] - min(expected)[0]
        more -= collections.Counter((p[0] + shift, *p[1:3]) for p in expected)
        for time, side, name in more:
            self.assertEqual(more[time, "s", name], more[time, "e", name])
        kept = []
        for p in made:
            if more[p[:3]]:
                more[p[:3]] -= 1
            else:
                kept.append(p)
        return kept

    def hold_points(self, files, graph, instants):
        """Each point of trawl against its own in the other program."""
        expected, windows = self.expected(graph)
        made = self.points(files)
        if instants:
            made = {r: self.without_instants(p, expected[r]) for r, p in made.items()}
        self.assertEqual({r: len(p) for r, p in made.items()},
                         {r: len(p) for r, p in expected.items()})
        shifts = {r: min(made[r])[0] - min(p)[0] for r, p in expected.items()}
        self.limit = max(shifts.values()) - min(shifts.values())
        self.assertLessEqual(self.limit, CLOCKS_NS)
        limit = CHAINS_NS if len(files) > 1 else 0
        for rank, points in expected.items():
            x, y = sorted(points), sorted(made[rank])
            self.assertEqual([(p[0] + shifts[rank], *p[1:3]) for p in x], [p[:3] for p in y])
            for p, q in zip(x, y):
                self.assertTrue(all(abs(a - b) <= limit for a, b in zip(p[3:], q[3:])), (p, q))
        return windows

    def hold_tables(self, files, graph, windows, *options):
        """What the command says of the path and of scenarios."""
        out = self.tmp / "out"
        result = trawl("path", *files, "-o", out, "--no-xlsx", *options, timeout=300)
        self.assertExit(result, 0, 3)
        tables = {p.stem: read_csv(p) for p in (out / "path_csvs").glob("*.csv")}
        window = Decimal(windows[0]) / 10**6
        limit = Decimal(CHAINS_NS if len(files) > 1 else 0) / 10**6
        rows = {r["scenario"]: r for r in tables["what_if"]}
        for name, ns in zip(SCENARIOS, windows[1:]):
            self.assertAlmostEqual(Decimal(rows[name]["ms before"]), window, delta=limit)
            self.assertAlmostEqual(Decimal(rows[name]["ms after"]), Decimal(ns) / 10**6, delta=limit)
        before = Decimal(rows["gpu_free"]["ms before"])
        self.assertEqual(sum(Decimal(r["ms"]) for r in tables["critical_summary"]), before)
        self.assertEqual(sum(Decimal(r["duration (µs)"]) for r in tables["critical_path"]) / 1000,
                         before)
        self.hold_classes(tables, graph, limit * len(tables["critical_path"]))
        return tables

    def hold_classes(self, tables, graph, limit):
        """The path by class. Communication that waits for ranks without a trace has a class of its own,
        where the other program says compute."""
        segments, total, window = self.oracle.path(graph)
        self.assertEqual(total, window)
        expected, made = collections.Counter(), collections.Counter()
        for p, code, ns, name in segments:
            expected[name.split(" (")[0]] += ns
        for row in tables["critical_summary"]:
            name = row["class"].replace("waiting for a rank", "compute")
            made[name] += int(Decimal(row["ms"]) * 10**6)
        for name in {*expected, *made}:
            self.assertLessEqual(abs(made[name] - expected[name]), limit * 10**6, (name, made, expected))

    def run_folder(self, folder, whole=False, instants=False):
        files = files_of(folder)
        if not files:
            self.skipTest(f"given material absent: {folder.name} (TRAWL_SHARED)")
        graph = self.oracle.build([self.oracle.load(str(f), r) for r, f in enumerate(files)], whole)
        windows = self.hold_points(files, graph, instants)
        return self.hold_tables(files, graph, windows, *(["--whole"] if whole else []))

    def test_made_runs(self):
        for folder in sorted(DIAG.glob("[0-9]*")):
            if FULL or folder.name[:2] in SHORT:
                with self.subTest(folder.name):
                    self.run_folder(folder)

    def test_recorded_traces(self):
        for folder in sorted(TRACES.iterdir()):
            large = folder.name in ("xdit_flux", "mi300_resnet_train", "h100_owlv2", "mi300_timesformer")
            if folder.is_dir() and (FULL or not large) and files_of(folder):
                with self.subTest(folder.name):
                    self.run_folder(folder)

    def test_stragglers(self):
        """The slowest rank as the next slower one, where the other program sees one."""
        spec = importlib.util.spec_from_file_location("path_kinds", ORACLE.with_name("path_kinds.py"))
        sys.modules["path_oracle"] = self.oracle
        kinds = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(kinds)
        for number in ("16", "17", "19") if FULL else ("16",):
            with self.subTest(number):
                files = files_of(next(DIAG.glob(f"{number}-*")))
                graph = self.oracle.build([self.oracle.load(str(f), r) for r, f in enumerate(files)])
                change = kinds.straggler_compute(graph)
                expected = self.oracle.window(graph, self.oracle.replay(graph, change))
                out = self.tmp / number
                self.assertExit(trawl("path", *files, "-o", out, "--no-xlsx", timeout=300), 0)
                row = next(r for r in read_csv(out / "path_csvs/what_if.csv")
                           if r["scenario"] == "slowest_as_next")
                self.assertAlmostEqual(Decimal(row["ms after"]), Decimal(expected) / 10**6,
                                       delta=Decimal(2 * CHAINS_NS) / 10**6)

    def test_faster_work_makes_no_run_longer(self):
        for folder in sorted([*DIAG.glob("[0-9]*"), *TRACES.iterdir()]):
            files = files_of(folder) if folder.is_dir() else []
            if not files or not (FULL or folder.name[:2] in SHORT):
                continue
            for options in (("--scale", "kernel:*=0.5"), ("--scale", "op:aten::mm*=0", "--remove", "kernel:*nccl*"),
                            ("--scale", "kernel:*=1")):
                out = self.tmp / "monotone"
                result = trawl("path", *files, "-o", out, "--no-xlsx", *options, timeout=300)
                if result.rc == 2:  # nothing of that name
                    continue
                row = read_csv(out / "path_csvs/what_if.csv")[-1]
                self.assertEqual(row["scenario"], "asked")
                with self.subTest(folder.name, options=options):
                    before, after = Decimal(row["ms before"]), Decimal(row["ms after"])
                    self.assertLessEqual(after, before)
                    if "=1" in options[1]:
                        self.assertEqual(after, before)

    def test_the_path_sums_to_the_window(self):
        """Of every trace and case that is given, of exports too; an unchanged replay changes nothing."""
        found = [p for where in ("cases/kineto", "cases/found", "cases/nsys", "cases/replay", "traces_odd")
                 for pattern in ("*.json", "*.json.gz", "*.sqlite") for p in sorted((SHARED / where).rglob(pattern))]
        self.assertGreater(len(found), 50)
        summed = 0
        for path in found[::1 if FULL else 7]:
            out = self.tmp / f"sum{summed}"
            result = trawl("path", path, "-o", out, "--no-xlsx", timeout=300)
            self.assertAlive(result)
            if result.rc not in (0, 3):  # no trace, or no GPU work in it
                continue
            summed += 1
            with self.subTest(str(path.relative_to(SHARED))):
                window = Decimal(next(r for r in read_csv(out / "path_csvs/what_if.csv"))["ms before"])
                rows = read_csv(out / "path_csvs/critical_path.csv") or []
                self.assertEqual(sum(Decimal(r["duration (µs)"]) for r in rows) / 1000, window)
                if path.suffix != ".sqlite":
                    self.points([path])
        self.assertGreater(summed, 40 if FULL else 5)

    def test_recorded_ranks(self):
        self.run_folder(DLRM, instants=True)

    def test_floors_of_a_recorded_trace(self):
        """Figures worked out with the first of these programs, of 463 events without a launch."""
        for options, before, after in (([], "33.131", "28.834"), (["--whole"], "47.086", "42.753")):
            tables = self.run_folder(TRACES / "mi300_qwen", whole=bool(options))
            row = next(r for r in tables["what_if"] if r["scenario"] == "gpu_free")
            self.assertEqual([f"{Decimal(row[c]):.3f}" for c in ("ms before", "ms after")],
                             [before, after])


if __name__ == "__main__":
    unittest.main()
