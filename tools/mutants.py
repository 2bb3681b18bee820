"""Places of C sources where a deliberate error can be made; tools/mutate.py lists the kinds."""
import bisect
import re

TOKEN = re.compile(r"""
  (?P<line>^[ \t]*\#(?:[^\n\\]|\\.|\\\n)*)
| (?P<comment>/\*.*?\*/|//[^\n]*)
| (?P<text>"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*')
| (?P<number>(?:0[xX][0-9a-fA-F]+|(?:\d+\.\d*|\.\d+|\d+)(?:[eE][+-]?\d+)?)[uUlLfF]*)
| (?P<word>[A-Za-z_]\w*)
| (?P<sign><<=|>>=|\.\.\.|->|\+\+|--|<<|>>|<=|>=|==|!=|&&|\|\||[-+*/%&|^]=|\S)
""", re.M | re.S | re.X)
# A threshold that is a macro. Others are sizes of buffers and limits that nothing comes near.
THRESHOLD = re.compile(r"#define\s+(\w+)\s+\(?(\d+\.\d+|\d+)\)?\s*(?:/\*.*)?$")
THRESHOLD_NAMES = re.compile(r"PERCENT|PERMILLE|SHARE|LEAST|SPREAD|SHOWN|NAMED|TELL|MATTER|TENTHS")
# Memory, failures and what only a person sees: an error there does not change a number.
LEFT_OUT = re.compile(r"assert|alloc|no_memory|sizeof|\berr(or)?\b|_error|fail|free\(|release|destroy|close\("
                      r"|mem(cpy|set|move)\(|TRAWL_(NO_|BAD_|E)|progress|reserve|thread|advise|[Hh]ash|\broom\b|capacity|place_count|slot")
# Whether memory was had: in tests all that is asked for behind what fails, fails too.
NO_MEMORY = re.compile(r"\s*\{?\s*(?:return|\w+ =) (?:TRAWL_ENOMEM|tw_no_memory)\b")
OTHER_SIGN = {"<": "<=", "<=": "<", ">": ">=", ">=": ">", "==": "!=", "!=": "==",
              "&&": "||", "||": "&&", "+": "-", "-": "+", "+=": "-=", "-=": "+="}
OTHER_CLIP = {"fmin": "fmax", "fmax": "fmin", "min": "max", "max": "min",
              "at_most": "at_least", "at_least": "at_most", "larger": "smaller"}
CLIP = re.compile(r"([\w.>\[\]-]+) [<>]=? ([\w.>\[\]-]+) \? ((?:\([\w ]+\))?[\w.>\[\]-]+) : "
                  r"((?:\([\w ]+\))?[\w.>\[\]-]+)")
# Where two are equal nothing is gained by the larger; of an order the sign alone counts.
RAISED = re.compile(r"if \((?:.+ && )?(.+) (?P<sign>[<>]=?) (.+)\)\s+(\S+) = (\S+);")
ORDER = re.compile(r"\? -?1 : -?1\b")


class Mutant:
    """One error: `edits` are (offset, length, text) of the source; `lines` those of its statement,
    `words` the macro that it changes."""

    def __init__(self, source, kind, edits, lines, word=""):
        self.source, self.kind, self.edits, self.lines, self.word = source, kind, edits, lines, word
        self.line = source.line_of(edits[0][0])
        self.function = source.function_at(self.line)

    def text(self):
        text = self.source.text
        for offset, length, new in sorted(self.edits, reverse=True):
            text = text[:offset] + new + text[offset + length:]
        return text

    def code(self, text):
        """The changed lines of a text, blanks made one; of a `break` what it stands behind, too."""
        first = self.line - (self.kind == "removed")
        last = self.source.line_of(self.edits[-1][0])
        return " ".join(" ".join(text.split("\n")[first - 1:last]).split())

    def before(self):
        return self.code(self.source.text)

    def after(self):
        return self.code(self.text())

    def key(self):
        return (str(self.source.path), self.function, self.before(), self.after())


