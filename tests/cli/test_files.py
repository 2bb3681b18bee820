"""Files that are read and written: no output replaces an input, a FIFO is not waited for, and of
what is written under another name first nothing stays, whatever ends the program.
"""
import os
import pathlib
import re
import signal
import socket
import subprocess
import sys
import time
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
from support import (SANITIZED, SLOWER, TRAWL, Case, base_events, document, environment, kernel,
                     trawl)


class Inputs(Case):
    """Exit status 2, one line that names the output, and the input as it was."""

    def setUp(self):
        super().setUp()
        self.trace = self.write(document(base_events()))
        for side in "ab":
            self.assertExit(trawl("report", self.trace, "-o", self.tmp / side, "-q"), 0)
        self.book = self.tmp / "a" / "perf_report.xlsx"
        self.csvs = self.tmp / "a" / "perf_report_csvs"

    def refused(self, *args, output, kept):
        before = kept.read_bytes()
        done = trawl(*args, cwd=self.tmp)
        self.assertAlive(done)
        self.assertExit(done, 2)
        self.assertRegex(done.err, rf"cannot write '\S*{re.escape(output)}': it is one of the ")
        self.assertEqual(kept.read_bytes(), before, f"changed\n{done}")
        self.assertEqual([p for p in self.tmp.rglob("*.trawl-*")], [])
        return done

    def test_compare_page_and_workbook(self):
        for args, output, kept in (
                ((self.book, self.book, "-o", self.book), "perf_report.xlsx", self.book),
                (("a", "b", "-o", "a/perf_report.xlsx"), "perf_report.xlsx", self.book),
                (("b", "a/perf_report.xlsx", "--xlsx", "b/perf_report.xlsx"), "perf_report.xlsx",
                 self.tmp / "b/perf_report.xlsx"),
                ((self.trace, "a", "--xlsx", self.trace), "trace.json", self.trace),
                ((self.csvs, "b", "-o", self.csvs / "ops_summary.csv"), "ops_summary.csv",
                 self.csvs / "ops_summary.csv"),
                ((self.book, "b/perf_report.xlsx", "a", "--xlsx", self.book), "perf_report.xlsx",
                 self.book)):
            with self.subTest(output=output, args=[str(a) for a in args]):
                self.refused("compare", *args, output=output, kept=kept)

    def test_links(self):
        (self.tmp / "hard").hardlink_to(self.book)
        (self.tmp / "soft").symlink_to(self.book)
        (self.tmp / "over").symlink_to("soft")
        for name in ("hard", "soft", "over", "./a/../hard"):
            with self.subTest(name):
                self.refused("compare", "a", "b", "--xlsx", name, output=name, kept=self.book)

    def test_every_command_that_writes(self):
        """The input stands where an output has its fixed name."""
        ranks = self.tmp / "ranks"
        ranks.mkdir()
        for rank in range(2):
            (ranks / f"rank{rank}.json").write_text(document(
                base_events(), distributedInfo={"rank": rank, "world_size": 2}))
        for command, inputs, name in (
                ("report", [self.trace], "perf_report.xlsx"),
                ("report", [self.trace], "perf_report_csvs/kernel_summary.csv"),
                ("report", [ranks], "perf_report_csvs/ranks.csv"),
                ("collectives", [ranks], "collective_all_ranks.xlsx"),
                ("analyze", [self.trace], "priority_data.json"),
                ("analyze", [self.trace], "perf_report.xlsx"),
                ("prepare", [self.trace], "category_manifest.json")):
            source = self.trace if inputs == [self.trace] else ranks / "rank1.json"
            out = self.tmp / f"out_{command}_{name.replace('/', '_')}_{source.name}"
            with self.subTest(command=command, name=name):
                (out / name).parent.mkdir(parents=True)
                (out / name).hardlink_to(source)
                self.refused(command, *inputs, "-o", out, output=name, kept=source)
        for output in (ranks / "rank1.json", self.tmp / "link.json"):
            with self.subTest(command="merge", output=output.name):
                if not output.exists():
                    output.symlink_to(ranks / "rank0.json")
                self.refused("merge", ranks, "-o", output, output=output.name,
                             kept=ranks / "rank0.json")

    def test_a_platform_file_is_an_input(self):
        file = self.write("{}", "platform.json")
        out = self.tmp / "c" / "perf_report.xlsx"
        out.parent.mkdir()
        out.hardlink_to(file)
        done = trawl("report", self.trace, "-o", out.parent, "--platform", file)
        self.assertNotEqual(done.rc, 0, done)
        self.assertEqual(file.read_text(), "{}")

    def test_an_output_beside_the_input_is_fine(self):
        """The directory of the input, and what an earlier run has written there."""
        before = self.trace.read_bytes()
        for _ in range(2):
            self.assertExit(trawl("analyze", self.trace, "-o", self.tmp, "-q"), 0, 3)
            self.assertExit(trawl("compare", "a", "b", "-o", "a/page.html", cwd=self.tmp), 0)
        self.assertEqual(self.trace.read_bytes(), before)


