"""trawl sweep timeline and trials on small, odd and damaged inputs."""
import json
import os
import pathlib
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
from support import Case, trawl


def span(stream, tag, start, end):
    return {"stream": stream, "tag": tag, "start_ms": start, "end_ms": end,
            "duration_ms": end - start}


def line(step, *ranges, **more):
    return json.dumps({"step": step, **more, "profile": {"ranges": list(ranges)}}) + "\n"


# compute 2 to 6 (in two ranges that overlap), communication 4 to 5 twice and 8 to 9.
RANGES = (span("main", "epoch0_step5_forward", 102, 105), span("main", "BACKWARD", 103, 106),
          span("comm", "all_reduce_0", 104, 105), span("comm2", "All_Gather", 104, 105),
          span("comm", "reduce_scatter", 108, 109), span("aux", "prefetch_x", 100, 100.25),
          span("aux", "grad_clip", 109, 110), span("aux", "misc", 101, 101))


class Tool(Case):
    def write(self, text, rank=0):
        (self.tmp / f"rank_{rank:02}_metrics.jsonl").write_bytes(
            text if isinstance(text, bytes) else text.encode())

    def timeline(self, *args, text_only=True):
        extra = ("--text-only",) if text_only else ()
        return trawl("sweep", "timeline", self.tmp, *extra, *args)

    def rows(self, *args):
        done = self.timeline("--format", "csv", *args)
        return done, [x.split(",") for x in done.out.splitlines()[1:]]


