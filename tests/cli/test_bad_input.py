"""Wrong input, wrong usage, wrong places to write: one clear line, the right exit status, and no
half-written file."""
import gzip
import os
import pathlib
import pwd
import signal
import stat
import subprocess
import sys
import threading
import time
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
from support import (BASE, BASE_HEAD, SANITIZED, SLOWER, TRAWL, Case, base_events, document,
                     environment, kernel, op, report, trawl)

ROOT_USER = os.geteuid() == 0


class Bad(Case):
    def setUp(self):
        super().setUp()
        self.trace = self.write(document(base_events()))
        self.out = self.tmp / "out"

    def refused(self, path, *words, options=(), out=None):
        rep = report(path, out or self.out, *options)
        self.assertAlive(rep)
        self.assertExit(rep, 1)
        self.assertOneLine(rep, *words, file=path)
        if out is None:
            self.assertFalse(self.out.exists() and any(self.out.rglob("*")), rep.files())
        return rep

    def mount(self, options):
        """A small tmpfs, where that is allowed."""
        if not ROOT_USER:
            self.skipTest("mounting a small file system needs root")
        where = self.tmp / "mnt"
        where.mkdir()
        done = subprocess.run(["mount", "-t", "tmpfs", "-o", options, "trawl-test", str(where)],
                              capture_output=True, text=True)
        if done.returncode:
            self.skipTest(f"mount is not allowed here: {done.stderr.strip()}")
        self.addCleanup(subprocess.run, ["umount", str(where)], check=True)
        return where


class Input(Bad):
    def test_missing_file(self):
        self.refused(self.tmp / "absent.json", "(?i)no such file")

    def test_missing_directory_on_the_way(self):
        self.refused(self.tmp / "no" / "such" / "trace.json", "(?i)no such file")

    def test_directory(self):
        where = self.tmp / "traces"
        where.mkdir()
        self.refused(where, "(?i)directory")

    def test_name_too_long(self):
        self.refused(self.tmp / ("x" * 300), "(?i)name too long")

    def test_control_characters_of_a_file_name_are_escaped(self):
        rep = report(self.tmp / "a\x1b[31mb\nc", self.out)
        self.assertExit(rep, 1)
        self.assertNotIn("\x1b", rep.err)
        self.assertEqual(len(rep.err.strip().splitlines()), 1, str(rep))

    def test_empty(self):
        self.refused(self.write(b"", "empty_one.json"), "empty")

    def test_empty_standard_input(self):
        rep = report("-", self.out, stdin=b"")
        self.assertExit(rep, 1)
        self.assertOneLine(rep, "empty")
        self.assertNothingWritten(rep)

    def test_dev_null(self):
        rep = report("/dev/null", self.out)
        self.assertExit(rep, 1)
        self.assertNothingWritten(rep)

    def test_not_json(self):
        self.refused(self.write("<html>\n", "page.json"), "<")

    def test_json_without_events(self):
        self.refused(self.write('{"a": [1, 2, 3]}', "other.json"), "traceEvents|no ")

    def test_cpu_only(self):
        rep = report(self.write(document([op("aten::mm", 1, 5)])), self.out)
        self.assertExit(rep, 0)
        self.assertRegex(rep.out + rep.err, "no GPU events")
        self.assertTrue(rep.table("cpu_ops"))

    def test_truncated_gzip(self):
        data = gzip.compress(document(base_events()).encode(), 0)
        rep = report(self.write(data[:data.index(b"elementwise")], "t.json.gz"), self.out)
        self.assertExit(rep, 3)
        self.assertFigures(rep, BASE_HEAD)
        self.assertEqual(len(rep.lines("truncat|ends")), 1, str(rep))

    def test_unreadable(self):
        self.trace.chmod(0)
        self.addCleanup(self.trace.chmod, 0o600)
        who = {}
        if ROOT_USER:
            nobody = pwd.getpwnam("nobody").pw_uid
            who = {"user": nobody, "group": 65534, "extra_groups": []}
            self.tmp.chmod(0o777)
            probe = subprocess.run([str(TRAWL), "--version"], capture_output=True, **who) \
                if self.reachable() else None
            if probe is None or probe.returncode:
                self.skipTest("user nobody cannot run the program where it lies")
        result = trawl("report", self.trace, "-o", self.out, **who)
        self.assertExit(result, 1)
        self.assertOneLine(result, "(?i)permission denied", file=self.trace)
        self.assertFalse(self.out.exists())

    def reachable(self):
        """May everybody execute the program, and pass every directory above it?"""
        return all(p.stat().st_mode & stat.S_IXOTH for p in [TRAWL, *TRAWL.parents])

    def test_proc_mem_read_error(self):
        """A file that opens but cannot be read: the error of the read is told."""
        rep = report("/proc/self/mem", self.out)
        self.assertExit(rep, 1)
        self.assertOneLine(rep, "(?i)(input/output error|read)")
        self.assertNothingWritten(rep)


