"""trawl sweep run: what is run with which environment, how each run ends, and that nothing outlives it.

Commands are small shell and Python programs; docker is a stand-in that runs what it is given here.
"""
import fcntl
import json
import os
import pathlib
import pty
import shlex
import signal
import subprocess
import sys
import termios
import time
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
from support import SLOWER, TRAWL, Case, environment, trawl

ENVIRONMENT = ("RCCL_THREADS_PER_BLOCK", "NCCL_MAX_NCHANNELS", "HSA_ENABLE_SDMA",
               "PYTORCH_ROCM_PROFILER_ENABLE_TRACING")
# Writes down its arguments and environment into $RECORDS, a line of JSON each.
RECORD = """import json, os, sys
with open(os.environ["RECORDS"], "a") as f:
    f.write(json.dumps({"argv": sys.argv[1:], "env": dict(os.environ)}) + "\\n")
print("hello from", *sys.argv[1:])
"""
# As docker exec: variables by -e alone, arguments as they are; its end is not that of what it runs.
DOCKER = """import os, signal, subprocess, sys
argv = sys.argv[1:]
with open(os.environ["RECORDS"], "a") as f:
    import json
    f.write(json.dumps({"docker": argv}) + "\\n")
assert argv.pop(0) == "exec"
env = {"PATH": os.environ["PATH"], "RECORDS": os.environ["RECORDS"], "MARK": os.environ["MARK"]}
while argv[0] == "-e":
    name, value = argv[1].split("=", 1)
    env[name] = value
    del argv[:2]
assert argv.pop(0) == "box"
inner = subprocess.Popen(argv, env=env, start_new_session=True)
sys.exit(inner.wait() % 256)
"""


class Runs(Case):
    def setUp(self):
        super().setUp()
        self.bin = self.tmp / "bin"
        self.bin.mkdir()
        self.work = self.tmp / "work"
        self.work.mkdir()
        self.records = self.tmp / "records"
        self.mark = f"{os.getpid()}-{time.monotonic_ns()}"
        self.install("record", RECORD)
        self.install("docker", DOCKER)

    def tearDown(self):
        # Whatever happened: nothing that was started is there any more.
        left = self.marked()
        for pid in left:
            os.kill(pid, signal.SIGKILL)
        self.assertEqual(left, [], "processes outlived their run")
        super().tearDown()

    def marked(self):
        found = []
        for path in pathlib.Path("/proc").glob("[0-9]*/environ"):
            try:
                if f"MARK={self.mark}".encode() in path.read_bytes():
                    found.append(int(path.parent.name))
            except OSError:
                pass
        return found

    def install(self, name, text):
        path = self.bin / name
        path.write_text(f"#!{sys.executable}\n{text}")
        path.chmod(0o755)

    def env(self, **extra):
        return environment(PATH=f"{self.bin}:/usr/bin:/bin", RECORDS=self.records, MARK=self.mark,
                           **extra)

    def run_sweep(self, *args, env=None, **more):
        return trawl("sweep", "run", *args, cwd=self.work, env=env or self.env(), **more)

    def start_sweep(self, *args):
        return subprocess.Popen([TRAWL, "sweep", "run", *args], cwd=self.work, env=self.env(),
                                stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                stderr=subprocess.PIPE, text=True)

    def recorded(self):
        if not self.records.exists():
            return []
        return [json.loads(x) for x in self.records.read_text().splitlines()]

    def point(self, sweep, threads, channels):
        return self.work / sweep / f"{threads}thread" / f"nccl_{channels}channels"

    def status(self, sweep, threads, channels):
        return json.loads((self.point(sweep, threads, channels) / "run_status.json").read_text())

    def one(self, pattern, sweep="s"):
        found = sorted((self.work / sweep).glob(pattern))
        self.assertEqual(len(found), 1, found)
        return found[0].read_text()

    def wait_for(self, condition, seconds=20):
        end = time.monotonic() + seconds * SLOWER
        while not condition():
            self.assertLess(time.monotonic(), end, "nothing happened")
            time.sleep(0.01)


