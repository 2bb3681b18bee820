"""Findings of a part of a run: what they gain there, by the times of the same run without the fault.

Both runs are written here, with the times of made_runs.py; a part takes from the end of the GPU work before it
to the end of its own.
"""
import json
import pathlib
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
from support import read_csv, trawl
from made_runs import MS, US, Findings, Rank, meet, ranks_of, steps

TABLES = {"analyze": "", "collectives": "collective_all_ranks_csvs", "report": "perf_report_csvs"}


class Parts(Findings):
    def part(self, run, *options, name="run.json"):
        """{kind: row} of a part."""
        done = trawl("analyze", self.write(run.document(), name), "-o", self.tmp / "out", "--no-replay", "--no-plots",
                     *options)
        self.assertExit(done, 0)
        self.assertNotIn("whole trace", done.out + (self.tmp / "out/standalone_analysis_fair.md").read_text())
        self.printed = done.out
        return {r["kind"]: r for r in read_csv(self.tmp / "out/findings.csv")}

    def run_with(self, step, malloc=2 * MS, count=5):
        """Memory is allocated in one step, while the GPU has nothing to do; the ends of the steps."""
        r, ends = Rank(), []
        for number in range(1, count + 1):
            with r.step(number):
                r.run("aten::mm", 100 * US)
                r.sync()
                if number == step:
                    r.call("cudaMalloc", malloc)
                r.run("aten::relu", 50 * US)
                r.sync()
            ends.append(r.end())
        return r, ends

    def test_a_fault_in_one_step(self):
        run, ends = self.run_with(3)
        _, without = self.run_with(None)
        gain = ends[2] - ends[1] - (without[2] - without[1])
        self.assertEqual(gain, 2 * MS)
        found = self.part(run, "--step", "3")
        self.assertGain(found, "allocator_calls", gain)
        self.assertIn(f"(window {(ends[2] - ends[1]) / MS:.3f} ms, step {(ends[2] - ends[1]) / MS:.3f} ms)", self.printed)
        self.assertAlmostEqual(float(found["allocator_calls"]["gain_percent"]), 100 * gain / (ends[2] - ends[1]), delta=0.01)
        self.assertRegex(found["allocator_calls"]["evidence"], r"^1 occurrences;")

    def test_another_step_does_not_have_it(self):
        run, _ = self.run_with(3)
        for step in "1", "2", "4", "5", "4-5":
            with self.subTest(step):
                self.assertNone(self.part(run, "--step", step), "allocator_calls")

    def test_of_several_steps_it_is_shared(self):
        run, _ = self.run_with(3)
        self.assertGain(self.part(run, "--step", "2-3"), "allocator_calls", MS)
        self.assertGain(self.part(run, "--step", "2-5"), "allocator_calls", MS / 2)

    def test_all_steady_steps_are_the_whole(self):
        def body(r):
            r.run("aten::gelu", 200 * US)
            r.sync()
            r.busy(300 * US)
        run = steps(body)
        whole, part = self.part(run), self.part(run, "--step", "2-4")
        self.assertIn("host_sync", whole)
        for column in "gain_ms", "gain_percent", "where", "gain_together_percent":
            self.assertEqual(whole["host_sync"][column], part["host_sync"][column], column)

    def ranges(self, step=None):
        """In each step `inner` allocates, twice; `outer` does not. The run, and what lies in `inner`, of the GPU."""
        r, spans = Rank(), []
        for number in range(1, 4):
            with r.step(number):
                with r.inside("outer"):
                    r.run("aten::mm", 100 * US)
                    r.sync()
                for _ in range(2):
                    begin = r.end()
                    with r.inside("inner"):
                        if step != "without":
                            r.call("cudaMalloc", MS)
                        r.run("aten::relu", 50 * US)
                        r.sync()
                    spans.append(r.end() - begin)
        return r, spans

    def test_occurrences_of_a_range_are_added_up(self):
        run, spans = self.ranges()
        _, without = self.ranges("without")
        found = self.part(run, "--range", "inner")
        self.assertIn(f"(window {sum(spans) / MS:.3f} ms)", self.printed)
        # A first step may allocate.
        self.assertGain(found, "allocator_calls", sum(spans[2:]) - sum(without[2:]))

    def test_a_range_without_it(self):
        run, _ = self.ranges()
        self.assertNone(self.part(run, "--range", "outer"), "allocator_calls")

    def test_a_time(self):
        run, ends = self.run_with(3)
        # From half a millisecond into the pause on: 1.5 of its 2 ms are left.
        malloc = next(e for e in run.events if e["name"] == "cudaMalloc")
        begin = int(malloc["ts"] * US) + MS // 2
        whole = [self.part(run, "--start", str(t), "--end", str(ends[2])) for t in (ends[1], begin)]
        self.assertGain(whole[0], "allocator_calls", 2 * MS)
        self.assertIn(f"(window {(ends[2] - begin) / MS:.3f} ms)", self.printed)
        # Of the pause what lies in the part, and no more than the part.
        self.assertTrue(1.5 <= float(whole[1]["allocator_calls"]["gain_ms"]) <= round((ends[2] - begin) / MS, 3))
        self.assertNone(self.part(run, "--start", str(ends[2]), "--end", str(ends[4])), "allocator_calls")


class Ranks(Findings):
    def job(self):
        """Rank 1 of 3 computes 300 us longer, in step 3 only."""
        number = 0

        def body(ranks):
            nonlocal number
            number += 1
            for k, r in enumerate(ranks):
                r.run("aten::relu", (900 if k == 1 and number == 3 else 600) * US)
            meet(ranks, "allreduce", 1000, 20 * US)
        place = self.tmp / "job"
        place.mkdir()
        for k, r in enumerate(ranks_of(3, body)):
            (place / f"rank{k}.json").write_text(r.document())
        return place

    def test_every_command_has_those_of_the_part(self):
        place = self.job()
        for step, gain in ("2", None), ("3", 300 * US):
            made = {}
            for command, csvs in TABLES.items():
                with self.subTest(command, step=step):
                    out = self.tmp / f"{command}{step}"
                    more = ("--no-replay", "--no-plots") if command == "analyze" else ()
                    done = trawl(command, place, "-o", out, "--step", step, *more)
                    self.assertExit(done, 0)
                    self.assertIn("what limits the run", done.out)
                    made[command] = (out / csvs / "findings.csv").read_bytes()
            self.assertEqual(len(set(made.values())), 1)
            found = {r["kind"]: r for r in read_csv(self.tmp / f"collectives{step}" / TABLES["collectives"] / "findings.csv")}
            if gain:
                self.assertGain(found, "straggler_compute", gain)
                self.assertEqual(found["straggler_compute"]["rank"], "1")
            else:
                self.assertNone(found, "straggler_compute")

    def test_other_tables_stay_those_of_the_part(self):
        place = self.job()
        done = trawl("collectives", place, "-o", self.tmp / "out", "--step", "3", "--format", "json")
        self.assertExit(done, 0)
        tables = {t["name"]: t["rows"] for t in json.loads(done.out)["tables"]}
        self.assertEqual(len(tables["collective_matches"]), 1)


if __name__ == "__main__":
    unittest.main()
