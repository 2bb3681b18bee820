#!/usr/bin/env python3
"""Writes the tables of options as the manual page's commands and options, and completions.

usage: tools/gen_cli_docs.py [--check] [PROGRAM]

PROGRAM is build/release/trawl by default. Writes completions/trawl.bash, completions/_trawl (zsh),
completions/trawl.fish and, in docs/man/trawl.1, the part between its marks. With --check writes
nothing: a line for each file that is not current, and exit status 1.
"""
import pathlib
import re
import subprocess
import sys

from built import require_current

ROOT = pathlib.Path(__file__).resolve().parent.parent
MAN = ROOT / "docs/man/trawl.1"
COMPLETIONS = ROOT / "completions"
MADE = "Written by tools/gen_cli_docs.py: do not edit."
FIELDS = ("command", "group", "letter", "name", "argument", "words", "help")


def run(*args):
    done = subprocess.run(args, capture_output=True, text=True, stdin=subprocess.DEVNULL,
                          env={"PATH": "/usr/bin:/bin", "LC_ALL": "C.UTF-8"}, check=False)
    if done.returncode:
        sys.exit(f"{' '.join(map(str, args))}: exit status {done.returncode}: {done.stderr.strip()}")
    return done.stdout


class Option:
    def __init__(self, line):
        vars(self).update(zip(FIELDS, line.split("\t")))
        self.words = self.words.split()

    def flags(self):
        return ([f"-{self.letter}"] if self.letter else []) + [f"--{self.name}"]

    def value(self):
        """What its value is: "", "words", "file", "directory", or "text"."""
        if not self.argument:
            return ""
        if self.words:
            return "words"
        return {"FILE": "file", "DIR": "directory"}.get(self.argument.split("|")[-1], "text")


class Command:
    """A command, or a stage of `sweep`, as its help shows it."""

    def __init__(self, program, name, summary, options):
        text = run(program, "help", *name.split())
        self.name, self.summary = name, summary
        self.options = [o for o in options if o.command == name]
        self.usage, _, rest = text.partition("\n\n")
        self.details = rest.split("\noptions\n")[0].partition("\n")[2].rstrip("\n")
        # What its first argument is one of, where the help lists that.
        self.choices = re.findall(r"^  ([a-z]+) {2,}\S", self.details, re.M)

    def flags(self):
        return [f for o in self.options for f in o.flags()] + ["-h", "--help"]


def read_commands(program):
    options = [Option(line) for line in run(program, "help", "--options").splitlines()]
    listed = re.findall(r"^  ([a-z]+) +(?:\S.*?)  +(.*)$", run(program, "help"), re.M)
    stages = re.findall(r"^  ([a-z]+) {2,}(.*)$", run(program, "sweep", "--help"), re.M)
    commands = [Command(program, name, summary, options) for name, summary in listed
                if name not in ("sweep", "help")]
    return listed, commands, [Command(program, f"sweep {name}", summary, options)
                              for name, summary in stages if name != "trawl"]


# ---- the manual page

def roff(text):
    text = text.replace("\\", "\\e").replace("-", "\\-")
    return re.sub(r"^([.'])", r"\\&\1", text, flags=re.M)


def roff_option(option, only=""):
    flags = ", ".join(f"\\fB{roff(f)}\\fR" for f in option.flags())
    argument = f" \\fI{roff(option.argument)}\\fR" if option.argument else ""
    words = f" ({roff(', '.join(option.words))})" if option.words else ""
    if all(w in option.help for w in option.words):
        words = ""
    return f".TP\n{flags}{argument}\n{roff(option.help)}{words}{only}.\n"


def roff_details(text):
    """Lines that are indented stay as they are: examples, and lists."""
    out = []
    for indented, lines in re.findall(r"((?:^ .*\n)+)|((?:^(?! ).*\n)+)", text + "\n", re.M):
        if indented:
            out.append(f".PP\n.EX\n{roff(indented)}.EE\n")
        elif lines.strip():
            out.append(f".PP\n{roff(lines.strip())}\n")
    return "".join(out)


def groups_of(commands):
    """Lists that several commands have: {title: {option name: (option, commands)}}."""
    groups = {}
    for command in commands:
        for option in command.options:
            if option.group:
                group = groups.setdefault(option.group, {})
                group.setdefault(option.name, (option, []))[1].append(command.name)
    return groups


