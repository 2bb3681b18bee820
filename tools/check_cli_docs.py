#!/usr/bin/env python3
"""The man page and the bash completion name exactly the commands and options that help shows.

usage: tools/check_cli_docs.py TRAWL_PROGRAM

One line per difference; exit status 0 or 1.
"""
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
MAN = ROOT / "docs/man/trawl.1"
COMPLETION = ROOT / "completions/trawl.bash"
OPTION = re.compile(r"(?<![\w[-])(--[a-z][a-z0-9-]*|-[a-zA-Z])(?![\w-])")


def run(*args):
    done = subprocess.run(args, capture_output=True, text=True, stdin=subprocess.DEVNULL,
                          env={"PATH": "/usr/bin:/bin", "LC_ALL": "C.UTF-8"}, check=False)
    if done.returncode:
        sys.exit(f"{' '.join(args)}: exit status {done.returncode}: {done.stderr.strip()}")
    return done.stdout


def options_of_help(text):
    """The options of lines that begin with one; the text behind two blanks explains it."""
    found = set()
    for line in text.splitlines():
        if line.lstrip().startswith("-"):
            found.update(OPTION.findall(re.split(r"\s{2,}", line.strip())[0]))
    return found


def options_of_man():
    """The options of tagged paragraphs (.TP and the line behind it)."""
    text = MAN.read_text().replace("\\-", "-").replace("\\fR", "").replace("\\fP", "")
    found = set()
    for tag in re.findall(r"^\.TP\n(.*)$", text, re.M):
        found.update(OPTION.findall(tag.replace('"', " ")))
    return found


def completion_of(words):
    """What the completion offers for the command line `words`, its last word being unfinished."""
    script = f'source "{COMPLETION}"; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _trawl 2>&1; ' \
             'printf "%s\\n" "${COMPREPLY[@]}"'
    return set(run("bash", "-c", script, "bash", "trawl", *words).split())


def commands_of_man():
    text = MAN.read_text()
    section = text[text.index(".SH COMMANDS"):text.index(".SH OPTIONS")]
    return set(re.findall(r'^\.TP\n\.BR? "?([a-z]+)', section, re.M))


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    program = sys.argv[1]
    problems = []

    def compare(what, expected, found):
        problems.extend(f"{what} lacks {name}" for name in sorted(expected - found))
        problems.extend(f"{what} has {name}, help has not" for name in sorted(found - expected))

    commands = completion_of([""])
    overview = run(program, "help")
    listed = set(re.findall(r"^\s+(?:trawl )?([a-z]+)(?:\s{2,}|\s+\[?[A-Z])", overview, re.M))
    compare("completion (commands)", listed, commands)
    compare("man page (commands)", listed, commands_of_man())

    everywhere = {"-h", "--help"}
    every = options_of_help(overview) | everywhere | {"-V", "--version"}
    lines = [[c] for c in sorted(commands - {"help", "sweep"})]
    stages = set(re.findall(r"^  ([a-z]+)\s{2,}", run(program, "sweep", "--help"), re.M))
    compare("completion (stages of a sweep)", stages, completion_of(["sweep", ""]))
    for command in lines + [["sweep", stage] for stage in sorted(stages)]:
        own = options_of_help(run(program, "help", *command))
        name = " ".join(command)
        if not own:
            problems.append(f"help {name} shows no options")
        every |= own
        compare(f"completion of {name}", own | everywhere, completion_of([*command, "-"]))
    compare("man page", every, options_of_man())

    for line in problems:
        print(line)
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