class Usage(Bad):
    def usage(self, *args):
        result = trawl(*args)
        self.assertAlive(result)
        self.assertExit(result, 2)
        self.assertEqual(result.out, "", str(result))
        self.assertRegex(result.err, r"\S")
        self.assertLessEqual(len(result.err.splitlines()), 40)
        self.assertFalse(self.out.exists(), "wrong usage wrote something")
        return result

    def test_no_command(self):
        self.usage()

    def test_unknown_command(self):
        self.assertIn("frobnicate", self.usage("frobnicate").err)

    def test_no_argument(self):
        self.usage("report")
        self.usage("check")

    def test_unknown_option(self):
        self.assertIn("--frobnicate", self.usage("report", "--frobnicate", self.trace).err)
        self.usage("report", "-Z", self.trace)
        self.usage("--frobnicate")

    def test_option_without_its_value(self):
        for option in ("-o", "-j", "--top-ops", "--micro-idle-us"):
            with self.subTest(option):
                self.usage("report", self.trace, option)

    def test_bad_option_values(self):
        for option in ("-j-3", "-jmany", "--top-ops=x", "--top-ops=-1", "--format=pdf",
                       "--short-kernel-us=abc", "--short-kernel-us=-5", "--micro-idle-us=",
                       "--micro-idle-us=nan", "--device=gpu", "--step=x", "--step=5-2",
                       "--start=soon", "--start=20", "-j99999999999999999999"):
            with self.subTest(option):
                # --start=20 --end=10: a window that ends before it starts.
                more = ("--end=10",) if option == "--start=20" else ()
                self.out = self.tmp / f"out {option}"
                self.usage("report", self.trace, "-o", self.out, option, *more)

    def test_value_for_an_option_that_takes_none(self):
        self.usage("report", self.trace, "-o", self.out, "--no-xlsx=yes")

    def test_no_outputs_at_all(self):
        """--no-xlsx --no-csv leaves the summary: that is allowed and writes nothing."""
        rep = report(self.trace, self.out, "--no-csv")
        self.assertExit(rep, 0)
        self.assertNothingWritten(rep)
        self.assertRegex(rep.out, r"\S")

    def test_help_and_version(self):
        for args in (("--help",), ("-h",), ("help",), ("help", "report"), ("report", "--help"),
                     ("--version",)):
            with self.subTest(args):
                result = trawl(*args)
                self.assertExit(result, 0)
                self.assertRegex(result.out, r"\S")
                self.assertEqual(result.err, "")
        self.assertExit(trawl("help", "frobnicate"), 2)

    def test_absent_device_step_and_range(self):
        for option in ("--device=9", "--step=77", "--range=no_such_range"):
            with self.subTest(option):
                rep = report(self.trace, self.tmp / "o", option)
                self.assertAlive(rep)
                self.assertExit(rep, 1, 2)
                self.assertRegex(rep.err, r"9|steps?|no_such_range")
                self.assertNothingWritten(rep)