def man_pages(listed, commands, stages):
    every = commands + stages
    usages = [re.sub(r"^usage: trawl ", "", c.usage) for c in every]
    synopsis = "".join(f".br\n\\fBtrawl {roff(c.name)}\\fR {roff(u[len(c.name):].strip())}\n"
                       for c, u in zip(every, usages))
    text = ".SH COMMANDS\n"
    for command in every:
        own = "".join(roff_option(o) for o in command.options if not o.group)
        shared = list(dict.fromkeys(o.group for o in command.options if o.group))
        text += f'.SS "trawl {command.name}"\n{roff(command.summary)}.\n'
        text += roff_details(command.details) + own
        text += f".PP\nShared options: {roff(', '.join(shared))}.\n" if shared else ""
    text += f'.SS "trawl help"\n{roff(dict(listed)["help"])}; with \\fB\\-\\-options\\fR all ' \
            "options of all commands, a line each.\n.SH SHARED OPTIONS\n"
    for title, group in groups_of(every).items():
        having = list(dict.fromkeys(name for _, names in group.values() for name in names))
        text += f'.SS "{title}"\nOf {roff(", ".join(having))}.\n'
        for option, names in group.values():
            only = "" if len(names) == len(having) else f" ({roff(', '.join(names))})"
            text += roff_option(option, only)
    text += ".TP\n\\fB\\-h\\fR, \\fB\\-\\-help\\fR\nShows help, for the command it is given to.\n" \
            ".TP\n\\fB\\-V\\fR, \\fB\\-\\-version\\fR\nPrints the version.\n"
    return {"synopsis": synopsis, "commands": text}


def made_man(parts):
    text = MAN.read_text()
    for name, part in parts.items():
        begin, end = f'.\\" {name}: {MADE}\n', f'.\\" end of {name}\n'
        if begin not in text or end not in text:
            sys.exit(f"{MAN}: has no marks of {name}")
        head, _, rest = text.partition(begin)
        text = head + begin + part + end + rest.partition(end)[2]
    return text


# ---- completions

def by_value(commands):
    """{(value, words): ["command,--option", ...]} of options that have a value."""
    found = {}
    for command in commands:
        for option in command.options:
            if option.value():
                key = (option.value(), " ".join(option.words))
                found.setdefault(key, []).extend(f"{command.name},{f}" for f in option.flags())
    return found


def bash(listed, commands, stages):
    every = commands + stages
    names = " ".join(name for name, _ in listed)
    options = "".join(f'\t"{c.name}") options="{" ".join(c.flags())}" ;;\n' for c in every)
    values = ""
    for (value, words), places in by_value(every).items():
        action = {"words": f'_trawl_words "{words}" "$current"', "file": '_trawl_files -f "$current"',
                  "directory": '_trawl_files -d "$current"', "text": ":"}[value]
        pattern = " | ".join(f'"{p}"' for p in places)
        values += f"\t{pattern})\n\t\t{action}\n\t\treturn\n\t\t;;\n"
    choices = "".join(f'\t"{c.name}") choices="{" ".join(c.choices)}" ;;\n' for c in commands
                      if c.choices)
    stage_names = " ".join(c.name.split()[1] for c in stages)
    return f'''# bash completion for trawl
# {MADE}

_trawl_files() {{
	local IFS=$'\\n'
	compopt -o filenames 2>/dev/null
	# shellcheck disable=SC2207 # names may hold blanks: split at line ends only
	COMPREPLY=($(compgen "$1" -- "$2"))
}}

_trawl_words() {{
	# shellcheck disable=SC2207 # words of ours
	COMPREPLY=($(compgen -W "$1" -- "$2"))
}}

_trawl() {{
	local current=${{COMP_WORDS[COMP_CWORD]}} previous=${{COMP_WORDS[COMP_CWORD - 1]}}
	local command=${{COMP_WORDS[1]}} options="" choices="" first=2

	COMPREPLY=()
	if [ "$COMP_CWORD" -eq 1 ]; then
		case $current in
		-*) _trawl_words "-h --help -V --version" "$current" ;;
		*) _trawl_words "{names}" "$current" ;;
		esac
		return
	fi
	if [ "$command" = sweep ]; then
		if [ "$COMP_CWORD" -eq 2 ]; then
			_trawl_words "{stage_names} -h --help" "$current"
			return
		fi
		command="sweep ${{COMP_WORDS[2]}}"
		first=3
	fi
	# "--format=j" comes as three words: --format, =, j.
	if [ "$current" = "=" ]; then
		current=
	elif [ "$previous" = "=" ]; then
		previous=${{COMP_WORDS[COMP_CWORD - 2]}}
	fi
	case "$command,$previous" in
{values}	esac
	case $command in
	help) choices="{names} --options" ;;
{choices}	esac
	case $command in
{options}	esac
	case $current in
	-*) _trawl_words "$options" "$current" ;;
	*)
		if [ "$COMP_CWORD" -eq "$first" ] && [ -n "$choices" ]; then
			_trawl_words "$choices" "$current"
		else
			_trawl_files -f "$current"
		fi
		;;
	esac
}}

complete -F _trawl trawl
'''


def quoted(text):
    return "'" + text.replace("'", "'\\''") + "'"


