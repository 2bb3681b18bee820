"""Several processes: the same bytes for any number of them, and what happens when one of them is
lost, or they cannot be brought together.

Needs an MPI whose mpirun is here and which the module was built with (MPICH's, on Debian).
"""
import gzip
import os
import pathlib
import shutil
import signal
import subprocess
import time
import unittest

from support import BUILD, Case, Result, SLOWER, TRAWL, environment, tracegen, trawl

MODULE = "libtrawl_mpi.so"
MPIRUN = shutil.which("mpiexec.hydra") or shutil.which("mpirun")
RANKS = 5
# Seconds in which a run with a lost process has ended; trawl gives up on one after 10.
SOON = 30


def setUpModule():
    if MPIRUN is None:
        raise unittest.SkipTest("no mpirun here")
    if not (BUILD / MODULE).exists():
        raise AssertionError(f"an mpirun is here, and {MODULE} is not built: install libmpich-dev")


def command(processes, *args, options=(), program=TRAWL):
    return [MPIRUN, *options, "-n", str(processes), str(program), *(str(a) for a in args)]


def mpirun(processes, *args, env=None, options=(), program=TRAWL):
    line = command(processes, *args, options=options, program=program)
    done = subprocess.run(line, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, timeout=60 * SLOWER, env=env or environment())
    return Result(line, done.returncode, done.stdout, done.stderr)


def contents(directory):
    """Every file below a directory, hidden ones too, with its bytes."""
    return {str(p.relative_to(directory)): p.read_bytes()
            for p in pathlib.Path(directory).rglob("*") if p.is_file()}


def of_trawl(result):
    """What trawl itself said on stderr; mpirun has more to say when something is wrong."""
    return [x for x in result.err.splitlines() if x.startswith("trawl: ")]


class JobCase(Case):
    def setUp(self):
        super().setUp()
        self.ranks = self.tmp / "ranks"
        subprocess.run([tracegen(), "--ranks", str(RANKS), "--steps", "3", "--straggler", "1:1.5",
                        "--clock-skew-us", "300", "-o", self.ranks], check=True)

    def alone(self, *options, env=None):
        result = trawl("collectives", self.ranks, "-o", self.tmp / "alone", *options, env=env)
        return result, contents(self.tmp / "alone")

    def together(self, processes, *options, **keywords):
        out = self.tmp / f"together{processes}"
        result = mpirun(processes, "collectives", self.ranks, "-o", out, *options, **keywords)
        return result, contents(out)

    def assertSame(self, one, other):
        """Exit status, both streams and all files, but for where the files are."""
        (a, files_a), (b, files_b) = one, other
        self.assertEqual(a.rc, b.rc, f"{a}\n{b}")
        self.assertEqual(sorted(files_a), sorted(files_b), str(b))
        self.assertTrue(files_a, str(a))
        for name, data in files_a.items():
            self.assertEqual(data, files_b[name], f"{name} differs\n{b}")
        hide = [str(self.tmp / x) for x in ["alone", *(f"together{n}" for n in range(9))]]
        texts = [(r.out, r.err) for r in (a, b)]
        for path in hide:
            texts = [tuple(t.replace(path, "OUT") for t in pair) for pair in texts]
        self.assertEqual(texts[0], texts[1])


class Merge(JobCase):
    def assertMerged(self, *options, rc=0, name="merged.json"):
        alone = trawl("merge", self.ranks, "-o", self.tmp / name, *options)
        self.assertExit(alone, rc)
        merged = (self.tmp / name).read_bytes()
        for processes in (1, 2, 4, 8):
            with self.subTest(processes=processes):
                (self.tmp / name).unlink()
                got = mpirun(processes, "merge", self.ranks, "-o", self.tmp / name, *options)
                self.assertEqual((got.rc, got.out, got.err), (rc, alone.out, alone.err))
                self.assertEqual((self.tmp / name).read_bytes(), merged)
        return alone

    def test_any_number_of_processes(self):
        self.assertMerged()

    def test_everything_into_gzip_by_collectives(self):
        self.assertMerged("--keep", "all", "--align", "collectives", name="merged.json.gz")

    def test_what_is_odd(self):
        # A rank that is cut off, one with a defect to tell of, one that is none, one not there.
        path = self.ranks / "rank0_trace.json"
        path.write_bytes(path.read_bytes()[:-3000])
        path = self.ranks / "rank1_trace.json"
        path.write_text(path.read_text().replace('"dur": ', '"dur": -', 1))
        (self.ranks / "rank3_trace.json").write_text("no trace")
        (self.ranks / "rank4_trace.json").unlink()
        alone = self.assertMerged(rc=3)
        for name in ("rank0_trace", "rank1_trace", "rank3_trace"):
            self.assertIn(name, alone.err)

    def test_nothing_to_read(self):
        for path in self.ranks.iterdir():
            path.write_text("{}")
        alone = trawl("merge", self.ranks, "-o", self.tmp / "merged.json")
        self.assertExit(alone, 1)
        got = mpirun(3, "merge", self.ranks, "-o", self.tmp / "merged.json")
        self.assertEqual((got.rc, of_trawl(got)), (alone.rc, of_trawl(alone)))
        self.assertFalse((self.tmp / "merged.json").exists())

    def test_compat_is_of_one(self):
        (self.ranks / "rank0").mkdir()
        (self.ranks / "rank0_trace.json").rename(self.ranks / "rank0/trace_step19.json")
        outputs = []
        for processes in (1, 3):
            got = mpirun(processes, "merge", self.ranks, "--compat", "-n", "1", "-o",
                         self.tmp / "merged.json")
            self.assertExit(got, 0)
            outputs.append((got.out, (self.tmp / "merged.json").read_bytes()))
        self.assertEqual(outputs[0], outputs[1])