class TestCommand(Runs):
    def test_every_configuration_in_order(self):
        done = self.run_sweep("-c", "42,28", "-t", "512,256", "-o", "s", "--", "record")
        self.assertEqual(done.rc, 0, done)
        self.assertEqual([tuple(r["env"][v] for v in ENVIRONMENT) for r in self.recorded()],
                         [("256", "28", "0", "1"), ("256", "42", "0", "1"),
                          ("512", "28", "0", "1"), ("512", "42", "0", "1")])

    def test_nothing_else_is_set(self):
        before = self.env(NCCL_MAX_NCHANNELS="7", OTHER="kept")
        self.run_sweep("-c", "28", "-t", "256", "s", "--", "record", env=before)
        env = self.recorded()[0]["env"]
        before.update(dict(zip(ENVIRONMENT, ("256", "28", "0", "1"))))
        env.pop("_", None), before.pop("_", None)
        self.assertEqual(env, before)

    def test_trainer(self):
        self.install("torchrun", RECORD)
        self.run_sweep("-c", "28", "-t", "256", "-f", "my config.yaml", "-p", "3", "-o", "a b")
        self.assertEqual(self.recorded()[0]["argv"], [
            "--nproc_per_node", "3", "train.py", "--config", "my config.yaml", "--override",
            "profiling.tensorboard=false", "training.output_dir=a b/256thread/nccl_28channels"])

    def test_placeholders(self):
        nasty = ["{out}/x", "{threads}{channels}", "{nproc}-{config}", "{other}", "{", "{}", "", "a b",
                 "it's", "$HOME", "-x", "--", "ü\n"]
        done = self.run_sweep("-c", "1", "-t", "2", "--output-dir=s", "--config=c d", "--nproc=5",
                              "--", "record", *nasty)
        self.assertEqual(done.rc, 0, done)
        self.assertEqual(self.recorded()[0]["argv"], [
            "s/2thread/nccl_1channels/x", "21", "5-c d", "{other}", "{", "{}", "", "a b", "it's",
            "$HOME", "-x", "--", "ü\n"])

    def test_rocprof(self):
        self.install("rocprofv3", RECORD)
        out = "s/1thread/nccl_1channels/rocprof_traces"
        for options, words in (
                (("-r",), ["--kernel-trace"]),
                (("-r", "-m"), ["--kernel-trace", "--stats"]),
                (("-r", "--rocprof-input", "my in.yaml"), ["-i", "my in.yaml"]),
                (("--rocprof", "--stats", "--rocprof-input=x"), ["-i", "x"])):
            self.records.unlink(missing_ok=True)
            done = self.run_sweep("-c", "1", "-t", "1", "-o", "s", *options, "--", "prog", "a b")
            self.assertEqual(done.rc, 0, done)
            self.assertEqual(self.recorded()[0]["argv"], [*words, "-d", out, "--", "prog", "a b"])

    def test_standard_input_is_empty(self):
        done = self.run_sweep("-c", "1", "-t", "1", "s", "--", "sh", "-c", "wc -c", stdin=b"data")
        self.assertEqual(done.rc, 0)
        log = (self.point("s", 1, 1) / "run_output.log").read_text()
        self.assertEqual(log.strip(), "0")

    def test_default_directory(self):
        done = self.run_sweep("-c", "1", "-t", "1", "--", "true")
        self.assertEqual(done.rc, 0)
        names = [p.name for p in (self.work / "experiments").iterdir()]
        self.assertRegex(names[0], r"^sweep_\d{8}_\d{6}$")
        self.assertTrue((self.work / "experiments" / names[0] / "1thread/nccl_1channels").is_dir())


class TestDryRun(Runs):
    def test_commands_are_what_a_shell_takes(self):
        words = ["record", "a b", "it's", "$HOME", "`x`", "{threads}", "a\nb", "*", ""]
        done = self.run_sweep("--dry-run", "-c", "28,42", "-t", "256", "-o", "s p", "--", *words)
        self.assertEqual(done.rc, 0, done)
        self.assertFalse((self.work / "s p").exists())
        self.assertEqual(self.recorded(), [])
        subprocess.run(["sh", "-c", done.out], env=self.env(), check=True, stdout=subprocess.DEVNULL)
        ran = self.recorded()
        self.assertEqual([r["argv"] for r in ran],
                         [["a b", "it's", "$HOME", "`x`", "256", "a\nb", "*", ""]] * 2)
        self.assertEqual([r["env"]["NCCL_MAX_NCHANNELS"] for r in ran], ["28", "42"])

    def test_nothing_is_created(self):
        done = self.run_sweep("--dry-run")
        self.assertEqual(done.rc, 0)
        self.assertEqual(len(done.out.splitlines()), 8)
        self.assertEqual(list(self.work.iterdir()), [])

    def test_container(self):
        done = self.run_sweep("--dry-run", "--container", "box", "-c", "1", "-t", "2", "s", "--",
                              "prog", "x y")
        self.assertEqual(shlex.split(done.out), [
            "docker", "exec", "-e", "RCCL_THREADS_PER_BLOCK=2", "-e", "NCCL_MAX_NCHANNELS=1", "-e",
            "HSA_ENABLE_SDMA=0", "-e", "PYTORCH_ROCM_PROFILER_ENABLE_TRACING=1", "box", "prog",
            "x y"])

    def test_skipped(self):
        self.run_sweep("-c", "1", "-t", "1", "s", "--", "true")
        done = self.run_sweep("--dry-run", "-s", "-c", "1,2", "-t", "1", "s", "--", "true")
        lines = done.out.splitlines()
        self.assertEqual(lines[0], "# already succeeded: s/1thread/nccl_1channels")
        self.assertTrue(lines[1].endswith(" true"))