class Output(Bad):
    def unwritable(self, out, *words, options=(), xlsx=True):
        rep = report(self.trace, out, *options, xlsx=xlsx)
        self.assertAlive(rep)
        self.assertExit(rep, 1)
        lines = [x for x in rep.err.splitlines() if x.strip()]
        self.assertEqual(len(lines), 1, str(rep))
        for w in words:
            self.assertRegex(lines[0], w)
        return rep

    def test_output_directory_is_a_file(self):
        place = self.write("something", "place")
        self.unwritable(place, "place", "(?i)(not a directory|file exists|is a file)")
        self.assertEqual(place.read_text(), "something", "an existing file was touched")

    def test_file_on_the_way_to_the_output_directory(self):
        place = self.write("something", "place")
        self.unwritable(place / "below" / "it", "place", "(?i)not a directory")
        self.assertEqual(place.read_text(), "something")

    def test_csv_directory_is_a_file(self):
        self.out.mkdir()
        (self.out / "perf_report_csvs").write_text("mine")
        self.unwritable(self.out, "perf_report_csvs")
        self.assertEqual((self.out / "perf_report_csvs").read_text(), "mine")

    def test_workbook_name_is_a_directory(self):
        (self.out / "perf_report.xlsx").mkdir(parents=True)
        rep = self.unwritable(self.out, "perf_report.xlsx")
        self.assertTrue((self.out / "perf_report.xlsx").is_dir())
        self.assertNoLeftovers(rep)

    def test_proc(self):
        self.unwritable("/proc/trawl_out", "(?i)(no such file|permission|not permitted)")

    def test_read_only_file_system(self):
        where = self.mount("size=1m,ro")
        self.unwritable(where / "out", "(?i)read-only")

    def test_full_file_system(self):
        where = self.mount("size=16k")
        rep = self.unwritable(where / "out", "(?i)no space left", xlsx=False)
        self.assertNoLeftovers(rep)
        self.assertWholeCsvs(rep)

    def test_full_file_system_workbook(self):
        where = self.mount("size=64k")
        big = document([kernel(f"kernel number {i} of many, with a long name {'x' * 200}",
                               100 + i, 1, i + 1) for i in range(3000)])
        self.trace.write_text(big)
        rep = self.unwritable(where / "out", "(?i)no space left")
        self.assertNoLeftovers(rep)
        self.assertWholeCsvs(rep)

    def assertNoLeftovers(self, rep):
        extra = [f for f in rep.files()
                 if not (f.startswith("perf_report_csvs/") and f.endswith(".csv"))
                 and f != "perf_report.xlsx"]
        self.assertEqual(extra, [], "temporary files left behind")

    def assertWholeCsvs(self, rep):
        """Whatever CSV is there is the one that an undisturbed run writes."""
        good = report(self.trace, self.tmp / "good")
        self.assertExit(good, 0)
        for f in rep.files():
            if f.endswith(".csv"):
                self.assertEqual((rep.dir / f).read_bytes(), (good.dir / f).read_bytes(), f)

    def test_full_standard_output(self):
        with open("/dev/full", "wb") as full:
            for args in (("report", self.trace, "-o", self.out), ("check", self.trace),
                         ("--help",), ("--version",)):
                with self.subTest(args[0]):
                    result = trawl(*args, stdout=full)
                    self.assertExit(result, 1)
                    self.assertRegex(result.err, "(?i)no space left")

    def test_closed_standard_output(self):
        done = subprocess.run(f'"{TRAWL}" check "{self.trace}" >&-', shell=True,
                              capture_output=True, text=True, env=environment())
        self.assertEqual(done.returncode, 1, done.stderr)

    def test_closed_pipe(self):
        done = subprocess.run(f'("{TRAWL}" help report; echo "rc $?" >&2) | true', shell=True,
                              capture_output=True, text=True, env=environment())
        self.assertNotRegex(done.stderr, "rc 139|rc 134|Sanitizer")

    def test_output_is_created_with_its_parents(self):
        rep = report(self.trace, self.tmp / "a" / "b" / "c", xlsx=True)
        self.assertExit(rep, 0)
        self.assertIn("perf_report.xlsx", rep.files())

    def test_nothing_existing_is_deleted(self):
        self.out.mkdir()
        (self.out / "perf_report_csvs").mkdir()
        for name in ("notes.txt", "perf_report_csvs/mine.csv", "perf_report_csvs/notes.txt"):
            (self.out / name).write_text("mine")
        rep = report(self.trace, self.out)
        self.assertExit(rep, 0)
        for name in ("notes.txt", "perf_report_csvs/mine.csv", "perf_report_csvs/notes.txt"):
            self.assertEqual((self.out / name).read_text(), "mine")

    def test_again_over_the_same_directory(self):
        first = report(self.trace, self.out, xlsx=True)
        before = {f: (self.out / f).read_bytes() for f in first.files()}
        again = report(self.trace, self.out, xlsx=True)
        self.assertExit(again, 0)
        self.assertEqual({f: (self.out / f).read_bytes() for f in again.files()}, before)

    def test_failure_leaves_the_earlier_report(self):
        first = report(self.trace, self.out, xlsx=True)
        self.assertExit(first, 0)
        before = {f: (self.out / f).read_bytes() for f in first.files()}
        bad = report(self.write("{}", "bad.json"), self.out, xlsx=True)
        self.assertExit(bad, 1)
        self.assertEqual({f: (self.out / f).read_bytes() for f in bad.files()}, before)