class SameBytes(JobCase):
    def test_any_number_of_processes(self):
        alone = self.alone()
        self.assertExit(alone[0], 0)
        # Eight are more than there are ranks.
        for processes in (1, 2, 4, 8):
            with self.subTest(processes=processes):
                self.assertSame(alone, self.together(processes))

    def test_a_part(self):
        # Findings have the collectives of the whole recording beside those of the part.
        for part in (("--step", "13"), ("--range", "nccl:all_reduce")):
            alone = self.alone(*part)
            self.assertExit(alone[0], 0)
            self.assertIn("what limits the run", alone[0].out)
            self.assertSame(alone, self.together(3, *part))

    def test_threads(self):
        alone = self.alone()
        for threads in (1, 2):
            with self.subTest(threads=threads):
                self.assertSame(alone, self.together(2, "-j", threads))

    def test_messages_in_pieces(self):
        # As those of more than 1 GB are: here of seven bytes.
        self.assertSame(self.alone(), self.together(3, env=environment(TRAWL_MPI_PIECE=7)))

    def test_large_traces(self):
        # Their columns grow by moving memory, which an MPI may want to have a say in.
        subprocess.run([tracegen(), "--ranks", "2", "--size", "64M", "-o", self.ranks], check=True)
        self.assertSame(self.alone(), self.together(2))

    def test_unreadable_trace(self):
        (self.ranks / "rank3_trace.json").write_text("no trace")
        (self.ranks / "rank4_trace.json").unlink()
        alone = self.alone()
        self.assertExit(alone[0], 3)
        self.assertIn("rank3_trace.json", alone[0].err)
        for processes in (2, 4):
            with self.subTest(processes=processes):
                self.assertSame(alone, self.together(processes))

    def test_nothing_to_read(self):
        for path in self.ranks.iterdir():
            path.write_text("{}")
        alone = trawl("collectives", self.ranks, "-o", self.tmp / "alone")
        self.assertExit(alone, 1)
        got = mpirun(3, "collectives", self.ranks, "-o", self.tmp / "out")
        self.assertEqual((got.rc, of_trawl(got)), (alone.rc, of_trawl(alone)))

    def test_report_of_ranks(self):
        # Each rank comes with tables of its own.
        one = trawl("report", self.ranks, "-o", self.tmp / "alone")
        two = mpirun(2, "report", self.ranks, "-o", self.tmp / "together2")
        self.assertExit(one, 0)
        self.assertSame((one, contents(self.tmp / "alone")),
                        (two, contents(self.tmp / "together2")))

    def test_paths(self):
        one = trawl("path", self.ranks, "-o", self.tmp / "alone")
        self.assertExit(one, 0)
        for n in (2, 3):
            many = mpirun(n, "path", self.ranks, "-o", self.tmp / f"together{n}")
            self.assertSame((one, contents(self.tmp / "alone")),
                            (many, contents(self.tmp / f"together{n}")))

    def test_one_trace_is_for_one(self):
        trace = self.ranks / "rank0_trace.json"
        one = trawl("report", trace, "-o", self.tmp / "alone", "--no-xlsx")
        two = mpirun(2, "report", trace, "-o", self.tmp / "together2", "--no-xlsx")
        self.assertExit(one, 0)
        self.assertSame((one, contents(self.tmp / "alone")),
                        (two, contents(self.tmp / "together2")))