class TestResults(Runs):
    def test_one_fails_and_the_others_run(self):
        done = self.run_sweep("-c", "28,42", "-t", "256,512", "s", "--", "sh", "-c",
                              'echo "error of $NCCL_MAX_NCHANNELS" >&2; '
                              '[ "$NCCL_MAX_NCHANNELS" != 42 ] || exit 7')
        self.assertEqual(done.rc, 3, done)
        self.assertEqual(len(done.lines(r"FAILED.*exit code 7.*error of 42")), 2, done)
        self.assertEqual(self.status("s", 512, 42)["exit_code"], 7)
        self.assertEqual(self.status("s", 512, 28)["status"], "SUCCESS")
        log = self.one("nccl_thread_sweep_2*.log")
        self.assertIn("[OK] Completed run with THREADS=256, CHANNELS=28 (duration: 0s)", log)
        self.assertIn("[ERROR] Failed run with THREADS=512, CHANNELS=42 (exit code: 7, duration: 0s)",
                      log)
        self.assertNotIn("\x1b", log)
        for line in log.splitlines():
            self.assertRegex(line, r"^(\[\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\] .*|=== .* ===)$")

    def test_summary(self):
        self.run_sweep("-c", "28,42", "-t", "256,512", "s", "--", "sh", "-c",
                       '[ "$NCCL_MAX_NCHANNELS" != 42 ]')
        lines = self.one("nccl_thread_sweep_summary_*.txt").split("\n")
        self.assertEqual(lines[0], "NCCL Channel & Thread Sweep Summary")
        self.assertRegex(lines[1], r"^Generated: \w{3} \w{3} [ \d]\d \d\d:\d\d:\d\d UTC \d{4}$")
        self.assertEqual(lines[2:], [
            "", "THREADS    CHANNELS        STATUS     DURATION(s)    ", "-" * 52,
            "256        28              SUCCESS    0              ",
            "256        42              FAILED     0              ", "",
            "512        28              SUCCESS    0              ",
            "512        42              FAILED     0              ", "", "",
            "Output directories:", "  THREADS=256:", "    - s/256thread/nccl_28channels/",
            "    - s/256thread/nccl_42channels/", "  THREADS=512:",
            "    - s/512thread/nccl_28channels/", "    - s/512thread/nccl_42channels/", ""])

    def test_no_summary(self):
        done = self.run_sweep("-n", "-c", "1", "-t", "1", "s", "--", "true")
        self.assertEqual((done.rc, done.out), (0, ""))
        self.assertEqual(list((self.work / "s").glob("*summary*")), [])

    def test_formats(self):
        done = self.run_sweep("-c", "1,2", "-t", "3", "s", "--format", "json", "--", "sh", "-c",
                              "exit $((NCCL_MAX_NCHANNELS - 1))")
        data = json.loads(done.out)
        self.assertEqual(data["schema"], "trawl.sweep_runs/1")
        rows = [dict(zip([c["header"] for c in data["tables"][0]["columns"]], r))
                if isinstance(r, list) else r for r in data["tables"][0]["rows"]]
        self.assertEqual([(r["threads"], r["channels"], r["status"], r["exit code"]) for r in rows],
                         [(3, 1, "SUCCESS", 0), (3, 2, "FAILED", 1)])
        done = self.run_sweep("-c", "1", "-t", "3", "s", "--format=csv", "--", "true")
        self.assertEqual(done.out.splitlines()[0], "threads,channels,status,duration (s),attempts,"
                         "exit code,directory,problem")

    def test_none_succeeds(self):
        done = self.run_sweep("-c", "1,2", "-t", "1", "s", "--", "false")
        self.assertEqual(done.rc, 1, done)

    def test_ended_by_signal(self):
        done = self.run_sweep("-c", "1", "-t", "1", "s", "--", "sh", "-c", "kill -SEGV $$")
        self.assertEqual(done.rc, 1)
        status = self.status("s", 1, 1)
        self.assertEqual((status["status"], status["exit_code"], status["signal"]),
                         ("FAILED", None, 11))
        self.assertTrue(done.lines("ended by signal 11"), done)

    def test_missing_program(self):
        done = self.run_sweep("-c", "1,2", "-t", "1", "--retries", "5", "s", "--", "no such prog")
        self.assertEqual(done.rc, 1)
        self.assertEqual(len(done.lines(r"'no such prog' is not on the PATH")), 2, done)
        self.assertEqual(self.status("s", 1, 1)["attempts"], 1)

    def test_program_without_permission(self):
        path = self.work / "prog"
        path.write_text("#!/bin/sh\n")
        done = self.run_sweep("-c", "1", "-t", "1", "s", "--", "./prog")
        self.assertEqual(done.rc, 1)
        self.assertTrue(done.lines("Permission denied"), done)

    def test_binary_output(self):
        data = bytes(range(256)) * 100
        (self.work / "data").write_bytes(data)
        done = self.run_sweep("-c", "1", "-t", "1", "s", "--", "sh", "-c", "cat data; exit 3")
        self.assertEqual((self.point("s", 1, 1) / "run_output.log").read_bytes(), data)
        self.assertNotIn("\x1b", done.err)
        self.assertNotIn("\x00", done.err)

    def test_much_output(self):
        size = 100_000_000
        done = self.run_sweep("-c", "1", "-t", "1", "s", "--", "sh", "-c",
                              f"head -c {size} /dev/zero")
        self.assertEqual(done.rc, 0, done)
        self.assertEqual((self.point("s", 1, 1) / "run_output.log").stat().st_size, size)
        self.assertLess(len(done.err), 1000)

    def test_both_streams_in_order(self):
        self.run_sweep("-c", "1", "-t", "1", "s", "--", "sh", "-c",
                       "for i in 1 2 3; do echo out $i; echo err $i >&2; done; printf half")
        self.assertEqual((self.point("s", 1, 1) / "run_output.log").read_text(),
                         "out 1\nerr 1\nout 2\nerr 2\nout 3\nerr 3\nhalf")

    def test_output_is_shown_when_asked_for(self):
        for options, shown in (((), False), (("-v",), True)):
            done = self.run_sweep("-c", "1", "-t", "1", *options, "s", "--", "echo", "of the run")
            self.assertEqual("of the run" in done.err, shown)
            self.assertNotIn("of the run", done.out)
            self.assertEqual((self.point("s", 1, 1) / "run_output.log").read_text(), "of the run\n")

    def test_nobody_reads_the_messages(self):
        ours, theirs = os.pipe()
        os.close(ours)
        done = self.run_sweep("-v", "-c", "1,2", "-t", "1", "s", "--", "sh", "-c",
                              "echo of the run; yes | head -1", stderr=theirs)
        os.close(theirs)
        self.assertEqual(done.rc, 0, done)
        self.assertEqual(self.status("s", 1, 2)["status"], "SUCCESS")
        # In the run itself the signal is what it always is.
        self.run_sweep("-c", "1", "-t", "1", "s", "--", "sh", "-c", "kill -PIPE $$")
        self.assertEqual(self.status("s", 1, 1)["signal"], signal.SIGPIPE)

    def test_quiet(self):
        done = self.run_sweep("-q", "-c", "1", "-t", "1", "s", "--", "true")
        self.assertEqual(done.err, "")
        done = self.run_sweep("-q", "-c", "1", "-t", "1", "s", "--", "false")
        self.assertEqual(len(done.err.splitlines()), 1)

    def test_time_left(self):
        done = self.run_sweep("-c", "1,2,3", "-t", "1", "s", "--", "sleep", "0.5")
        self.assertEqual(len(done.lines(r"about \d+(\.\d)? s left")), 2, done)
        self.assertFalse(done.lines(r"\[3/3\].*left"))

    def test_status_file(self):
        self.run_sweep("-c", "28", "-t", "256", "s", "--", "sh", "-c", "sleep 0.2; exit 4")
        status = self.status("s", 256, 28)
        self.assertEqual(status["schema"], "trawl.sweep_run/1")
        self.assertEqual(status["command"], ["sh", "-c", "sleep 0.2; exit 4"])
        self.assertEqual(status["environment"], dict(zip(ENVIRONMENT, ("256", "28", "0", "1"))))
        self.assertRegex(status["start"], r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$")
        self.assertGreaterEqual(status["duration_s"], 0.2)
        self.assertEqual((status["threads"], status["channels"], status["attempts"]), (256, 28, 1))


class TestEnds(Runs):
    def test_timeout(self):
        began = time.monotonic()
        done = self.run_sweep("-c", "1,2", "-t", "1", "--timeout", "0.3", "s", "--", "sh", "-c",
                              'echo begun; [ "$NCCL_MAX_NCHANNELS" = 2 ] || sleep 60')
        self.assertEqual(done.rc, 3, done)
        self.assertLess(time.monotonic() - began, 20 * SLOWER)
        self.assertEqual(self.status("s", 1, 1)["status"], "TIMEOUT")
        self.assertEqual(self.status("s", 1, 2)["status"], "SUCCESS")
        self.assertTrue(done.lines(r"TIMEOUT.*longer than 0\.3 s.*begun"), done)

    def test_that_ignores_sigterm(self):
        done = self.run_sweep("-c", "1", "-t", "1", "--timeout", "0.2", "--grace", "0.3", "s", "--",
                              "sh", "-c", 'trap "" TERM; while :; do sleep 0.05; done')
        self.assertEqual(done.rc, 1, done)
        self.assertEqual(self.status("s", 1, 1)["status"], "TIMEOUT")

    def test_that_cleans_up_on_sigterm(self):
        done = self.run_sweep("-c", "1", "-t", "1", "--timeout", "0.5", "s", "--", "sh", "-c",
                              'trap "echo cleaned; exit 0" TERM; while :; do sleep 0.05; done')
        self.assertEqual(self.status("s", 1, 1)["status"], "TIMEOUT", done)
        self.assertIn("cleaned", (self.point("s", 1, 1) / "run_output.log").read_text())

    def test_that_is_stopped(self):
        self.run_sweep("-c", "1", "-t", "1", "--timeout", "0.3", "--grace", "0.3", "s", "--",
                       "sh", "-c", "kill -STOP $$")
        self.assertEqual(self.status("s", 1, 1)["status"], "TIMEOUT")

    def test_children_in_sessions_of_their_own(self):
        # As torchrun starts its workers.
        script = "setsid sleep 600 & (setsid sh -c 'sleep 601 & sleep 602' &) ; sleep 603"
        self.run_sweep("-c", "1", "-t", "1", "--timeout", "0.5", "--grace", "0.3", "s", "--",
                       "sh", "-c", script)
        self.assertEqual(self.marked(), [])

    def test_children_that_outlive_a_command_that_succeeds(self):
        done = self.run_sweep("-c", "1", "-t", "1", "s", "--", "sh", "-c",
                              "setsid sleep 600 & setsid sleep 601 & echo done")
        self.assertEqual(done.rc, 0, done)
        self.assertTrue(done.lines("2 processes still running"), done)
        self.assertEqual(self.marked(), [])

    def test_children_that_end_soon_after(self):
        done = self.run_sweep("-c", "1", "-t", "1", "s", "--", "sh", "-c",
                              "(sleep 0.2; echo late) & echo done")
        self.assertFalse(done.lines("left when"), done)
        self.assertEqual((self.point("s", 1, 1) / "run_output.log").read_text(), "done\nlate\n")

    def test_that_forks_and_forks(self):
        script = ("import os, time\n"
                  "for i in range(200):\n"
                  "    if os.fork() == 0:\n"
                  "        if i % 2: os.setsid()\n"
                  "        if i % 3 == 0 and os.fork(): os._exit(0)\n"
                  "        time.sleep(600)\n"
                  "time.sleep(600)\n")
        self.run_sweep("-c", "1", "-t", "1", "--timeout", "1", "--grace", "0.5", "s", "--",
                       sys.executable, "-c", script)
        self.assertEqual(self.marked(), [])

    def test_other_children_are_left_alone(self):
        # Of a shell that becomes trawl.
        script = (f"sleep 5 & echo $! >pid; exec {shlex.quote(str(TRAWL))} sweep run -c 1 -t 1 "
                  "--timeout 0.3 --grace 0.2 s -- sleep 60")
        subprocess.run(["sh", "-c", script], cwd=self.work, env=self.env(), check=False,
                       capture_output=False, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        pid = int((self.work / "pid").read_text())
        os.kill(pid, 0)
        os.kill(pid, signal.SIGKILL)
        self.wait_for(lambda: not self.marked())

    def test_that_closes_its_output(self):
        done = self.run_sweep("-c", "1", "-t", "1", "s", "--", "sh", "-c",
                              "echo x; exec >&- 2>&-; sleep 0.5; exit 5")
        self.assertEqual(self.status("s", 1, 1)["exit_code"], 5, done)

    def test_where_ended_children_are_ignored(self):
        done = self.run_sweep("-c", "1", "-t", "1", "s", "--", "sh", "-c", "exit 6", timeout=20,
                              preexec_fn=lambda: signal.signal(signal.SIGCHLD, signal.SIG_IGN))
        self.assertEqual(self.status("s", 1, 1)["exit_code"], 6, done)

    def test_that_leaves_its_group(self):
        script = "import os, time; os.setpgid(0, os.getppid() and os.getpgid(os.getppid())); time.sleep(600)"
        done = self.run_sweep("-c", "1", "-t", "1", "--timeout", "0.5", "--grace", "0.5", "s", "--",
                              sys.executable, "-c", script)
        self.assertEqual(self.status("s", 1, 1)["status"], "TIMEOUT", done)

    def test_when_trawl_is_killed(self):
        process = self.start_sweep("-c", "1", "-t", "1", "s", "--", "sh", "-c",
                                   "echo up; exec sleep 600")
        log = self.point("s", 1, 1) / "run_output.log"
        self.wait_for(lambda: log.exists() and log.read_text())
        process.kill()
        process.communicate()
        self.wait_for(lambda: not self.marked())
        # What is there says that it never ended, so it is run again.
        self.assertEqual(self.status("s", 1, 1)["status"], "RUNNING")
        done = self.run_sweep("-s", "-c", "1", "-t", "1", "s", "--", "true")
        self.assertEqual(self.status("s", 1, 1)["status"], "SUCCESS", done)


class TestInterrupt(Runs):
    SCRIPT = 'echo up; [ "$NCCL_MAX_NCHANNELS" = 1 ] || exec sleep 600'

    def interrupt(self, number, *options, script=None):
        process = self.start_sweep("-c", "1,2,3", "-t", "1", *options, "s", "--", "sh", "-c",
                                   script or self.SCRIPT)
        log = self.point("s", 1, 2) / "run_output.log"
        self.wait_for(lambda: log.exists() and "up" in log.read_text())
        process.send_signal(number)
        return process

    def test_signals(self):
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            process = self.interrupt(number)
            out, err = process.communicate(timeout=30 * SLOWER)
            self.assertEqual(process.returncode, 128 + number, err)
            self.assertIn("--skip-existing", err)
            self.assertIn("INTERRUPTED", out)
            self.assertEqual(self.status("s", 1, 1)["status"], "SUCCESS")
            self.assertEqual(self.status("s", 1, 2)["status"], "INTERRUPTED")
            self.assertFalse(self.point("s", 1, 3).exists())
            summary = self.one("nccl_thread_sweep_summary_*.txt")
            self.assertRegex(summary, r"1 +2 +INTERRUPTED \d")
            self.assertRegex(summary, r"1 +3 +UNKNOWN +N/A")
            self.assertIn(f"Interrupted by signal {int(number)}", self.one("nccl_thread_sweep_2*.log"))
            self.assertEqual(self.marked(), [])
            subprocess.run(["rm", "-r", self.work / "s"], check=True)

    def test_then_resumed(self):
        self.interrupt(signal.SIGINT).communicate(timeout=30 * SLOWER)
        before = (self.point("s", 1, 1) / "run_status.json").read_bytes()
        done = self.run_sweep("-s", "-c", "1,2,3", "-t", "1", "s", "--", "sh", "-c", "echo again")
        self.assertEqual(done.rc, 0, done)
        self.assertEqual((self.point("s", 1, 1) / "run_status.json").read_bytes(), before)
        self.assertEqual(len(done.lines(r"\] .*: SKIPPED")), 1)
        for channels in (2, 3):
            self.assertEqual(self.status("s", 1, channels)["status"], "SUCCESS")
        # Nothing of the first attempt is lost.
        self.assertEqual((self.point("s", 1, 2) / "run_output.1.log").read_text(), "up\n")
        self.assertEqual((self.point("s", 1, 2) / "run_output.log").read_text(), "again\n")

    def test_twice_forces(self):
        script = ('[ "$NCCL_MAX_NCHANNELS" = 1 ] || { trap "" TERM INT; echo up; '
                  'while :; do sleep 0.05; done; }')
        process = self.interrupt(signal.SIGINT, "--grace", "600", script=script)
        time.sleep(0.3)
        self.assertIsNone(process.poll())
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=30 * SLOWER)
        self.assertEqual(process.returncode, 130)

    def test_while_it_pauses(self):
        process = self.start_sweep("-c", "1,2", "-t", "1", "--pause", "600", "s", "--", "true")
        self.wait_for(lambda: (self.point("s", 1, 1) / "run_status.json").exists() and
                      self.status("s", 1, 1)["status"] == "SUCCESS")
        time.sleep(0.2)
        process.send_signal(signal.SIGTERM)
        process.communicate(timeout=30 * SLOWER)
        self.assertEqual(process.returncode, 143)

    def test_a_process_of_somebody_else_is_not_touched(self):
        other = subprocess.Popen(["sleep", "600"])
        try:
            self.interrupt(signal.SIGINT).communicate(timeout=30 * SLOWER)
            self.assertIsNone(other.poll())
        finally:
            other.kill()
            other.wait()


class TestTerminal(Runs):
    """On a terminal: a line that tells how long it has been, and Ctrl-C."""

    def start(self, *command):
        ours, theirs = pty.openpty()
        process = subprocess.Popen([TRAWL, "sweep", "run", "-c", "1,2", "-t", "1", "s", "--",
                                    *command], cwd=self.work, env=self.env(), stdin=theirs,
                                   stdout=theirs, stderr=theirs, start_new_session=True,
                                   preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0))
        os.close(theirs)
        return process, ours

    def read_until(self, file, word, seconds=20):
        text, end = "", time.monotonic() + seconds * SLOWER
        while word not in text:
            self.assertLess(time.monotonic(), end, text)
            try:
                text += os.read(file, 4096).decode()
            except OSError:
                break
        return text

    def test_progress(self):
        process, terminal = self.start("sleep", "1.2")
        text = self.read_until(terminal, "sweep_runs:")
        self.assertIn("\r[1/2] 1 threads, 1 channels: ", text)
        self.assertRegex(text, r"\r\[2/2\] 1 threads, 2 channels: \d\.?\d* s; about \d")
        self.read_until(terminal, "no such word")
        self.assertEqual(process.wait(30 * SLOWER), 0)
        os.close(terminal)

    def test_ctrl_c(self):
        process, terminal = self.start("sh", "-c", "echo up; sleep 600")
        self.read_until(terminal, "\r[1/2]")
        os.write(terminal, b"\x03")
        text = self.read_until(terminal, "UNKNOWN")
        self.assertIn("INTERRUPTED", text)
        self.read_until(terminal, "no such word")
        self.assertEqual(process.wait(30 * SLOWER), 130)
        os.close(terminal)