class Source:
    """A file: its tokens, its functions, and the errors that can be made in it."""

    def __init__(self, path, text):
        self.path, self.text = path, text
        self.starts = [0] + [m.end() for m in re.finditer("\n", text)]
        self.tokens = [m for m in TOKEN.finditer(text) if m.lastgroup not in ("comment", "line")]
        self.functions = list(self.find_functions())

    def line_of(self, offset):
        return bisect.bisect_right(self.starts, offset)

    def find_functions(self):
        """(name, index of `{`, index of `}`): braces at the beginning of a line."""
        tokens, begin = self.tokens, None
        for i, t in enumerate(tokens):
            if t.start() not in self.starts[self.line_of(t.start()) - 1:][:1]:
                continue
            if t[0] == "{" and i and tokens[i - 1][0] == ")":
                depth, j = 1, i - 1
                while depth:
                    j -= 1
                    depth += {")": 1, "(": -1}.get(tokens[j][0], 0)
                begin = (tokens[j - 1][0], i)
            elif t[0] == "}" and begin:
                yield (*begin, i)
                begin = None

    def function_at(self, line):
        for name, first, last in self.functions:
            if self.line_of(self.tokens[first].start()) <= line <= \
                    self.line_of(self.tokens[last].start()):
                return name
        return "-"

    def function_lines(self, name):
        return [line for n, first, last in self.functions if n == name
                for line in range(self.line_of(self.tokens[first].start()),
                                  self.line_of(self.tokens[last].start()) + 1)]

    def statements(self, first, last):
        """Ranges of tokens: to `;`, brace or label; heads as `if (...)` are ones of their own."""
        begin, depth, head, i = first, 0, False, first
        while i < last:
            t = self.tokens[i][0]
            if i == begin:
                head = t in ("if", "while", "for", "switch")
            depth += {"(": 1, ")": -1}.get(t, 0)
            ends = not depth and (t in ";{}" or (t == ")" and head) or t in ("else", "do") or
                                  (t == ":" and self.tokens[begin][0] in ("case", "default")))
            if ends:
                yield begin, i + 1
                begin = i + 1
            i += 1

    def mutants(self):
        for match in (m for m in TOKEN.finditer(self.text) if m.lastgroup == "line"):
            yield from self.threshold(match)
        for _, first, last in self.functions:
            for begin, end in self.statements(first + 1, last):
                code = self.text[self.tokens[begin].start():self.tokens[end - 1].end()]
                if not LEFT_OUT.search(code) and \
                        not NO_MEMORY.match(self.text, self.tokens[end - 1].end()):
                    yield from self.in_statement(begin, end, code)

    def threshold(self, match):
        found = THRESHOLD.match(match[0])
        if not found or not (THRESHOLD_NAMES.search(found[1]) or "." in found[2]):
            return
        line = self.line_of(match.start())
        for new in other_numbers(found[2], True):
            yield Mutant(self, "threshold", [(match.start() + found.start(2), len(found[2]), new)],
                         [line], found[1])

    def in_statement(self, begin, end, code):
        tokens = self.tokens
        lines = list(range(self.line_of(tokens[begin].start()),
                           self.line_of(tokens[end - 1].start()) + 1))

        def made(kind, *edits):
            return Mutant(self, kind, list(edits), lines)

        def put(kind, token, new):
            return made(kind, (token.start(), len(token[0]), new))

        loop = tokens[begin][0] == "for"
        start = tokens[begin].start()
        # Of equal ones either will do.
        clips = [range(start + m.start(), start + m.start(3)) for m in clips_in(code)]
        clips += [range(start + m.start(), start + m.end()) for m in ORDER.finditer(code)]
        raised = RAISED.match(self.text, start)
        if raised and set(raised.group(1, 3)) == set(raised.group(4, 5)):
            clips.append(range(*raised.span("sign")))
        for i in range(begin, end):
            t, before, after = tokens[i], tokens[i - 1], tokens[i + 1]
            binary = binary_at(tokens, i)
            if any(t.start() in clip for clip in clips):
                continue
            if t[0] in ("<", "<=", ">", ">=") and not loop or t[0] in ("==", "!="):
                yield put("comparison", t, OTHER_SIGN[t[0]])
            elif t[0] in ("&&", "||") and binary:
                yield put("logic", t, OTHER_SIGN[t[0]])
            elif t[0] in ("+", "-") and binary or t[0] in ("+=", "-="):
                yield put("sum", t, OTHER_SIGN[t[0]])
            elif t[0] == "!":
                yield put("negated", t, "")
            elif t[0] in OTHER_CLIP and after[0] == "(":
                yield put("clip", t, OTHER_CLIP[t[0]])
            elif t.lastgroup == "number" and before[0] not in ("[", "case") and \
                    (before[0], after[0]) != ("{", "}") and \
                    (before[0] != "-" or binary_at(tokens, i - 1)):
                for new in other_numbers(t[0], False):
                    yield put("number", t, new)
        yield from self.clips(begin, code, made)
        if tokens[begin][0] in ("if", "while") and tokens[end - 1][0] == ")":
            yield made("negated", (tokens[begin + 1].end(), 0, "!("), (tokens[end - 1].start(), 0, ")"))
        if self.can_go(begin, end):
            yield made("removed", (tokens[begin].start(), len(code) - 1, ""))

    def clips(self, begin, code, made):
        for m in clips_in(code):
            place = self.tokens[begin].start() + m.start(3)
            length = m.end(4) - m.start(3)
            yield made("clip", (place, length, f"{m[4]} : {m[3]}"))
            for kept in (m[3], m[4]):
                yield made("clip", (place, length, f"{kept} : {kept}"))

    def can_go(self, begin, end):
        """`continue;`, `break;` that does not end a switch, and what sets or adds something plain."""
        words = [t[0] for t in self.tokens[begin:end]]
        if words[-1] != ";":
            return False
        if words[0] in ("continue", "break"):
            return self.tokens[end][0] != "}" or words[0] == "break" and \
                self.tokens[begin - 1][0] not in ";}"
        if self.tokens[begin].lastgroup != "word" and words[0] != "*":
            return False
        sets = [i for i, w in enumerate(words) if w in ("=", "+=", "-=", "|=", "*=")]
        if len(sets) != 1 or words[sets[0] + 1] == "NULL":
            return False
        left, right = self.tokens[begin:begin + sets[0]], words[sets[0] + 1:-1]
        declares = any(a.lastgroup == b.lastgroup == "word" for a, b in zip(left, left[1:])) or \
            words[0] != "*" and "*" in words[:sets[0]] or "," in words
        return not declares and (words[sets[0]] != "=" or len(right) == 1)