class Refused(JobCase):
    def assertRefused(self, result, status, *words):
        said = of_trawl(result)
        self.assertEqual(result.rc, status, str(result))
        self.assertEqual(len(said), 1, f"want one line\n{result}")
        for word in words:
            self.assertRegex(said[0], word)
        self.assertEqual(result.out, "", str(result))
        self.assertFalse((self.tmp / "out").exists(), str(result))

    def arguments(self):
        return "collectives", self.ranks, "-o", self.tmp / "out"

    def test_usage_is_told_once(self):
        self.assertRefused(mpirun(3, "collectives"), 2)
        self.assertRefused(mpirun(3, "collectives", "--no-such"), 2, "no-such")
        self.assertRefused(mpirun(3, "collectives", self.tmp / "absent"), 1, "absent")

    def test_commands_for_one_process(self):
        self.assertRefused(mpirun(2, "check", self.ranks / "rank0_trace.json"), 2, "one process")
        help_text = mpirun(2, "help")
        self.assertExit(help_text, 0)
        self.assertEqual(help_text.out, trawl("help").out)

    def test_no_module(self):
        program = self.tmp / "bin/trawl"
        program.parent.mkdir()
        shutil.copy(TRAWL, program)
        self.assertRefused(mpirun(2, *self.arguments(), program=program), 1, MODULE,
                           "TRAWL_MPI_MODULE")
        # Where it would be installed, it is found.
        place = self.tmp / "lib/trawl" / MODULE
        place.parent.mkdir(parents=True)
        shutil.copy(BUILD / MODULE, place)
        got = mpirun(2, *self.arguments(), program=program)
        self.assertExit(got, 0)
        place.unlink()
        # One process needs none.
        for env in (environment(), environment(PMI_SIZE=1, PMI_RANK=0)):
            done = subprocess.run([program, "collectives", self.ranks, "-o", self.tmp / "one"],
                                  stdout=subprocess.DEVNULL, env=env)
            self.assertEqual(done.returncode, 0)

    def test_bad_module(self):
        text = self.tmp / "module.so"
        text.write_text("no library")
        other = BUILD / "libtrawl.so"
        for module, word in ((text, "module.so"), (self.tmp / "absent.so", "absent.so"),
                             *([(other, "version")] if other.exists() else [])):
            with self.subTest(module=module.name):
                self.assertRefused(mpirun(2, *self.arguments(),
                                          env=environment(TRAWL_MPI_MODULE=module)), 1, word)

    def test_batch_script_is_one_process(self):
        # What Slurm sets for the script itself, which is not started by srun.
        env = environment(SLURM_JOB_ID=7, SLURM_NTASKS=8, SLURM_PROCID=0, SLURM_NODEID=0,
                          SLURM_LOCALID=0)
        alone = trawl(*self.arguments(), env=env)
        self.assertExit(alone, 0)

    def test_srun_without_pmi(self):
        # As with srun --mpi=none: two processes, of which the MPI knows nothing.
        step = {"SLURM_JOB_ID": 7, "SLURM_STEP_ID": 0, "SLURM_STEP_NUM_TASKS": 2,
                "SLURM_NTASKS": 2}
        first = trawl(*self.arguments(), env=environment(SLURM_PROCID=0, **step))
        self.assertRefused(first, 1, "--mpi")
        second = trawl(*self.arguments(), env=environment(SLURM_PROCID=1, **step))
        self.assertEqual((second.rc, second.out, second.err), (1, "", ""))


