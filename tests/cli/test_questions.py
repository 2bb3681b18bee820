"""The questions that trawl analyze asks on a terminal, and what becomes of the answers."""
import os
import pathlib
import pty
import re
import select
import signal
import subprocess
import sys
import time
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
from support import ROOT, SLOWER, TRAWL, Case, environment, trawl
from test_platforms import FIXED

# The end of each prompt, in the order of the users' document "standalone analysis", step 0.
PROMPTS = ["Trace file path: ", "Platform (MI300X/MI325X/MI355X/MI400): ", "Cluster name: ",
           "Container name: ", "Output directory (optional): "]
WORDS = ["Please provide the full path to your PyTorch trace file (.json or .json.gz)",
         "Which AMD platform are you analyzing?",
         "Which cluster should we use for analysis? (e.g., node01)",
         "Which Docker container has trawl installed? (e.g., my_container)",
         "Where should we save analysis results? (Press Enter for default: "]
# ssh and docker as far as these tests need them: they print what they were asked to run.
STAND_IN = '#!/bin/sh\nprintf "[%s]" "${0##*/}" "$@"\necho\n'


class Terminal:
    """A program on a terminal of its own, which is answered as a person would."""

    def __init__(self, args, env, cwd):
        self.master, slave = pty.openpty()
        self.out_read, out_write = os.pipe()
        self.process = subprocess.Popen([str(TRAWL), *map(str, args)], stdin=slave, stderr=slave,
                                        stdout=out_write, env=env, cwd=cwd, start_new_session=True)
        os.close(slave)
        os.close(out_write)
        self.shown, self.at = "", 0

    def read(self, until, seconds=20):
        """What is shown from here to the text `until`, None: to the end."""
        deadline = time.monotonic() + seconds * SLOWER
        while until is None or until not in self.shown[self.at:]:
            ready, _, _ = select.select([self.master], [], [], max(0, deadline - time.monotonic()))
            if not ready:
                raise AssertionError(f"no {until!r} in {self.shown[self.at:]!r}")
            try:
                data = os.read(self.master, 4096)
            except OSError:  # the other side is closed
                data = b""
            if not data:
                if until is None:
                    break
                raise AssertionError(f"ended before {until!r}: {self.shown[self.at:]!r}")
            self.shown += data.decode().replace("\r\n", "\n")
        end = len(self.shown) if until is None else self.shown.index(until, self.at) + len(until)
        text, self.at = self.shown[self.at:end], end
        return text

    def answer(self, text):
        os.write(self.master, (text + "\n").encode())

    def end(self):
        """Exit status, stdout, and what was still shown."""
        rest = self.read(None)
        with os.fdopen(self.out_read, "rb") as f:
            out = f.read().decode()
        os.close(self.master)
        return self.process.wait(20 * SLOWER), out, rest