class TestAttempts(Runs):
    def test_until_it_succeeds(self):
        script = 'n=$(cat {out}/n || echo 0); echo attempt $n; echo $((n + 1)) >{out}/n; [ $n = 2 ]'
        done = self.run_sweep("-c", "1", "-t", "1", "--retries", "5", "s", "--", "sh", "-c", script)
        self.assertEqual(done.rc, 0, done)
        self.assertEqual(self.status("s", 1, 1)["attempts"], 3)
        directory = self.point("s", 1, 1)
        self.assertEqual([(directory / f"run_output{n}.log").read_text().splitlines()[-1]
                          for n in (".1", ".2", "")], ["attempt 0", "attempt 1", "attempt 2"])
        self.assertIn("Attempt 3 of 6", self.one("nccl_thread_sweep_2*.log"))

    def test_as_often_as_asked(self):
        done = self.run_sweep("-c", "1", "-t", "1", "--retries", "2", "--timeout", "0.2", "s", "--",
                              "sleep", "60")
        self.assertEqual(done.rc, 1)
        self.assertEqual(self.status("s", 1, 1)["attempts"], 3)
        self.assertTrue(done.lines("after 3 attempts"))


class TestSkip(Runs):
    def make(self, channels, **files):
        for name, text in files.items():
            path = self.point("s", 1, channels) / name.replace("__", "/").replace("_dot_", ".")
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)

    def skipped(self, channels):
        done = self.run_sweep("-s", "-c", channels, "-t", "1", "s", "--", "true")
        self.assertEqual(done.rc, 0, done)
        return bool(done.lines(r"\] .*: SKIPPED")), done

    def test_only_what_has_succeeded(self):
        for channels, text, expected in (
                (1, '{"status": "SUCCESS"}', True), (2, '{"status": "FAILED"}', False),
                (3, '{"status": "RUNNING"}', False), (4, '{"status": "INTER', False),
                (5, "", False), (6, "[]", False), (7, '{"status": ["SUCCESS"]}', False),
                (8, "\x00" * 50, False)):
            self.make(channels, run_status_dot_json=text)
            self.assertEqual(self.skipped(channels)[0], expected, text)

    def test_of_a_runner_without_status(self):
        log, trace = {"run_output_dot_log": "x"}, {"torch_profiler__rank0__t_dot_json": "{}"}
        rocprof = {"rocprof_traces__pass_1__1_results_dot_json": "{}"}
        for channels, files, expected in ((1, {**log, **trace}, True), (2, log, False),
                                          (3, trace, False), (4, {**log, **rocprof}, True),
                                          (5, {**log, "torch_profiler__rank0__x": ""}, False)):
            self.make(channels, **files)
            skipped, done = self.skipped(channels)
            self.assertEqual(skipped, expected, files)
            self.assertEqual(bool(done.lines("assumed done")), expected, done)

    def test_another_command_is_told(self):
        self.run_sweep("-c", "1", "-t", "1", "s", "--", "sh", "-c", "exit 0")
        skipped, done = self.skipped(1)
        self.assertTrue(skipped)
        self.assertTrue(done.lines("different command"), done)
        done = self.run_sweep("-s", "-c", "1", "-t", "1", "s", "--", "sh", "-c", "exit 0")
        self.assertFalse(done.lines("different command"), done)

    def test_without_the_option_all_is_run(self):
        for _ in range(2):
            self.run_sweep("-c", "1", "-t", "1", "s", "--", "record")
        self.assertEqual(len(self.recorded()), 2)
        self.assertEqual(len(list(self.point("s", 1, 1).glob("run_output*.log"))), 2)
        # Logs and summaries of both, even within a second.
        self.assertEqual(len(list((self.work / "s").glob("nccl_thread_sweep_2*.log"))), 2)


