"""Finds conditions in C++ text and weaves mutants into it.

It is no C++ parser. It relies on what clang-format guarantees here: binary operators have a space on both sides, templates,
references and signs have not. What it gets wrong does not compile, and is dropped then (build.py).
"""

import bisect
import re
from dataclasses import dataclass, field

TOKEN = re.compile(
    r"""(?P<space>\s+|//[^\n]*|/\*.*?\*/|(?:(?<=\n)|^)[ \t]*\#(?:[^\n\\]|\\.)*)
      |(?P<raw>(?:u8|[uUL])?R"(?P<delimiter>[^(\s]*)\(.*?\)(?P=delimiter)")
      |(?P<string>(?:u8|[uUL])?"(?:\\.|[^"\\])*")
      |(?P<char>(?:u8|[uUL])?'(?:\\.|[^'\\])+')
      |(?P<number>\.?\d(?:'?[\w.]|(?<=[eEpP])[+-])*)
      |(?P<word>[A-Za-z_]\w*)
      |(?P<op><=>|<<=|\.\.\.|::|->|\+\+|--|<<|<=|>=|==|!=|&&|\|\||[-+*/%&|^]=|.)""",
    re.X | re.S)

RELATIONS = {"<": "lt", "<=": "le", ">": "gt", ">=": "ge", "==": "eq", "!=": "ne"}
# Maps a relation to its mutants, in the order of mutation/switch.hpp; the first of == and != needs no order.
CHANGES = {"<": ["<=", ">="], "<=": ["<", ">"], ">": [">=", "<="], ">=": [">", "<"],
           "==": ["!=", ">=", "<="], "!=": ["==", "<", ">"]}
ASSIGNMENTS = {"=", "+=", "-=", "*=", "/=", "%=", "&=", "|=", "^=", "<<=", ">>="}
SEPARATORS = {",", ";", "?", ":"} | ASSIGNMENTS
KEYWORDS = {"return", "else", "case", "throw", "do", "co_return", "co_yield"}
OPEN, CLOSE = "([{", ")]}"


@dataclass
class Mutant:
    file: str
    line: int
    text: str        # the condition as it stands
    change: str      # and as it becomes, or a word for it
    ordered: bool = False  # needs operands that have an order
    id: int = 0      # the switch's number in this build
    nth: int = 1     # of equal ones in the file
    live: bool = True

    @property
    def key(self):
        return f"{self.file} | {self.text} | {self.change}" + (f" | {self.nth}" if self.nth > 1 else "")


@dataclass
class Wrap:
    """Holds text that is put around [start, end), and in place of an operator in it."""
    start: int
    end: int
    level: int       # of equal extents the lower one is outside
    before: str
    after: str
    mutants: list
    operator: tuple = None  # start, end, text in its place
    order: int = 0


@dataclass
class Token:
    kind: str
    text: str
    start: int
    end: int


def tokens_of(text):
    found, at = [], 0
    while at < len(text):
        m = TOKEN.match(text, at)
        kind, at = m.lastgroup if m.lastgroup != "delimiter" else "raw", m.end()
        word = m.group()
        if kind == "space":
            continue
        if word == "<<" and not (text[m.start() - 1].isspace() and text[m.end()].isspace()):
            word, at = "<", m.start() + 1
        found.append(Token(kind, word, m.start(), at))
    # Joins a shift to the right: two closing angles with space around them both.
    merged = []
    for t in found:
        if (t.text == ">" and merged and merged[-1].text == ">" and merged[-1].end == t.start
                and text[merged[-1].start - 1].isspace() and text[t.end:t.end + 1].isspace()):
            merged[-1] = Token("op", ">>", merged[-1].start, t.end)
        else:
            merged.append(t)
    return merged