class Fifo(Case):
    """A FIFO that nobody writes to: one line, at once, wherever a name is opened."""

    def setUp(self):
        super().setUp()
        self.trace = self.write(document(base_events()))
        os.mkfifo(self.tmp / "f.json")
        os.mkfifo(self.tmp / "f.csv")
        os.mkfifo(self.tmp / "f.nsys-rep")

    def test_refused_by_every_command(self):
        trace = self.trace.name
        for args in (["report", "f.json"], ["check", "f.json"], ["analyze", "f.json"],
                     ["prepare", "f.json"], ["nsys", "ranges", "f.json"],
                     ["nsys", "setup", "f.json"], ["nsys", "setup", "f.nsys-rep"],
                     ["report", "f.nsys-rep"],
                     ["compare", "f.json", trace, "-o", "x.html"],
                     ["compare", trace, "f.csv", "-o", "x.html"],
                     ["compare", "f.js*", trace, "-o", "x.html"],
                     ["collectives", "f*.json"], ["collectives", "f.json", trace],
                     ["report", "f.json", trace], ["merge", "f.json", trace, "-o", "m.json"],
                     ["model", "aten::mm", "--dims", "2x2,2x2", "--dtype", "bf16",
                      "--platform", "f.json"],
                     ["report", trace, "--platform", "f.json"],
                     ["nsys", "windows", "f.json", "--rules", "f.json"]):
            with self.subTest(" ".join(args)):
                done = trawl(*args, cwd=self.tmp, timeout=10)
                self.assertAlive(done)
                self.assertNotEqual(done.rc, 0, done)
                self.assertRegex(done.err, r"f\.(json|csv|nsys-rep).*(FIFO|pipe|neither a file)", str(done))

    def test_pipes_without_a_name_are_read(self):
        command = 'cat trace.json | "$T" check /dev/stdin && "$T" check <(cat trace.json) && ' \
            '"$T" check /dev/fd/7 7< trace.json && "$T" check - < trace.json && ' \
            '"$T" report <(cat trace.json) -o r -q --no-xlsx && ' \
            '"$T" model aten::mm --dims 2x2,2x2 --dtype bf16 --platform <(echo "$P")'
        platform = '{"name": "Mine", "mem_bw_gbps": 1000, "max_achievable_tflops": ' \
            '{"matrix_bf16": 100}}'
        done = subprocess.run(["bash", "-c", command], cwd=self.tmp, capture_output=True, text=True,
                              env=environment(T=TRAWL, P=platform), timeout=30 * SLOWER)
        self.assertEqual(done.returncode, 0, done.stderr)

    def test_a_trace_through_a_pipe_loses_nothing(self):
        """Looking what it is takes no bytes of it: the side is whole."""
        command = '"$T" compare <(cat trace.json) trace.json -o p.html --format json'
        done = subprocess.run(["bash", "-c", command], cwd=self.tmp, capture_output=True, text=True,
                              env=environment(T=TRAWL), timeout=30 * SLOWER)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertNotRegex(done.stderr, "left out|lost|damaged")


HOST = re.sub(r"[^A-Za-z0-9.-]", "_", socket.gethostname())


def ended_process():
    child = subprocess.Popen(["true"])
    child.wait()
    return child.pid