class Lost(JobCase):
    """A process is killed while it reads: stopped as soon as it has a long trace open."""
    # Who reads the long trace. Collectives go by size: rank 0 to process 0, rank 2 to process 1,
    # the long trace, of few bytes, to process 2. A merge gives them out in turn.
    READER = {"collectives": 2, "merge": 1}

    def setUp(self):
        super().setUp()
        self.long = self.ranks / "rank1_trace.json"
        # 1 GiB of blanks in front of the first event, few bytes as gzip has them.
        data = self.long.read_bytes()
        at = data.index(b"[", data.index(b'"traceEvents"')) + 1
        self.long.write_bytes(gzip.compress(data[:at], 1) +
                              gzip.compress(b" " * (16 << 20)) * 64 + gzip.compress(data[at:], 1))
        self.files = [self.ranks / f"rank{r}_trace.json" for r in (0, 1, 2)]
        self.out = self.tmp / "out"

    def start(self, name="collectives", arguments=(), **keywords):
        line = command(3, name, *self.files, "-o", self.out, *arguments, **keywords)
        # Into files, not pipes: of mpirun's children some may live on for a moment.
        self.said = [open(self.tmp / name, "w+b") for name in ("stdout", "stderr")]
        self.line = line
        process = subprocess.Popen(line, stdin=subprocess.DEVNULL, stdout=self.said[0],
                                   stderr=self.said[1], env=environment())
        self.addCleanup(self.end)
        self.addCleanup(process.kill)
        deadline = time.monotonic() + SOON * SLOWER
        pids = {}
        while not self.reads(pids.get(self.READER[name])):
            self.assertIsNone(process.poll(), "ended before it was seen to read")
            self.assertLess(time.monotonic(), deadline, "nobody reads")
            if len(pids) < 3:
                pids = self.pids()
            time.sleep(0.001)
        os.kill(pids[self.READER[name]], signal.SIGSTOP)
        self.assertTrue(self.reads(pids[self.READER[name]]), "has read it already")
        return process

    def reads(self, pid):
        """Whether a process has the long trace open."""
        try:
            return pid is not None and any(os.readlink(f"/proc/{pid}/fd/{fd}") == str(self.long)
                                           for fd in os.listdir(f"/proc/{pid}/fd"))
        except OSError:  # a file that was closed, or a process that ended
            return False

    def end(self):
        """Of a test that failed: what is stopped would stay."""
        for pid in self.pids().values():
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                pass

    def pids(self):
        """Process ids by number in the run."""
        found = {}
        for pid in filter(str.isdigit, os.listdir("/proc")):
            try:
                words = pathlib.Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")
                if words[0] != str(TRAWL).encode() or str(self.out).encode() not in words:
                    continue
                for e in pathlib.Path(f"/proc/{pid}/environ").read_bytes().split(b"\0"):
                    if e.startswith(b"PMI_RANK="):
                        found[int(e[9:])] = int(pid)
            except OSError:
                continue
        return found

    def finish(self, process):
        rc = process.wait(timeout=SOON * SLOWER)
        texts = []
        for f in self.said:
            f.seek(0)
            texts.append(f.read())
            f.close()
        return Result(self.line, rc, *texts)

    def kill(self, number, victim):
        """Whether mpiexec failed, and how often it said why."""
        process = self.start()
        pids = self.pids()
        self.assertEqual(sorted(pids), [0, 1, 2])
        os.kill(pids[victim], number)
        if (victim, number) == (self.READER["collectives"], signal.SIGTERM):
            os.kill(pids[victim], signal.SIGCONT)  # until then it waits
        result = self.finish(process)
        # MPICH ends all of them and says why, on either stream; trawl says nothing.
        self.assertEqual(of_trawl(result), [], str(result))
        self.assertFalse(self.out.exists(), str(result))
        self.assertFalse(self.pids(), "still there")
        said = [x for x in (result.out + result.err).splitlines() if f"(signal {int(number)})" in x]
        return result.rc != 0, len(said)

    def test_killed(self):
        for number in (signal.SIGKILL, signal.SIGTERM):
            for victim in (0, 1, 2):
                with self.subTest(signal=number.name, process=victim):
                    # mpiexec of MPICH 4.2 loses status and message at times, whatever was killed.
                    said = []
                    while len(said) < 4 and (True, 1) not in said:
                        said.append(self.kill(number, victim))
                    self.assertIn((True, 1), said)

    def lose(self, victim, name="collectives", arguments=()):
        """A run that goes on without a process; the others' exit statuses, what was said."""
        # MPICH's mpirun leaves the others alone when asked to; as one of 4.0 often ends them all
        # the same when the process was its child, there is a shell between them.
        status = self.tmp / "status"
        between = self.tmp / "between.sh"
        between.write_text(f"#!/bin/sh\ntrap '' USR1 PIPE\n'{TRAWL}' \"$@\"\n"
                           f"echo $? > '{status}'$PMI_RANK\n")
        between.chmod(0o755)
        process = self.start(name, arguments, options=("-disable-auto-cleanup",),
                             program=between)
        os.kill(self.pids()[victim], signal.SIGKILL)
        result = self.finish(process)
        self.assertEqual(pathlib.Path(f"{status}0").read_text().strip(), "3", str(result))
        return result

    def test_others_go_on(self):
        result = self.lose(2)
        said = [x for x in of_trawl(result) if "process 2 of 3 was lost" in x]
        self.assertEqual(len(said), 1, str(result))
        self.assertIn(self.long.name, said[0])
        # As if that trace had not been readable.
        self.long.unlink()
        self.long.write_text("no trace")
        alone = trawl("collectives", *self.files, "-o", self.tmp / "alone")
        self.assertExit(alone, 3)
        self.assertEqual(sorted(contents(self.tmp / "alone")), sorted(contents(self.out)))
        self.assertEqual(result.out, alone.out)

    def test_others_go_on_merging(self):
        self.out = self.tmp / "merged.json"
        # Clocks that are not moved: what is not there any more tells no base time.
        result = self.lose(1, "merge", ("--align", "none"))
        said = [x for x in of_trawl(result) if "process 1 of 3 was lost" in x]
        self.assertEqual(len(said), 1, str(result))
        self.assertIn(self.long.name, said[0])
        self.long.unlink()
        self.long.write_text("no trace")
        alone = trawl("merge", *self.files, "-o", self.tmp / "alone.json", "--align", "none")
        self.assertExit(alone, 3)
        self.assertEqual(self.out.read_bytes(), (self.tmp / "alone.json").read_bytes())
        self.assertEqual(result.out, alone.out)


if __name__ == "__main__":
    unittest.main()