def zsh_option(option):
    told = re.sub(r"([\[\]\\])", r"\\\1", option.help)
    argument = option.argument.replace(":", "\\:")
    action = {"": "", "words": f":{argument}:({' '.join(option.words)})",
              "file": f":{argument}:_files", "directory": f":{argument}:_files -/",
              "text": f":{argument}: "}[option.value()]
    long = f"--{option.name}" + ("=" if action else "")
    if not option.letter:
        return quoted(f"{long}[{told}]{action}")
    short = f"-{option.letter}" + ("+" if action else "")
    return quoted(f"(-{option.letter} --{option.name})") + "{" + f"{short},{long}" + "}" + \
        quoted(f"[{told}]{action}")


def zsh(listed, commands, stages):
    def listing(name, items):
        return f"\tlocal -a {name}=(\n" + "".join(
            f"\t\t{quoted(n + ':' + s.replace(':', chr(92) + ':'))}\n" for n, s in items) + "\t)\n"

    cases = ""
    for command in commands + stages:
        specs = [zsh_option(o) for o in command.options] + ["'(-h --help)'{-h,--help}'[this text]'"]
        if command.choices:
            specs.append(quoted(f"1:what:({' '.join(command.choices)})"))
        lines = " \\\n".join(f"\t\t\t{s}" for s in specs + ["'*:file:_files'"])
        cases += f"\t{quoted(command.name)})\n\t\t_arguments -S \\\n{lines}\n\t\t;;\n"
    return f'''#compdef trawl
# {MADE}

_trawl() {{
{listing("commands", listed)}{listing("stages", [(c.name.split()[1], c.summary) for c in stages])}
	if (( CURRENT == 2 )); then
		_describe command commands
		return
	fi
	local command=$words[2]
	shift words
	(( CURRENT-- ))
	if [[ $command == sweep ]]; then
		if (( CURRENT == 2 )); then
			_describe stage stages
			return
		fi
		command="sweep $words[2]"
		shift words
		(( CURRENT-- ))
	fi
	case $command in
	help)
		_describe command commands
		;;
{cases}	esac
}}

_trawl "$@"
'''


def fish(listed, commands, stages):
    def fish_quoted(text):
        return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"

    out = f"# fish completion for trawl\n# {MADE}\n\n" + '''# The words of the line so far are these, options aside.
function __trawl_is
	set -l words (commandline -opc | string match -v -- '-*')
	set -e words[1]
	test (count $words) -ge (count $argv); and test "$words[1..$(count $argv)]" = "$argv"
end
# The line has exactly these words, options aside.
function __trawl_at
	set -l words (commandline -opc | string match -v -- '-*')
	set -e words[1]
	test "$words" = "$argv"
end

'''
    for name, summary in listed:
        for place in ("__trawl_at", "__trawl_at help"):
            out += f"complete -c trawl -n {fish_quoted(place)} -f -a {name} -d {fish_quoted(summary)}\n"
    out += "complete -c trawl -n '__trawl_at' -f -s V -l version -d 'the version'\n"
    for stage in stages:
        out += "complete -c trawl -n '__trawl_at sweep' -f -a " \
               f"{stage.name.split()[1]} -d {fish_quoted(stage.summary)}\n"
    out += "complete -c trawl -s h -l help -d 'this text'\n"
    for command in commands + stages:
        condition = fish_quoted(f"__trawl_is {command.name}")
        if command.choices:
            out += f"complete -c trawl -n {fish_quoted(f'__trawl_at {command.name}')} -f " \
                   f"-a {fish_quoted(' '.join(command.choices))}\n"
        for option in command.options:
            value = {"": "", "words": f" -x -a {fish_quoted(' '.join(option.words))}",
                     "file": " -r -F", "directory": " -x -a '(__fish_complete_directories)'",
                     "text": " -x"}[option.value()]
            letter = f" -s {option.letter}" if option.letter else ""
            out += f"complete -c trawl -n {condition}{letter} -l {option.name}{value} " \
                   f"-d {fish_quoted(option.help)}\n"
    return out


def made_files(program):
    listed, commands, stages = read_commands(program)
    return {
        MAN: made_man(man_pages(listed, commands, stages)),
        COMPLETIONS / "trawl.bash": bash(listed, commands, stages),
        COMPLETIONS / "_trawl": zsh(listed, commands, stages),
        COMPLETIONS / "trawl.fish": fish(listed, commands, stages),
    }


def main(argv):
    check = "--check" in argv
    programs = [a for a in argv if not a.startswith("-")]
    stale = 0
    program = (programs or [str(ROOT / "build/release/trawl")])[0]
    require_current(program)
    for path, text in made_files(program).items():
        if path.exists() and path.read_text() == text:
            continue
        stale += 1
        if check:
            print(f"{path.relative_to(ROOT)} is not current: run tools/gen_cli_docs.py")
        else:
            path.write_text(text)
    return 1 if check and stale else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