class Questions(Case):
    def setUp(self):
        super().setUp()
        self.bin = self.tmp / "bin"
        self.bin.mkdir()
        for name in ("ssh", "docker"):
            (self.bin / name).write_text(STAND_IN)
            (self.bin / name).chmod(0o755)
        self.home = self.tmp / "home"
        self.home.mkdir()
        self.trace = self.tmp / "my trace.json"
        self.trace.write_text("no trace at all")

    def start(self, *args):
        env = environment(PATH=f"{self.bin}:/usr/bin:/bin", HOME=self.home, TERM="dumb")
        terminal = Terminal(["analyze", *args], env, self.tmp)
        self.addCleanup(terminal.process.kill)
        return terminal

    def ask(self, *args, answers, prompts=None):
        """Answers all questions; (status, stdout, rest, all that was shown)."""
        terminal = self.start(*args)
        for prompt, answer in zip(prompts or PROMPTS, answers, strict=True):
            terminal.read(prompt)
            terminal.answer(answer)
        return (*terminal.end(), terminal.shown)

    def words(self, out):
        return re.findall(r"\[(.*?)\]", out, re.S)

    def test_the_five_questions(self):
        status, out, _, shown = self.ask(answers=["/data/trace.json", "", "node01", "box", ""])
        self.assertEqual((status, out), (
            0, "[ssh][node01][docker exec box trawl analyze -- /data/trace.json]\n"))
        at = [shown.index(w) for w in WORDS]
        self.assertEqual(at, sorted(at))
        self.assertTrue(shown.startswith(
            "To run standalone analysis, I need the following information:\n"), shown)
        self.assertIn("Example: /home/user/traces/model_trace.json\n", shown)
        self.assertIn("(Press Enter for default: /data/analysis_output)", shown)
        for number, (name, (gbps, gb, tflops)) in enumerate(FIXED.items(), 1):
            bf16 = f"{tflops} TFLOPS BF16, " if tflops else ""
            self.assertIn(f"{number}. {name} - {gbps / 1000:.1f} TB/s HBM, {bf16}{gb} GB\n", shown)
        others = {x.split("\t")[0] for x in (ROOT / "data/platforms.tsv").read_text().splitlines()
                  if x and x[0] != "#"} - set(FIXED)
        listed = shown[shown.index("Other platforms by"):shown.index("Platform (")]
        self.assertEqual([x for x in sorted(others) if x not in listed], [])
        self.assertLessEqual(max(map(len, shown.splitlines())), 100)

    def test_answers_go_along(self):
        _, out, _, _ = self.ask(answers=["/data/it's.json", "2", "", "box", "/out put"])
        self.assertEqual(self.words(out), [
            "docker", "exec", "box", "trawl", "analyze", "--platform", "MI325X", "--output",
            "/out put", "--", "/data/it's.json"])
        _, out, _, _ = self.ask("--model", "BERT", answers=["t", "h100 sxm", "n", "", ""])
        self.assertEqual(self.words(out), [
            "ssh", "n", "trawl analyze --model BERT --platform 'h100 sxm' -- t"])

    def test_every_choice_of_a_platform(self):
        for number, name in enumerate(FIXED, 1):
            for answer in (str(number), name, name.lower()):
                _, out, _, _ = self.ask(answers=["t", answer, "n", "", ""])
                self.assertRegex(out, f"(?i)--platform {name} -- t")

    def test_quotes_and_blanks_around_an_answer(self):
        for answer in ("  /a b.json \t", "'/a b.json'", '"/a b.json"', ' "/a b.json" '):
            _, out, _, _ = self.ask(answers=[answer, "", "", "box", ""])
            self.assertEqual(self.words(out)[-1], "/a b.json", answer)

    def test_wrong_answers_are_asked_again(self):
        answers = [(0, "", "default"), (0, "-", "standard input"), (0, "/data/t.json", ""),
                   (1, "5", "5"), (1, "voodoo", "voodoo"), (1, "9", "9"), (1, "4", ""),
                   (2, "-oProxyCommand=x", "dash"), (2, "node01", ""),
                   (3, "-it", "dash"), (3, "box", ""),
                   (4, "~/out", "full path"), (4, "/out", "")]
        terminal = self.start()
        terminal.read(PROMPTS[0])
        for i, (question, answer, complaint) in enumerate(answers):
            terminal.answer(answer)
            following = answers[i + 1][0] if i + 1 < len(answers) else None
            if following is None:
                break
            text = terminal.read(PROMPTS[following]).split("\n", 1)[1]
            if complaint:
                self.assertEqual(following, question)
                self.assertRegex(text.split("\n")[0], complaint)
        status, out, _ = terminal.end()
        self.assertEqual((status, self.words(out)[-1]), (
            0, "docker exec box trawl analyze --platform MI400 --output /out -- /data/t.json"))

    def test_a_trace_of_here_must_be_here(self):
        """Asked again when it is known that the analysis runs here."""
        terminal = self.start()
        for prompt, answer in zip(PROMPTS, ["/no/such/trace.json", "", "", ""]):
            terminal.read(prompt)
            terminal.answer(answer)
        self.assertIn("'/no/such/trace.json': No such file", terminal.read(PROMPTS[0]))
        terminal.answer(str(self.tmp))
        self.assertIn("is a directory", terminal.read(PROMPTS[0]))
        terminal.answer(str(self.trace))
        self.assertIn(f"{self.tmp}/analysis_output", terminal.read(PROMPTS[4]))
        terminal.answer(str(self.trace))
        self.assertIn("not a directory", terminal.read(PROMPTS[4]))
        terminal.answer("out")
        status, _, rest = terminal.end()
        # It is read here, and is no trace.
        self.assertEqual(status, 1)
        self.assertIn("my trace.json", rest)

    def test_home(self):
        """'~/' is the home here; a container has another one."""
        (self.home / "t.json").write_text("no trace")
        status, _, rest, _ = self.ask(answers=["~/t.json", "", "", "", ""])
        self.assertEqual(status, 1)
        self.assertIn(f"{self.home}/t.json", rest)
        terminal = self.start("--container", "box", "-o", "/out", "--platform", "MI300X")
        terminal.read(PROMPTS[0])
        terminal.answer("~/t.json")
        terminal.read(PROMPTS[2])
        terminal.answer("")
        self.assertIn("full path", terminal.read(PROMPTS[0]))
        terminal.answer("/t.json")
        status, out, _ = terminal.end()
        self.assertEqual((status, self.words(out)[-1]), (0, "/t.json"))

    def test_what_options_say_is_not_asked(self):
        status, out, _, shown = self.ask(
            "--platform", "MI400", "-o", "/out", "--node", "n", answers=["t", ""],
            prompts=[PROMPTS[0], PROMPTS[3]])
        self.assertEqual((status, self.words(out)), (
            0, ["ssh", "n", "trawl analyze --platform MI400 -o /out -- t"]))
        for prompt in (PROMPTS[1], PROMPTS[2], PROMPTS[4]):
            self.assertNotIn(prompt, shown)

    def test_a_trace_is_not_asked_for(self):
        terminal = self.start(self.trace)
        status, _, rest = terminal.end()
        self.assertEqual(status, 1)
        self.assertNotIn("Which", rest)

    def test_end_of_input(self):
        for answered in range(5):
            terminal = self.start()
            for prompt in PROMPTS[:answered]:
                terminal.read(prompt)
                terminal.answer("" if prompt != PROMPTS[0] else str(self.trace))
            terminal.read(PROMPTS[answered])
            os.write(terminal.master, b"\x04")
            status, out, rest = terminal.end()
            self.assertEqual((status, out), (2, ""), rest)
            self.assertRegex(rest, r"\ntrawl: analyze: .*ended")

    def test_interrupt(self):
        terminal = self.start()
        terminal.read(PROMPTS[0])
        terminal.process.send_signal(signal.SIGINT)
        self.assertEqual(terminal.end()[0], -signal.SIGINT)

    def test_control_characters_are_shown_as_such(self):
        terminal = self.start()
        terminal.read(PROMPTS[0])
        terminal.answer("t")
        terminal.read(PROMPTS[1])
        os.write(terminal.master, b"\x16\x1b[31mred\n")  # ^V: the next one as it is
        terminal.read("\n")
        self.assertNotIn("\x1b", terminal.read(PROMPTS[1]))

    def test_off_a_terminal(self):
        for args in ([], ["--node", "n"], ["--platform", "MI300X", "-o", self.tmp / "out"]):
            result = trawl("analyze", *args, stdin=b"/data/trace.json\n\n\n\n\n")
            self.assertExit(result, 2)
            self.assertOneLine(result, "TRACE", "--platform", "--node", "--container", "-o")

    def test_a_terminal_on_one_side_is_none(self):
        master, slave = pty.openpty()
        try:
            result = trawl("analyze", stdin=slave)
            self.assertExit(result, 2)
            self.assertOneLine(result, "TRACE")
        finally:
            os.close(master)
            os.close(slave)


if __name__ == "__main__":
    unittest.main()
