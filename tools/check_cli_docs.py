#!/usr/bin/env python3
"""The manual page, the completions and the lists in CLI.md have the options that the program has.

usage: tools/check_cli_docs.py TRAWL_PROGRAM

- What tools/gen_cli_docs.py writes is current, and groff takes the manual page without a warning.
- docs/CLI.md has a section for each command and names it in its first table; each table of options
  under a command's heading has its own options, and no others;
  options that several commands share are in some table.
- bash, zsh and fish offer what a command has; a shell that is not there is named, and not tried.

One line per difference; exit status 0 or 1.
"""
import os
import pty
import re
import select
import shutil
import subprocess
import sys
import time

import gen_cli_docs as made

CLI = made.ROOT / "docs/CLI.md"
OPTION = re.compile(r"(?<![\w[-])(--[a-z][a-z0-9-]*|-[a-zA-Z])(?![\w-])")
DEADLINE_S = 20


def documented():
    """{command: options of the tables under its heading}"""
    found = {}
    for heading, text in re.findall(r"^## ([^\n]*)\n(.*?)(?=^## |\Z)", CLI.read_text(), re.M | re.S):
        tables = re.findall(r"^\| option[^\n]*\n\|[-|]+\n((?:\|.*\n)+)", text, re.M)
        found[heading] = {o for table in tables for row in table.splitlines()
                          for o in OPTION.findall(row.split(" | ")[0])}
    return found


def check_lists(commands, stages):
    in_document = documented()
    anywhere = set().union(*in_document.values())
    for name in sorted({c.name for c in commands} - {"help"}):
        if name not in in_document:
            yield f"docs/CLI.md: no section '## {name}'"
        if f"[`{name}" not in CLI.read_text().partition("\n## ")[0]:
            yield f"docs/CLI.md: the list of commands lacks '{name}'"
    for heading in [c.name for c in commands] + ["sweep"]:
        members = stages if heading == "sweep" else [c for c in commands if c.name == heading]
        has = {f for c in members for f in c.flags()}
        own = {f for c in members for o in c.options if not o.group for f in o.flags()}
        listed = in_document.get(heading, set())
        for option in sorted(own - listed):
            yield f"docs/CLI.md: no table under '{heading}' has {option}"
        for option in sorted(listed - has):
            yield f"docs/CLI.md: a table under '{heading}' has {option}, the command has not"
    shared = {f for c in commands + stages for o in c.options if o.group for f in o.flags()}
    for option in sorted(shared - anywhere):
        yield f"docs/CLI.md: no table has {option}"


def check_man():
    if not shutil.which("groff"):
        print("no groff here: the manual page is not formatted")
        return
    done = subprocess.run(["groff", "-man", "-ww", "-Kutf8", "-Tutf8", "-z", made.MAN],
                          capture_output=True, text=True, check=False)
    yield from done.stderr.splitlines()


def check_offers(shell, offers, commands, stages):
    """`offers`: what is offered for the words, the last of which is unfinished."""
    if not shutil.which(shell):
        print(f"no {shell} here: its completion is not tried")
        return

    def differ(words, expected):
        found = offers(words)
        for name in sorted(expected - found):
            yield f"{shell}: '{' '.join(words)}' lacks {name}"
        for name in sorted(found - expected):
            yield f"{shell}: '{' '.join(words)}' has {name}, help has not"

    names = {c.name for c in commands} | {"sweep", "help"}
    yield from differ(["trawl", ""], names)
    for command in commands + stages:
        yield from differ(["trawl", *command.name.split(), "--"],
                          {f for f in command.flags() if f.startswith("--")})
        for option in command.options:
            if option.words:
                words = ["trawl", *command.name.split(), f"--{option.name}", ""]
                yield from differ(words, set(option.words))


def bash_offers(words):
    script = f'source "{made.COMPLETIONS}/trawl.bash"; COMP_WORDS=("$@"); ' \
             'COMP_CWORD=$(($# - 1)); _trawl 2>&1; printf "%s\\n" "${COMPREPLY[@]}"'
    offered = set(made.run("bash", "-c", script, "bash", *words).split())
    return {o for o in offered if not words[-1].startswith("--") or o.startswith("--")}


def fish_offers(words):
    script = f'set -p fish_complete_path "{made.COMPLETIONS}"; ' \
             f'source "{made.COMPLETIONS}/trawl.fish"; complete -C "{" ".join(words)}"'
    lines = made.run("fish", "--no-config", "-c", script).splitlines()
    return {line.split("\t")[0].rstrip("=") for line in lines}


class Zsh:
    """An interactive zsh: what a tab lists cannot be had otherwise."""

    def __init__(self):
        pid, self.end = pty.fork()
        if not pid:
            os.environ.update(TERM="dumb", LC_ALL="C.UTF-8", COLUMNS="200", LINES="1000")
            os.execvp("zsh", ["zsh", "-f", "-i"])
        self.say("unset zle_bracketed_paste; PS1=; PS2=; stty -echo cols 200 rows 1000; "
                 f"fpath=({made.COMPLETIONS} $fpath); autoload -Uz compinit; compinit -u -D; "
                 "zstyle ':completion:*' list-max 0; zstyle ':completion:*' verbose no; "
                 "LISTMAX=0; setopt list_rows_first no_list_types no_always_last_prompt; "
                 "bindkey '^I' list-choices; print RE'ADY'\n")
        self.read("READY")

    def say(self, text):
        os.write(self.end, text.encode())

    def read(self, until):
        text, stop = "", time.monotonic() + DEADLINE_S
        while until not in text and time.monotonic() < stop:
            if select.select([self.end], [], [], 0.2)[0]:
                text += os.read(self.end, 65536).decode(errors="replace")
        return text

    def offers(self, words):
        self.say(" ".join(words) + "\t")
        time.sleep(0.3)
        self.say("\x15print DO'NE'\n")
        shown = self.read("DONE")
        last = words[-1]
        found = set(re.findall(r"(?<!\S)(--[a-z][a-z0-9-]*)" if last.startswith("--") else
                               r"(?<!\S)([a-z][a-z-]*)", shown.replace("\r", "\n")))
        return found - set(words) - {"print", "command", "stage", "option"}


def zsh_problems(commands, stages):
    if not shutil.which("zsh"):
        print("no zsh here: its completion is not tried")
        return
    zsh = Zsh()
    for words, expected in [(["trawl", ""], {c.name for c in commands} | {"sweep", "help"})] + \
            [(["trawl", *c.name.split(), "--"], {f for f in c.flags() if f.startswith("--")})
             for c in commands + stages]:
        for name in sorted(expected - zsh.offers(words)):
            yield f"zsh: '{' '.join(words)}' lacks {name}"


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    program = sys.argv[1]
    _, commands, stages = made.read_commands(program)
    problems = [f"{path.relative_to(made.ROOT)} is not current: run tools/gen_cli_docs.py"
                for path, text in made.made_files(program).items()
                if not path.exists() or path.read_text() != text]
    problems += [*check_lists(commands, stages), *check_man(),
                 *check_offers("bash", bash_offers, commands, stages),
                 *check_offers("fish", fish_offers, commands, stages),
                 *zsh_problems(commands, stages)]
    for line in problems:
        print(line)
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