class Source:
    def __init__(self, name, text):
        self.name, self.text = name, text
        self.tokens = tokens_of(text)
        self.wraps = []
        self.lines = [m.start() for m in re.finditer("\n", text)]
        self._match()
        self._constants()

    def spaced(self, i):
        t = self.tokens[i]
        return t.start > 0 and self.text[t.start - 1].isspace() and self.text[t.end:t.end + 1].isspace()

    def line_of(self, at):
        return bisect.bisect_left(self.lines, at) + 1

    def _match(self):
        """Finds partners of brackets, including angle brackets of templates."""
        self.partner, stack = {}, []
        for i, t in enumerate(self.tokens):
            if t.kind != "op":
                continue
            before = self.tokens[i - 1] if i else None
            if t.text in OPEN:
                stack.append(i)
            elif t.text in CLOSE:
                while stack and self.tokens[stack[-1]].text == "<":
                    stack.pop()
                if stack:
                    self._pair(stack.pop(), i)
            elif t.text == "<" and before and (before.text == "template" or before.kind == "word" and before.end == t.start
                                               or before.text == "]" and before.end == t.start):
                stack.append(i)
            elif t.text == ">" and not self.spaced(i) and stack and self.tokens[stack[-1]].text == "<":
                self._pair(stack.pop(), i)

    def _pair(self, a, b):
        self.partner[a], self.partner[b] = b, a

    def _constants(self):
        """Marks tokens that are not executed: constants, templates' arguments, declarations of names."""
        n = len(self.tokens)
        self.constant = [False] * n

        def skip(a, b):
            for k in range(a, min(b + 1, n)):
                self.constant[k] = True

        def until(i, stops):
            while i < n and self.tokens[i].text not in stops:
                i = self.partner[i] + 1 if i in self.partner and self.partner[i] > i else i + 1
            return i

        for i, t in enumerate(self.tokens):
            if t.text == "<" and i in self.partner:
                skip(i, self.partner[i])
            if t.kind != "word":
                continue
            follows = self.tokens[i + 1].text if i + 1 < n else ""
            if t.text in ("static_assert", "noexcept", "decltype", "alignas", "sizeof") and follows == "(":
                skip(i, self.partner.get(i + 1, i))
            elif t.text == "constexpr" and i and self.tokens[i - 1].text == "if":
                skip(i, self.partner.get(i + 1, i))
            elif t.text == "constexpr":
                j = i + 1
                while j < n and self.tokens[j].text not in (";", "=", "{", "("):
                    j = self.partner[j] + 1 if j in self.partner and self.partner[j] > j else j + 1
                if j < n and self.tokens[j].text in ("=", "{"):
                    skip(i, until(j, ";"))
            elif t.text == "using":
                skip(i, until(i, ";"))
            elif t.text == "case":
                skip(i, until(i, ":"))
            elif t.text == "requires":
                skip(i, until(i, (";", "{")))
            elif t.text == "enum":
                j = until(i, (";", "{"))
                skip(i, self.partner.get(j, j))
            elif t.text == "operator":
                skip(i, i + 1)
            elif t.text == "asm":
                skip(i, until(i, ";"))

    def _is_block(self, close):
        """True if this closing brace ends statements (and no list of values)."""
        before = self.tokens[self.partner[close] - 1] if self.partner.get(close, 0) > 0 else None
        return before is None or not (before.kind == "word" and before.text not in
                                      ("else", "do", "try", "const", "noexcept", "override", "mutable") or before.text == ">")

    def left(self, i, stops):
        """Returns the first token of the operand that ends before token i."""
        j = i - 1
        while j >= 0:
            t = self.tokens[j]
            if j in self.partner and self.partner[j] < j:
                if t.text == "}" and self._is_block(j):
                    break
                j = self.partner[j] - 1
                continue
            if (t.kind == "op" and (t.text in OPEN or t.text in SEPARATORS or t.text in stops and self.spaced(j))
                    or t.text in KEYWORDS):
                break
            j -= 1
        return j + 1

    def right(self, i, stops):
        """Returns the last token of the operand that begins after token i."""
        j = i + 1
        while j < len(self.tokens):
            t = self.tokens[j]
            if j in self.partner and self.partner[j] > j:
                j = self.partner[j] + 1
                continue
            if t.kind == "op" and (t.text in CLOSE or t.text in SEPARATORS or t.text in stops and self.spaced(j)):
                break
            j += 1
        return j - 1

    def span(self, a, b):
        return self.tokens[a].start, self.tokens[b].end

    def words(self, a, b):
        return " ".join(self.text[self.tokens[a].start:self.tokens[b].end].split())

    def mutant(self, token, text, change, **more):
        return Mutant(self.name, self.line_of(self.tokens[token].start), text, change, **more)

    def wrap(self, a, b, level, before, after, mutants, operator=None):
        start, end = self.span(a, b)
        self.wraps.append(Wrap(start, end, level, before, after, mutants, operator, len(self.wraps)))

    def find(self):
        done = set()
        for i, t in enumerate(self.tokens):
            if self.constant[i]:
                continue
            if t.kind == "op" and self.spaced(i):
                if t.text in RELATIONS:
                    self._relation(i)
                elif t.text in ("&&", "||") and i not in done:
                    self._chain(i, done)
                elif t.text == "?":
                    self._choice(i)
                elif t.text in ("=", "&=", "|="):
                    self._result(i)
            elif t.text == "return":
                self._result(i)
            elif t.text in ("if", "while") and i + 1 in self.partner:
                self._condition(i + 1, t.text == "if")
            elif t.text == "for" and i + 1 in self.partner:
                self._loop(i + 1)
            elif t.kind == "number" and i and self.tokens[i - 1].text in "+-" and self.spaced(i - 1):
                self._number(i, ("+ 1", "- 1"))
        self._nest()
        seen = {}
        for w in self.wraps:
            for m in w.mutants:
                k = m.text, m.change
                m.nth = seen[k] = seen.get(k, 0) + 1
        return [m for w in self.wraps for m in w.mutants]

    def _nest(self):
        """Drops wraps that overlap another in part: they were parsed wrongly."""
        inside, kept = [], []
        for w in sorted(self.wraps, key=lambda w: (w.start, -w.end, w.level, w.order)):
            while inside and inside[-1].end <= w.start:
                inside.pop()
            if inside and w.end > inside[-1].end:
                continue
            inside.append(w)
            kept.append(w)
        self.wraps = kept

    def _relation(self, i):
        op = self.tokens[i].text
        same = {"==", "!="} if op in ("==", "!=") else set(RELATIONS)
        stops = same | {"&&", "||", "&", "|", "^"}
        a, b = self.left(i, stops), self.right(i, stops)
        if a >= i or b <= i:
            return
        x, y = self.words(a, i - 1), self.words(i + 1, b)
        plain = op in ("==", "!=")
        changes = CHANGES[op][:1] if plain and "nullptr" in (x, y) else CHANGES[op]
        mutants = [self.mutant(i, f"{x} {op} {y}", f"{x} {c} {y}", ordered=plain and k > 0)
                   for k, c in enumerate(changes)]
        t = self.tokens[i]
        name = RELATIONS[op] + ("{only}" if plain and len(changes) > 1 else "_only" if plain else "")
        self.wrap(a, b, 3, f"::lazy_mutation::{name}({{id}}, ", ")", mutants, (t.start, t.end, ","))

    def _chain(self, i, done):
        """Returns all of a && b && c, of which i is the first operator."""
        op = self.tokens[i].text
        stops = {"||"} if op == "&&" else set()
        first = self.left(i, stops)
        if first >= i:
            return
        parts, operators, begin, at = [], [], first, i
        while True:
            end = self.right(at, {"&&", "||"} if op == "&&" else {"||"})
            parts.append((begin, at - 1))
            operators.append(at)
            done.add(at)
            begin, at = at + 1, end + 1
            if at >= len(self.tokens) or self.tokens[at].text != op:
                parts.append((begin, end))
                break
        whole = self.words(first, parts[-1][1])
        for a, b in parts:
            if a > b:
                return
        for k, (a, b) in enumerate(parts):
            m = self.mutant(a, whole, f"without {self.words(a, b)}")
            self.wrap(a, b, 1, "({on} || (" if op == "&&" else "(!{on} && (", "))", [m])
        other = "||" if op == "&&" else "&&"
        for k, at in enumerate(operators):
            m = self.mutant(at, whole, f"{other} before {self.words(*parts[k + 1])}")
            t = self.tokens[at]
            middle = ") != {on} ? bool(" if op == "&&" else ") == {on} ? bool("
            after = ") : {on})" if op == "&&" else ") : !{on})"
            self.wrap(first, parts[k + 1][1], 2, "(bool(", after, [m], (t.start, t.end, middle))

    def _choice(self, i):
        a = self.left(i, set())
        if a < i:
            self._either(a, i - 1, True)

    def _either(self, a, b, both):
        text = self.words(a, b)
        if text in ("true", "false"):
            return
        mutants = [self.mutant(a, text, "false")] + ([self.mutant(a, text, "true")] if both else [])
        self.wrap(a, b, 0, "(!{on} && ({on1} || (" if both else "(!{on} && (", ")))" if both else "))", mutants)

    def _result(self, i):
        """Finds conditions that follow = or return."""
        a, b = i + 1, self.right(i, set())
        if b + 1 < len(self.tokens) and self.tokens[b + 1].text in ("?", ":"):
            return
        j, condition = a, False
        while j <= b:
            t = self.tokens[j]
            condition |= t.text == "!" or self.spaced(j) and (t.text in RELATIONS or t.text in ("&&", "||"))
            j = self.partner[j] + 1 if j in self.partner and self.partner[j] > j else j + 1
        if condition:
            self._either(a, b, True)

    def _condition(self, bracket, both):
        a, b = bracket + 1, self.partner[bracket] - 1
        j = a
        while j <= b:
            t = self.tokens[j]
            if t.text == ";":
                a = j + 1
            j = self.partner[j] + 1 if j in self.partner and self.partner[j] > j else j + 1
        j = a
        while j <= b:
            if self.tokens[j].text in ASSIGNMENTS:
                return
            j = self.partner[j] + 1 if j in self.partner and self.partner[j] > j else j + 1
        if a <= b:
            self._either(a, b, both)

    def _loop(self, bracket):
        ends, j = [], bracket + 1
        while j < self.partner[bracket]:
            if self.tokens[j].text == ";":
                ends.append(j)
            j = self.partner[j] + 1 if j in self.partner and self.partner[j] > j else j + 1
        if len(ends) != 2:
            return
        for k in range(bracket + 2, ends[0]):
            if self.tokens[k].kind == "number" and self.tokens[k - 1].text == "=" and self.tokens[k + 1].text in (",", ";"):
                self._number(k, ("+ 1",))

    def _number(self, i, changes):
        text = self.tokens[i].text
        if not re.fullmatch(r"\d[\d']*u?", text):
            return
        line = self.line_of(self.tokens[i].start)
        start = self.lines[line - 2] + 1 if line > 1 else 0
        around = " ".join(self.text[start:self.lines[line - 1]].split())
        column = len(" ".join(self.text[start:self.tokens[i].start].split()))
        mutants = [self.mutant(i, around, f"{text} {c} at column {column}") for c in changes]
        self.wrap(i, i, 4, "(", f" + ::lazy_mutation::off({{id}}, {len(changes)}))", mutants)

    def woven(self):
        """Returns the text with every live mutant in it, line for line."""
        opens, closes, replaced = {}, {}, {}
        for w in self.wraps:
            live = [m.live for m in w.mutants]
            if not any(live):
                continue
            first = w.mutants[0].id
            names = {"on": f"::lazy_mutation::on({first})", "on1": f"::lazy_mutation::on({first + 1})", "id": str(first),
                     "only": "" if all(live) else "_only"}

            def filled(text):
                return re.sub(r"\{(on1?|id|only)\}", lambda m: names[m[1]], text)

            opens.setdefault(w.start, []).append((-w.end, w.level, w.order, filled(w.before)))
            closes.setdefault(w.end, []).append((-w.start, -w.level, -w.order, filled(w.after)))
            if w.operator:
                replaced[w.operator[0]] = (w.operator[1], filled(w.operator[2]))
        out, at = [], 0
        for cut in sorted(set(opens) | set(closes) | set(replaced)):
            out.append(self.text[at:cut])
            at = cut
            out += [c[-1] for c in sorted(closes.get(cut, []))]
            out += [o[-1] for o in sorted(opens.get(cut, []))]
            if cut in replaced:
                at = replaced[cut][0]
                out.append(replaced[cut][1])
        return "".join(out) + self.text[at:]