class Interrupted(Bad):
    """SIGINT (and SIGTERM) at any moment: outputs are whole or absent, nothing is left beside."""

    def start(self, path, stdin):
        return subprocess.Popen([str(TRAWL), "report", str(path), "-o", str(self.out)],
                                stdin=stdin, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                env=environment())

    def assertInterrupted(self, process, number=signal.SIGINT, finished=False):
        try:
            out, err = process.communicate(timeout=20 * SLOWER)
        except subprocess.TimeoutExpired:
            process.kill()
            process.communicate()
            self.fail("still running 20 s after the signal")
        allowed = [-number, 128 + number] + ([0] if finished else [])
        self.assertIn(process.returncode, allowed, err.decode("utf-8", "replace"))

    def blocked(self, number):
        """A run that waits for more of its input when the signal comes."""
        process = self.start("-", subprocess.PIPE)
        text = document(base_events())
        process.stdin.write(text[:text.rindex("}}")].encode())
        process.stdin.flush()
        time.sleep(0.3 * SLOWER)
        self.assertIsNone(process.poll(), "ended although its input goes on")
        process.send_signal(number)
        process.wait(timeout=20 * SLOWER)
        process.stdin.close()
        process.stdin = None
        self.assertInterrupted(process, number)
        self.assertFalse(self.out.exists() and any(self.out.rglob("*")), "files left behind")

    def test_while_reading_standard_input(self):
        self.blocked(signal.SIGINT)

    def test_terminated_while_reading(self):
        self.blocked(signal.SIGTERM)

    def test_earlier_report_survives(self):
        first = report(self.trace, self.out, xlsx=True)
        before = {f: (self.out / f).read_bytes() for f in first.files()}
        process = self.start("-", subprocess.PIPE)
        process.stdin.write(b'{"traceEvents": [')
        process.stdin.flush()
        time.sleep(0.3 * SLOWER)
        process.send_signal(signal.SIGINT)
        process.wait(timeout=20 * SLOWER)
        process.stdin.close()
        process.stdin = None
        self.assertInterrupted(process)
        after = {str(p.relative_to(self.out)): p.read_bytes() for p in self.out.rglob("*")
                 if p.is_file()}
        self.assertEqual(after, before)

    def test_at_many_moments(self):
        """Over a run of some tenths of a second: each output that is there is the whole one."""
        count = 1500 if SANITIZED else 40000
        path = self.write(document([kernel(f"kernel {i % 997} {'n' * 40}", 100 + 2 * i, 1, i + 1)
                                    for i in range(count)]), "long.json")
        begin = time.monotonic()
        good = report(path, self.tmp / "good", xlsx=True)
        took = time.monotonic() - begin
        self.assertExit(good, 0)
        whole = {f: (good.dir / f).read_bytes() for f in good.files()}
        moments = 6 if SANITIZED else 25
        seen = set()
        for i in range(moments):
            process = self.start(path, subprocess.DEVNULL)
            time.sleep(took * (i + 0.5) / moments)
            process.send_signal(signal.SIGINT)
            self.assertInterrupted(process, finished=True)
            files = {str(p.relative_to(self.out)): p.read_bytes()
                     for p in self.out.rglob("*") if p.is_file()} if self.out.exists() else {}
            self.assertEqual(set(files) - set(whole), set(), f"left beside, moment {i}")
            self.assertEqual([f for f in files if files[f] != whole[f]], [], f"moment {i}")
            seen.add(process.returncode)
            for p in sorted(self.out.rglob("*"), reverse=True) if self.out.exists() else []:
                p.rmdir() if p.is_dir() else p.unlink()
        self.assertTrue(seen & {-signal.SIGINT, 130}, f"no run was interrupted: {seen}")