class TestContainer(Runs):
    def test_environment_and_words(self):
        done = self.run_sweep("--container", "box", "-c", "28", "-t", "256", "s", "--", "record",
                              "a b", "$HOME", "{out}")
        self.assertEqual(done.rc, 0, done)
        inner = [r for r in self.recorded() if "argv" in r]
        self.assertEqual(inner[0]["argv"], ["a b", "$HOME", "s/256thread/nccl_28channels"])
        self.assertEqual([inner[0]["env"][v] for v in ENVIRONMENT], ["256", "28", "0", "1"])
        self.assertNotIn("TRAWL_SWEEP_RUN", json.dumps(self.status("s", 256, 28)))

    def test_exit_status(self):
        done = self.run_sweep("--container", "box", "-c", "1", "-t", "1", "s", "--", "sh", "-c",
                              "exit 9")
        self.assertEqual(self.status("s", 1, 1)["exit_code"], 9, done)

    def test_rocprof_is_inside(self):
        self.install("rocprofv3", RECORD)
        done = self.run_sweep("--container", "box", "-r", "-c", "1", "-t", "1", "s", "--", "prog")
        self.assertEqual(done.rc, 0, done)
        words = [r["docker"] for r in self.recorded() if "docker" in r][0]
        self.assertEqual(words[words.index("box") + 1], "rocprofv3")

    def test_timeout_ends_what_is_inside(self):
        self.run_sweep("--container", "box", "-c", "1", "-t", "1", "--timeout", "1", "--grace", "1",
                       "s", "--", "sh", "-c", "setsid sleep 600 & trap '' TERM; sleep 601")
        self.assertEqual(self.status("s", 1, 1)["status"], "TIMEOUT")
        self.assertEqual(self.marked(), [])

    def test_what_outlives_its_command_is_ended(self):
        done = self.run_sweep("--container", "box", "-c", "1", "-t", "1", "s", "--", "sh", "-c",
                              "setsid sleep 600 & exit 0")
        self.assertEqual(done.rc, 0, done)
        self.assertEqual(self.marked(), [])

    def test_no_docker(self):
        env = self.env()
        env["PATH"] = str(self.tmp / "nothing")
        done = self.run_sweep("--container", "box", "-c", "1", "-t", "1", "s", "--", "x", env=env)
        self.assertEqual(done.rc, 1)
        self.assertTrue(done.lines("'docker' is not on the PATH"), done)