class TestTimeline(Tool):
    def test_numbers(self):
        self.write(line(5, *RANGES, epoch=0))
        done, rows = self.rows()
        self.assertEqual(done.rc, 0, done)
        self.assertEqual(rows, [["5", "0", "10", "6", "3", "1", "0.16666666666666666"]])

    def test_ranges_are_a_list(self):
        self.write(json.dumps({"step": 6, "profile": {"ranges": {"a": RANGES[0]}}}) + "\n" +
                   line(5, *RANGES))
        done, rows = self.rows()
        self.assertEqual([r[0] for r in rows], ["5"], done)

    def test_text(self):
        self.write(line(5, *RANGES))
        done = self.timeline("--resolution", "1")
        self.assertEqual(done.rc, 0, done)
        lines = done.out.split("\n")
        self.assertIn("Time resolution: 1 ms per character", lines)
        at = lines.index("STEP 5")
        self.assertEqual(lines[at + 2:at + 10], [
            "", "Total duration: 10.00 ms", "Timeline: 0 ms 10.0 ms", "          |---------|",
            "aux             ░·       ▒▒",
            "comm                ▓▓  ▓▓ ",
            "comm2               ▓▓     ",
            "main              █████    "])

    def test_same_bytes_as_json_for_any_order_of_lines(self):
        self.write(line(6, *RANGES) + line(5, *RANGES))
        _, rows = self.rows()
        self.assertEqual([r[0] for r in rows], ["6", "5"])

    def test_steps_asked_for(self):
        self.write("".join(line(i, span("a", "forward", 0, 1)) for i in range(20)))
        for options, expected in (((), range(5, 10)), (("--start-step", "0"), range(5)),
                                  (("--start-step", "18"), (18, 19)),
                                  (("--num-steps", "1"), (5,)),
                                  (("--start-step=0", "--num-steps=1000000"), range(20))):
            _, rows = self.rows(*options)
            self.assertEqual([int(r[0]) for r in rows], list(expected), options)

    def test_same_step_of_two_epochs(self):
        self.write(line(5, span("a", "forward", 0, 1), epoch=0) +
                   line(5, span("a", "forward", 1000, 1002), epoch=1))
        done = self.timeline()
        self.assertIn("\nSTEP 5 (epoch 0)\n", done.out)
        self.assertIn("\nSTEP 5 (epoch 1)\n", done.out)
        self.assertIn("Total duration: 2.00 ms", done.out)

    def test_not_a_number_is_python_s(self):
        # json.dumps writes such for a loss that diverged.
        self.write(line(5, span("a", "forward NaN \" Infinity", 0, 1), loss=float("nan"),
                        x=[float("inf"), -float("inf")]))
        done, rows = self.rows()
        self.assertEqual((done.rc, len(rows)), (0, 1), done)

    def test_bad_lines_are_named(self):
        good = line(5, span("a", "forward", 0, 1))
        self.write(good + "{broken\n" + "\n" + "[1]\n" + '{"step": "x"}\n' + '{"no": 1}\n' +
                   good[:30])
        done, rows = self.rows()
        self.assertEqual((done.rc, len(rows)), (3, 1), done)
        for number in (2, 4, 5, 6, 7):
            self.assertIn(f"rank_00_metrics.jsonl:{number}:", done.err)
        self.assertNotIn("jsonl:3:", done.err)

    def test_bad_ranges_are_named(self):
        good = span("a", "forward", 0, 1)
        bad = [{}, 3, None, {**good, "stream": 1}, {**good, "tag": ""}, {**good, "start_ms": "0"},
               {**good, "end_ms": None}, {**good, "end_ms": -1}, {**good, "end_ms": 1e300},
               {**good, "end_ms": 1e9}]
        self.write(line(5, good, *bad))
        done, rows = self.rows()
        self.assertEqual((done.rc, len(done.err.splitlines())), (3, len(bad)), done)
        self.assertEqual(rows[0][2], "1")

    def test_many_bad_lines(self):
        self.write("{\n" * 1000 + line(5, span("a", "forward", 0, 1)))
        done, _ = self.rows()
        self.assertEqual(done.rc, 3)
        self.assertEqual(len(done.err.splitlines()), 21)
        self.assertIn("980 more", done.err)

    def test_nothing(self):
        for text in ("", "\n\n", "{}\n", '{"step": 5}\n', '{"step": 5, "profile": null}\n',
                     line(5), line(4, span("a", "forward", 0, 1)), "\x00\x01", b"\xff\xfe{}"):
            self.write(text)
            done = self.timeline()
            self.assertEqual((done.rc, done.out), (1, ""), (text, done))
        done = self.timeline("--rank", "3")
        self.assertEqual(done.rc, 1)
        self.assertIn("rank_03_metrics.jsonl", done.err)
        done = trawl("sweep", "timeline", self.tmp / "nowhere")
        self.assertEqual(done.rc, 1)

    def test_no_compute(self):
        self.write(line(5, span("a", "all_reduce", 0, 1)))
        done = self.timeline()
        self.assertNotIn("Overlap ratio", done.out)
        _, rows = self.rows()
        self.assertEqual(rows[0][6], "")

    def test_all_at_one_moment(self):
        self.write(line(5, span("a", "forward", 3, 3)))
        done = self.timeline()
        self.assertEqual(done.rc, 0, done)
        self.assertIn("\na               █\n", done.out)

    def test_wide(self):
        self.write(line(5, span("a", "forward", 0, 80000000), span("a", "x", 3.9e12, 3.9e12)))
        done = self.timeline()
        self.assertEqual(done.rc, 0, done)
        self.assertLess(len(done.out), 200000)
        self.assertIn("--resolution", done.err)

    def test_names(self):
        for name in ("ü 流", "a\x1b[31mb", "x" * 300, "it's `ls` $(ls) \"q\"", "a\nb", "-", "%s%n"):
            self.write(line(5, span(name, "forward", 0, 2), span(name, name + "backward", 3, 9)))
            done = self.timeline("-o", self.tmp / "t.png", text_only=False)
            self.assertEqual(done.rc, 0, (name, done))
            self.assertNotIn("\x1b", done.out)
            self.assertTrue((self.tmp / "t.png").read_bytes().startswith(b"\x89PNG"))

    def test_picture_is_beside_the_metrics(self):
        self.write(line(5, *RANGES), rank=12)
        done = self.timeline("--rank", "12", text_only=False)
        self.assertEqual(done.rc, 0, done)
        self.assertTrue((self.tmp / "rank_12_timeline.png").exists())
        before = (self.tmp / "rank_12_timeline.png").read_bytes()
        self.timeline("--rank", "12", text_only=False)
        self.assertEqual((self.tmp / "rank_12_timeline.png").read_bytes(), before)

    def test_a_pipe_is_not_waited_for(self):
        os.mkfifo(self.tmp / "rank_00_metrics.jsonl")
        done = self.timeline()
        self.assertEqual(done.rc, 1, done)
        self.assertIn("is a FIFO", done.err)
        trial = self.tmp / "trial_1"
        trial.mkdir()
        (trial / "config.yaml").touch()
        os.mkfifo(trial / "trial_metrics.json")
        done = trawl("sweep", "trials", self.tmp)
        self.assertEqual(done.rc, 1, done)
        self.assertIn("is a FIFO", done.err)

    def test_too_many_panels(self):
        self.write("".join(line(i, span("a", "forward", 0, 1)) for i in range(50)))
        done = self.timeline("--start-step", "0", "--num-steps", "50", text_only=False)
        self.assertEqual(done.rc, 3)
        self.assertIn("the first 40 of 50 steps", done.err)
        self.assertIn("STEP 49", done.out)
        self.assertTrue((self.tmp / "rank_00_timeline.png").exists())
        done = self.timeline("--start-step", "0", "--num-steps", "50")
        self.assertEqual(done.rc, 0)

    def test_usage(self):
        for args in ((), ("a", "b"), (self.tmp, "--resolution", "0"), (self.tmp, "--resolution", "x"),
                     (self.tmp, "--resolution", "1e-9"), (self.tmp, "--num-steps", "0"),
                     (self.tmp, "--rank", "-1"), (self.tmp, "--nothing")):
            self.assertEqual(trawl("sweep", "timeline", *args).rc, 2, args)