def clips_in(code):
    """The larger or the smaller of two: `a < b ? a : b`, perhaps with casts."""
    for match in CLIP.finditer(code):
        plain = [re.sub(r"^\([\w ]+\)", "", match[k]) for k in (1, 2, 3, 4)]
        if set(plain[:2]) == set(plain[2:]):
            yield match


def binary_at(tokens, i):
    """Whether a sign is between two operands."""
    before = tokens[i - 1]
    return before.lastgroup in ("word", "number") and before[0] not in ("return", "case") or \
        before[0] in (")", "]")


def other_numbers(text, threshold):
    """One more, and of what looks like a threshold the double and the half."""
    digits = re.match(r"0[xX][0-9a-fA-F]+|[0-9.eE+-]+", text)[0]
    rest = text[len(digits):]
    if re.search(r"[.eE]", digits) and not digits.lower().startswith("0x"):
        value = float(digits)
        return [repr(value * 2) + rest, repr(value / 2) + rest] if value else ["1.0" + rest]
    value = int(digits, 0) if not re.match(r"0\d", digits) else int(digits, 8)
    found = [value + 1] + ([value * 2, value // 2] if value >= (2 if threshold else 10) else [])
    return [f"{n}{rest}" for n in dict.fromkeys(found) if n != value]


def changed(mutant):
    """A line of output for it."""
    before, after = mutant.before(), mutant.after()
    return f"{mutant.kind}: {before}  =>  {after}"
