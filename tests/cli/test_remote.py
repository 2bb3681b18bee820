"""trawl analyze --node and --container: what runs where, with which arguments.

ssh and docker are stand-ins that do as the real ones: ssh gives its arguments, joined by blanks, to
a shell; docker executes them as they are. Both write down what they got.
"""
import json
import os
import pathlib
import shlex
import signal
import subprocess
import sys
import time
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
from support import SLOWER, TRAWL, Case, environment, trawl

RECORD = """import json, os, sys
record = {"program": os.path.basename(sys.argv[0]), "argv": sys.argv[1:]}
with open(os.environ["RECORDS"], "a") as f:
    f.write(json.dumps(record) + "\\n")
argv = sys.argv[1:]
"""
SSH = RECORD + """
assert not argv[0].startswith("-")
os.execvp("sh", ["sh", "-c", " ".join(argv[1:])])
"""
DOCKER = RECORD + """
assert argv.pop(0) == "exec"
interactive = argv[0] == "-i"
if interactive:
    argv.pop(0)
else:
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
os.execvp(argv[1], argv[1:])
"""
# What trawl is there: records like the others, then ends as the test asks.
PROGRAM = RECORD + """
with open(os.environ["RECORDS"], "a") as f:
    f.write(json.dumps({"stdin": sys.stdin.read()}) + "\\n")
print("result of there")
print("message of there", file=sys.stderr)
if "DIE" in os.environ:
    os.kill(os.getpid(), int(os.environ["DIE"]))
sys.exit(int(os.environ.get("STATUS", 0)))
"""

NASTY = ["two words", "it's", 'say "so"', "$HOME", "$(touch pwned)", "`touch pwned`", "a\nb",
         "*", "?[a-z]{1,2}", "a\\b", "\\", "'", "''", '"', ";touch pwned", "&", "|cat", "<x>",
         "#c", "~", "~/x", "!!", "tab\there", "ü ß", "a=b", "=ls", "%1", "-", "--"]