class Standard(Bad):
    def test_default_place_is_beside_the_input(self):
        where = self.tmp / "somewhere"
        where.mkdir()
        path = self.write(document(base_events()), "somewhere/trace.json")
        result = trawl("report", path, "--no-xlsx", cwd=self.tmp)
        self.assertExit(result, 0)
        self.assertTrue((where / "analysis_output/perf_report_csvs/gpu_timeline.csv").exists())

    def test_default_place_for_standard_input_is_here(self):
        here = self.tmp / "here"
        here.mkdir()
        result = trawl("report", "-", "--no-xlsx", stdin=self.trace.read_bytes(), cwd=here)
        self.assertExit(result, 0)
        self.assertTrue((here / "analysis_output/perf_report_csvs/gpu_timeline.csv").exists())

    def test_standard_input_in_drops(self):
        """A slow pipe: a few bytes at a time."""
        process = subprocess.Popen([str(TRAWL), "report", "-", "-o", str(self.out)],
                                   stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                   stderr=subprocess.PIPE, env=environment())
        data = self.trace.read_bytes()

        def feed():
            for i in range(0, len(data), 97):
                process.stdin.write(data[i:i + 97])
                process.stdin.flush()
            process.stdin.close()
        feeder = threading.Thread(target=feed)
        feeder.start()
        out, err = process.stdout.read(), process.stderr.read()
        feeder.join()
        self.assertEqual(process.wait(), 0, err)
        process.stdout.close()
        process.stderr.close()
        again = report(self.trace, self.tmp / "again")
        self.assertFigures(again, BASE)
        self.assertEqual((self.out / "perf_report_csvs/gpu_timeline.csv").read_bytes(),
                         (again.csvs / "gpu_timeline.csv").read_bytes())

    def test_quiet(self):
        rep = report(self.trace, self.out, "-q")
        self.assertExit(rep, 0)
        self.assertEqual(rep.err, "")

    def test_strict(self):
        rep = report(self.trace, self.out, "--strict")
        self.assertExit(rep, 0)
        bad = self.write(document(base_events()).replace("\n  ]\n", ",\n  ]\n"), "comma.json")
        self.assertExit(report(bad, self.tmp / "o1"), 0)
        strict = report(bad, self.tmp / "o2", "--strict")
        self.assertExit(strict, 1)
        self.assertRegex(strict.err, "comma")
        self.assertNothingWritten(strict)


if __name__ == "__main__":
    unittest.main()