class Temporaries(Case):
    def setUp(self):
        super().setUp()
        self.trace = self.write(document(base_events()))
        self.out = self.tmp / "out"

    def hidden(self):
        return sorted(p.name for p in self.tmp.rglob("*trawl-*"))

    def ended_by(self, number):
        """A run that is ended while it writes its workbook: the temporary files that were seen,
        its number and how it ended."""
        if not hasattr(self, "long"):
            self.long = self.write(document(
                [kernel(f"kernel {i}", 100 + 2 * i, 1, i + 1) for i in range(8000)]), "long.json")
        for _ in range(5):
            process = subprocess.Popen([str(TRAWL), "report", self.long, "-o", self.out, "-q",
                                        "--no-csv"], stdout=subprocess.DEVNULL,
                                       stderr=subprocess.DEVNULL, env=environment())
            seen = []
            while not seen and process.poll() is None:
                time.sleep(0.001)
                seen = [p.name for p in self.out.glob(".*")] if self.out.exists() else []
            process.send_signal(number)
            process.wait(timeout=20 * SLOWER)
            if seen and process.returncode < 0:
                return seen, process.pid, process.returncode
        self.fail(f"not seen at work: {process.returncode}")

    def name(self):
        """What the program calls its temporary files, up to the process."""
        seen, number, _ = self.ended_by(signal.SIGKILL)
        self.assertRegex(seen[0], rf"^\.perf_report\.xlsx\.trawl-{re.escape(HOST)}(\.\d+)?-"
                         rf"{number}-[a-z0-9]{{6}}$")
        return seen[0].rsplit("-", 2)[0].replace(".perf_report.xlsx", "")

    def test_what_ended_processes_left_is_removed(self):
        """By the next run that writes there: of this host and of a process that is no more."""
        ending = self.name()
        gone = ended_process()
        (self.out / "perf_report_csvs").mkdir(parents=True)
        stale = [self.tmp / f".m.json{ending}-{gone}-abc123",
                 self.out / f".perf_report.xlsx{ending}-{gone}-000000",
                 self.out / f".x.trawl-other-1-aaaaaa{ending}-{gone}-zzzzzz",
                 self.out / "perf_report_csvs" / f".streams.csv{ending}-{gone}-q1w2e3"]
        kept = [self.out / f".perf_report.xlsx{ending}-{os.getpid()}-abcdef",  # at work
                self.out / f".perf_report.xlsx.trawl-another-host-{gone}-abcdef",
                self.out / f".perf_report.xlsx{ending}-{gone}-abcde",
                self.out / f".perf_report.xlsx{ending}-{gone}x-abcdef",
                self.out / f"{ending[1:]}-notes.txt", self.out / ".perf_report.xlsx.trawl-abcdef"]
        for p in stale + kept:
            p.write_text("part")
        self.assertExit(trawl("report", self.trace, "-o", self.out, "-q"), 0)
        self.assertExit(trawl("merge", self.trace, "-o", self.tmp / "m.json", "-q"), 0, 3)
        self.assertEqual([p.name for p in stale if p.exists()], [])
        self.assertEqual([p.name for p in kept if not p.exists()], [])

    def test_after_a_kill_that_cannot_be_caught(self):
        self.ended_by(signal.SIGKILL)
        self.assertEqual(len(self.hidden()), 1)
        self.assertExit(trawl("report", self.trace, "-o", self.out, "-q"), 0)
        self.assertEqual(self.hidden(), [])

    def test_signals_that_end_it(self):
        """Each ends it as itself and leaves nothing."""
        numbers = [signal.SIGQUIT, signal.SIGPIPE, signal.SIGALRM, signal.SIGUSR1, signal.SIGUSR2,
                   signal.SIGXCPU, signal.SIGVTALRM, signal.SIGPROF, signal.SIGIO, signal.SIGPWR,
                   signal.SIGTERM, signal.SIGHUP, signal.SIGINT, signal.SIGRTMIN + 1,
                   signal.SIGRTMAX]
        if not SANITIZED:
            numbers += [signal.SIGABRT, signal.SIGSEGV, signal.SIGBUS, signal.SIGILL, signal.SIGFPE,
                        signal.SIGTRAP, signal.SIGSYS]
        for number in numbers:
            with self.subTest(number):
                self.assertEqual(self.ended_by(number)[2], -number)
                self.assertEqual(self.hidden(), [])

    def test_signals_that_do_not_end_it(self):
        for number in (signal.SIGCHLD, signal.SIGURG, signal.SIGWINCH, signal.SIGCONT):
            with self.subTest(number):
                process = subprocess.Popen([str(TRAWL), "check", "-"], stdin=subprocess.PIPE,
                                           stdout=subprocess.DEVNULL, env=environment())
                time.sleep(0.1 * SLOWER)
                process.send_signal(number)
                process.communicate(self.trace.read_bytes(), timeout=20 * SLOWER)
                self.assertEqual(process.returncode, 0)

    def test_a_report_at_many_moments(self):
        path = self.write(document([kernel(f"kernel {i % 997} {'n' * 40}", 100 + 2 * i, 1, i + 1)
                                    for i in range(1500 if SANITIZED else 20000)]), "long.json")
        begin = time.monotonic()
        self.assertExit(trawl("analyze", path, "-o", self.tmp / "good", "-q"), 0, 3)
        took = time.monotonic() - begin
        for i in range(4 if SANITIZED else 12):
            process = subprocess.Popen([str(TRAWL), "analyze", path, "-o", self.out, "-q"],
                                       stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                                       env=environment())
            time.sleep(took * (i + 0.5) / 12)
            process.send_signal(signal.SIGQUIT)
            process.wait(timeout=20 * SLOWER)
            self.assertEqual(self.hidden(), [], f"moment {i}")


if __name__ == "__main__":
    unittest.main()