class TestPlaces(Runs):
    def test_a_file_in_the_way(self):
        (self.work / "s").write_text("")
        done = self.run_sweep("-c", "1", "-t", "1", "s", "--", "true")
        self.assertEqual(done.rc, 1)
        self.assertTrue(done.lines("not a directory"), done)

    def test_a_file_in_the_way_of_one(self):
        (self.work / "s/1thread").mkdir(parents=True)
        (self.work / "s/1thread/nccl_1channels").write_text("")
        done = self.run_sweep("-c", "1,2", "-t", "1", "s", "--", "true")
        self.assertEqual(done.rc, 3)
        self.assertTrue(done.lines(r"1 channels: FAILED.*not a directory"), done)
        self.assertEqual(self.status("s", 1, 2)["status"], "SUCCESS")

    def test_not_writable(self):
        done = self.run_sweep("-c", "1", "-t", "1", "/proc/s", "--", "true")
        self.assertEqual(done.rc, 1)
        self.assertIn("cannot create directory '/proc/s'", done.err)
        if os.getuid():
            (self.work / "s").mkdir()
            (self.work / "s").chmod(0o555)
            done = self.run_sweep("-c", "1", "-t", "1", "s", "--", "true")
            self.assertEqual(done.rc, 1)
            self.assertTrue(done.lines("choose a place"), done)

    def test_status_that_cannot_be_written(self):
        (self.work / "s/1thread/nccl_1channels/run_status.json").mkdir(parents=True)
        done = self.run_sweep("-c", "1", "-t", "1", "s", "--", "true")
        self.assertEqual(done.rc, 1)
        self.assertTrue(done.lines("run_status.json"), done)

    def test_names(self):
        for name in ("a b", "it's", "ü", "$x", "a;b", "-dash"):
            done = self.run_sweep("-c", "1", "-t", "1", "-o", name, "--", "sh", "-c",
                                  'echo x >"$1/written"', "sh", "{out}")
            self.assertEqual(done.rc, 0, done)
            self.assertTrue((self.point(name, 1, 1) / "written").exists())

    def test_two_at_once(self):
        first = self.start_sweep("-c", "1", "-t", "1", "s", "--", "sh", "-c", "echo up; sleep 600")
        log = self.point("s", 1, 1) / "run_output.log"
        self.wait_for(lambda: log.exists() and log.read_text())
        second = self.run_sweep("-c", "2", "-t", "1", "s", "--", "true")
        first.send_signal(signal.SIGINT)
        first.communicate(timeout=30 * SLOWER)
        self.assertEqual(second.rc, 1)
        self.assertTrue(second.lines("another 'trawl sweep run' is running"), second)
        self.assertFalse(self.point("s", 1, 2).exists())

    def test_slashes_behind(self):
        self.run_sweep("-c", "1", "-t", "1", "s//", "--", "record", "{out}")
        self.assertEqual(self.recorded()[0]["argv"], ["s/1thread/nccl_1channels"])