class Remote(Case):
    def setUp(self):
        super().setUp()
        self.here = self.tmp / "here"   # the PATH here: ssh, docker, and trawl there
        self.here.mkdir()
        self.records = self.tmp / "records"
        self.work = self.tmp / "work"
        self.work.mkdir()
        for name, text in (("ssh", SSH), ("docker", DOCKER), ("trawl", PROGRAM)):
            self.install(name, text)

    def install(self, name, text):
        path = self.here / name
        path.write_text(f"#!{sys.executable}\n{text}")
        path.chmod(0o755)

    def run_trawl(self, *args, stdin=None, **env):
        self.records.unlink(missing_ok=True)
        path = env.pop("PATH", f"{self.here}:/usr/bin:/bin")
        return trawl(*args, stdin=stdin, cwd=self.work,
                     env=environment(PATH=path, RECORDS=self.records, **env))

    def recorded(self):
        """(program, arguments) in order, and what the run there read."""
        if not self.records.exists():
            return [], None
        records = [json.loads(x) for x in self.records.read_text().splitlines()]
        stdin = [r["stdin"] for r in records if "stdin" in r]
        return ([(r["program"], r["argv"]) for r in records if "argv" in r],
                stdin[0] if stdin else None)

    def test_node(self):
        result = self.run_trawl("analyze", "--node", "node01", "/data/trace.json")
        self.assertExit(result, 0)
        calls, stdin = self.recorded()
        self.assertEqual(calls, [("ssh", ["node01", "trawl analyze -- /data/trace.json"]),
                                 ("trawl", ["analyze", "--", "/data/trace.json"])])
        self.assertEqual(stdin, "")
        self.assertEqual((result.out, result.err), ("result of there\n", "message of there\n"))

    def test_container(self):
        self.assertExit(self.run_trawl("analyze", "--container=box", "trace.json"), 0)
        calls, _ = self.recorded()
        self.assertEqual(calls, [("docker", ["exec", "box", "trawl", "analyze", "--", "trace.json"]),
                                 ("trawl", ["analyze", "--", "trace.json"])])

    def test_container_on_a_node(self):
        self.assertExit(self.run_trawl("analyze", "--node", "user@n", "--container", "box", "t"), 0)
        calls, _ = self.recorded()
        self.assertEqual(calls, [("ssh", ["user@n", "docker exec box trawl analyze -- t"]),
                                 ("docker", ["exec", "box", "trawl", "analyze", "--", "t"]),
                                 ("trawl", ["analyze", "--", "t"])])

    def test_arguments_arrive_as_they_are(self):
        texts = " ".join(NASTY)
        options = [x for text in NASTY for x in ("--replay", text)]
        options += ["--model", texts, "-o", "$(touch pwned) " + texts, "--range=" + texts]
        for where in (["--node", "n"], ["--container", "c"], ["--node", "n", "--container", "c"]):
            for trace in (texts, "/data/it's $HOME", "--", "-x"):
                with self.subTest(where=where, trace=trace):
                    result = self.run_trawl("analyze", *where, *options, "--", trace)
                    self.assertExit(result, 0)
                    calls, _ = self.recorded()
                    self.assertEqual(calls[-1], ("trawl", ["analyze", *options, "--", trace]))
        self.assertEqual(list(self.work.iterdir()), [])

    def test_names_are_quoted(self):
        for text in (" ".join(NASTY), "`touch pwned`", "*"):
            with self.subTest(text):
                self.assertExit(self.run_trawl("analyze", "--node", text, "--container", text, "t"),
                                0)
                calls, _ = self.recorded()
                self.assertEqual(calls[0][1][0], text)
                self.assertEqual(calls[1], ("docker", ["exec", text, "trawl", "analyze", "--", "t"]))
        self.assertEqual(list(self.work.iterdir()), [])

    def test_quoting_is_that_of_a_shell(self):
        """The line that ssh gets, taken apart by a second reader of shell words."""
        self.assertExit(self.run_trawl("analyze", "--node", "n", "--model", " ".join(NASTY), "t"), 0)
        calls, _ = self.recorded()
        self.assertEqual(shlex.split(calls[0][1][1]), ["trawl", *calls[1][1]])

    def test_every_option_goes_along(self):
        options = ["--step", "3-4", "--device", "0", "--linked-only", "--platform", "MI300X", "-j4",
                   "--short-kernel-us=5", "--micro-idle-us", "2", "--clip-overruns", "-q",
                   "--format", "json", "--strict", "--replay", "aten::mm,aten::bmm", "--replay",
                   "aten::addmm", "--no-plots", "--start", "-5", "-v", "--end=7"]
        for at in range(len(options) + 1):
            # Not between an option and its value.
            if at and options[at - 1].startswith("-") and at < len(options) and \
                    not options[at].startswith("--") and options[at - 1] != "--linked-only":
                continue
            given = options[:at] + ["--node", "n"] + options[at:]
            with self.subTest(at=at):
                result = self.run_trawl("analyze", "trace", *given)
                if "there" not in result.out:
                    self.fail(str(result))
                calls, _ = self.recorded()
                self.assertEqual(calls[-1][1], ["analyze", *options, "--", "trace"])

    def test_a_value_is_no_option(self):
        result = self.run_trawl("analyze", "--model", "--node", "--container", "c", "-o", "--",
                                "trace")
        self.assertExit(result, 0)
        calls, _ = self.recorded()
        self.assertEqual(calls[-1][1], ["analyze", "--model", "--node", "-o", "--", "--", "trace"])

    def test_standard_input(self):
        """It is read there when it is the trace, and not otherwise."""
        for where, head in ((["--node", "n"], ["n"]), (["--container", "c"], ["exec", "-i", "c"])):
            self.assertExit(self.run_trawl("analyze", *where, "-", stdin=b"a trace"), 0)
            calls, stdin = self.recorded()
            self.assertEqual(stdin, "a trace", where)
            self.assertEqual(calls[0][1][:len(head)], head)
            self.assertExit(self.run_trawl("analyze", *where, "trace", stdin=b"a trace"), 0)
            self.assertEqual(self.recorded()[1], "", where)
        self.assertExit(self.run_trawl("analyze", "--node", "n", "--container", "c", "-",
                                       stdin=b"a trace"), 0)
        self.assertEqual(self.recorded()[1], "a trace")

    def test_exit_status(self):
        for where in (["--node", "n"], ["--container", "c"], ["--node", "n", "--container", "c"]):
            for status in (0, 1, 2, 3, 4):
                with self.subTest(where=where, status=status):
                    result = self.run_trawl("analyze", *where, "t", STATUS=status)
                    self.assertExit(result, status)
                    self.assertEqual(result.err, "message of there\n")

    def test_killed_by_a_signal(self):
        """The stand-ins become the run itself, so its signal is theirs."""
        for where in (["--node", "n"], ["--container", "c"]):
            result = self.run_trawl("analyze", *where, "t", DIE=signal.SIGKILL)
            self.assertExit(result, 128 + signal.SIGKILL)
            self.assertRegex(result.err, r"signal 9")

    def test_no_connection(self):
        self.install("ssh", "import sys; print('ssh: no route', file=sys.stderr); sys.exit(255)")
        result = self.run_trawl("analyze", "--node", "node01", "t")
        self.assertExit(result, 255)
        self.assertRegex(result.err, r"ssh: no route\ntrawl: .*255.*node01")

    def test_no_trawl_there(self):
        (self.here / "trawl").unlink()
        result = self.run_trawl("analyze", "--node", "node01", "t")
        self.assertExit(result, 127)
        self.assertRegex(result.err, r"trawl: .*node01.*trawl must be installed there")

    def test_no_ssh_or_docker_here(self):
        empty = self.tmp / "empty"
        empty.mkdir()
        for where, program in ((["--node", "n"], "ssh"), (["--container", "c"], "docker"),
                               (["--node", "n", "--container", "c"], "ssh")):
            result = self.run_trawl("analyze", *where, "t", PATH=str(empty))
            self.assertExit(result, 1)
            self.assertOneLine(result, program, "PATH", "install")

    def test_names_that_would_be_options(self):
        for where in (["--node", "-oProxyCommand=touch pwned"], ["--node=--help"],
                      ["--container", "-it"], ["--node", "n", "--container", "-"],
                      ["--node", ""], ["--container="]):
            with self.subTest(where):
                result = self.run_trawl("analyze", *where, "t")
                self.assertExit(result, 2)
                self.assertOneLine(result, "--(node|container)")
                self.assertEqual(self.recorded(), ([], None))
        self.assertEqual(list(self.work.iterdir()), [])

    def test_mistakes_are_found_here(self):
        for args in (["t", "--nonsense"], ["t", "u"], ["--step", "x", "t"], [],
                     ["t", "--replay", "aten::mm", "--no-replay"]):
            result = self.run_trawl("analyze", "--node", "n", *args)
            self.assertExit(result, 2)
            self.assertEqual(self.recorded(), ([], None))

    def test_help_is_given_here(self):
        result = self.run_trawl("analyze", "--node", "n", "t", "--help")
        self.assertExit(result, 0)
        self.assertRegex(result.out, "--container C")
        self.assertEqual(self.recorded(), ([], None))

    def test_signals_are_passed_on(self):
        """Who ends the program ends the run there."""
        self.install("ssh", "import os, time\n"
                     "open(os.environ['RECORDS'], 'w').write(str(os.getpid()))\ntime.sleep(60)")
        for number in (signal.SIGTERM, signal.SIGHUP):
            self.records.unlink(missing_ok=True)
            env = environment(PATH=f"{self.here}:/usr/bin:/bin", RECORDS=self.records)
            process = subprocess.Popen([TRAWL, "analyze", "--node", "n", "t"], env=env,
                                       stdin=subprocess.DEVNULL, stderr=subprocess.PIPE)
            deadline = time.monotonic() + 20 * SLOWER
            while not (self.records.exists() and self.records.read_text()):
                self.assertLess(time.monotonic(), deadline)
                time.sleep(0.02)
            process.send_signal(number)
            process.communicate(timeout=20 * SLOWER)
            self.assertEqual(process.returncode, 128 + number)
            with self.assertRaises(ProcessLookupError):
                os.kill(int(self.records.read_text()), 0)


if __name__ == "__main__":
    unittest.main()