class TestTrials(Case):
    def trial(self, name, metrics, config="a: 1\n"):
        directory = self.tmp / "t" / name
        directory.mkdir(parents=True)
        if metrics is not None:
            text = metrics if isinstance(metrics, str) else json.dumps(metrics)
            (directory / "trial_metrics.json").write_text(text)
        if config is not None:
            (directory / "config.yaml").write_text(config)

    def good(self, number, ratio, **more):
        self.trial(f"trial_{number:04}", {"overlap_ratio": ratio, "avg_compute_ms": 10.5,
                                          "avg_overlap_ms": 0.25, "num_iterations": 20, **more})

    def run_trials(self, *args):
        return trawl("sweep", "trials", self.tmp / "t", *args)

    def summary(self):
        return json.loads((self.tmp / "t/analysis_summary.json").read_text())

    def test_counts_do_not_overlap(self):
        for number, ratio in enumerate((0.007, 0.0075, 0.0065, 0.0081, 0.0059, 0.1, 0)):
            self.good(number, ratio)
        done = self.run_trials()
        self.assertEqual(done.rc, 0, done)
        self.assertIn("Trials better than baseline: 2 (28.6%)", done.out)
        self.assertIn("Trials worse than baseline: 2 (28.6%)", done.out)
        self.assertIn("Trials similar to baseline: 3 (42.9%)", done.out)
        self.assertIn("Best improvement: +1328.6% (trial 5, ratio=0.100000)", done.out)

    def test_summary_file(self):
        self.good(7, 0.25)
        self.good(3, 0.5)
        self.good(11, 0.5)
        self.run_trials()
        summary = self.summary()
        self.assertEqual(list(summary), ["total_trials", "best_trial", "worst_trial",
                                         "avg_overlap_ratio", "all_trials"])
        self.assertEqual([t["trial"] for t in summary["all_trials"]], [3, 11, 7])
        self.assertEqual(summary["best_trial"], {
            "trial": 3, "overlap_ratio": 0.5, "avg_compute_ms": 10.5, "avg_overlap_ms": 0.25,
            "num_iterations": 20})
        self.assertEqual(summary["worst_trial"]["trial"], 7)
        self.assertAlmostEqual(summary["avg_overlap_ratio"], 1.25 / 3)

    def test_fewer_than_asked_for(self):
        self.good(1, 0.5)
        done = self.run_trials("--top-n", "1000")
        self.assertIn("Top 1 trials", done.out)
        self.assertIn("Bottom 1 trials", done.out)

    def test_what_is_left_out_is_named(self):
        self.good(1, 0.5)
        self.trial("trial_0002", None)
        self.trial("trial_0003", {"overlap_ratio": 1}, config=None)
        self.trial("trial_0004", "{broken")
        self.trial("trial_0005", "")
        self.trial("trial_0006", {"avg_compute_ms": 1})
        self.trial("trial_0007", {"overlap_ratio": "1"})
        self.trial("trial_0008", '{"overlap_ratio": NaN}')
        self.trial("trial_x", {"overlap_ratio": 1})
        self.trial("trial_99999999999999999999", {"overlap_ratio": 1})
        self.trial("trial_0010", "[" * 100000)
        self.trial("other", {"overlap_ratio": 1})
        (self.tmp / "t/trial_0009").write_text("a file")
        done = self.run_trials()
        self.assertEqual(done.rc, 3, done)
        self.assertEqual(self.summary()["total_trials"], 1)
        named = [x for x in done.err.splitlines() if "skipped" in x]
        self.assertEqual(len(named), 10, done)
        for number in (*range(2, 9), 10):
            self.assertTrue(any(f"trial_{number:04}" in x for x in named), number)

    def test_what_is_not_there_is_empty(self):
        self.trial("trial_1", {"overlap_ratio": 0.5})
        done = self.run_trials("--format", "csv")
        self.assertEqual(done.rc, 0, done)
        self.assertEqual(done.out.splitlines()[1], "1,0.5,,,,better")
        self.assertIsNone(self.summary()["best_trial"]["avg_compute_ms"])
        self.assertIn("N/A", self.run_trials().out)

    def test_nothing(self):
        (self.tmp / "t").mkdir()
        done = self.run_trials()
        self.assertEqual((done.rc, done.out), (1, ""), done)
        self.trial("trial_0001", "{")
        done = self.run_trials()
        self.assertEqual((done.rc, done.out), (1, ""), done)
        self.assertIn("trial_0001", done.err)
        self.assertEqual(trawl("sweep", "trials", self.tmp / "nowhere").rc, 1)

    def test_output_elsewhere(self):
        self.good(1, 0.5)
        done = self.run_trials("-o", self.tmp / "new/dir")
        self.assertEqual(done.rc, 0, done)
        self.assertTrue((self.tmp / "new/dir/analysis_summary.json").exists())
        self.assertFalse((self.tmp / "t/analysis_summary.json").exists())

    def test_baseline(self):
        self.good(1, 0.5)
        for value, expected in (("0.5", "+0.0%"), ("1", "-50.0%"), ("0", None), ("-1", None)):
            done = self.run_trials("--baseline", value)
            self.assertEqual(done.rc, 0, done)
            if expected:
                self.assertIn(f"Best improvement: {expected}", done.out)
            else:
                self.assertNotIn("Best improvement", done.out)

    def test_usage(self):
        for args in (("--top-n", "0"), ("--top-n", "x"), ("--baseline", "x"), ("--baseline", "nan"),
                     ("--baseline", ""), ("another",)):
            self.assertEqual(self.run_trials(*args).rc, 2, args)
        self.assertEqual(trawl("sweep", "trials").rc, 2)


if __name__ == "__main__":
    unittest.main()