class TestUsage(Runs):
    def test_mistakes(self):
        for args, words in (
                (("-c", "a"), "--channels"), (("-t", "1,,2"), "--threads"), (("-c", "0"), "invalid"),
                (("-t", "-5"), "--threads"), (("-p", "0"), "--nproc"), (("-x",), "unknown option"),
                (("--timeout", "soon"), "--timeout"), (("--timeout", "-1"), "--timeout"),
                (("--timeout", "1e30"), "--timeout"), (("--retries", "x"), "--retries"),
                (("a", "b"), "one sweep"), (("a", "-o", "b"), "one sweep"),
                (("-m",), "needs --rocprof"), (("--rocprof-input", "x"), "needs --rocprof"),
                (("--container", "-x"), "starts with a dash"), (("s", "--"), "no command"),
                (("--skip-existing=1",), "takes no value"), (("-o", ""), "--output-dir")):
            done = self.run_sweep(*args)
            self.assertEqual(done.rc, 2, (args, done))
            self.assertIn(words, done.err)
            self.assertIn("trawl help", done.err)
        self.assertEqual(list(self.work.iterdir()), [])

    def test_help(self):
        done = self.run_sweep("--help")
        self.assertEqual(done.rc, 0)
        for option in ("-c, --channels", "--timeout", "--container", "--dry-run", "{threads}"):
            self.assertIn(option, done.out)


if __name__ == "__main__":
    unittest.main()
