"""The numbered statements of the book, read from its sources: labels, proofs, what a proof names, equations inside.

No Sphinx is needed, so the build, the tests and the ledger's page see the same book.
"""

import re
from dataclasses import dataclass, field
from pathlib import Path

BOOK = Path(__file__).resolve().parents[1]
CLAIMED = ("theorem", "lemma", "proposition", "corollary")  # kinds that need a claim; the others only define or assume

_fence = re.compile(r"\s*(?P<mark>`{3,}|~{3,}|:{3,})\s*(?:\{(?P<name>[\w:-]+)\})?\s*(?P<rest>.*?)\s*$")
_option = re.compile(r"\s*:label:\s*(\S+)\s*$")
_dollars = re.compile(r".*\$\$\s*\(([\w:-]+)\)\s*$")
_reference = re.compile(r"\{prf:ref\}`(?:[^`<]*<([^`>]+)>|([^`]+))`")


@dataclass
class Statement:
    """A `prf:` block with the proofs that follow it. Lines count from 1, and both ends are fences."""

    label: str
    kind: str  # theorem, lemma, proposition, corollary, definition, assumption, ...
    title: str
    chapter: str  # the name of the file
    start: int
    end: int = 0
    refs: list[str] = field(default_factory=list)  # named in the statement
    proofs: list[tuple[int, int]] = field(default_factory=list)  # first and last line of each
    proof_refs: list[str] = field(default_factory=list)  # named in the proofs
    equations: list[str] = field(default_factory=list)  # numbered in the statement or in a proof

    @property
    def claimed(self) -> bool:
        return self.kind in CLAIMED

    @property
    def rests(self) -> set[str]:
        """What the proof names; where the page gives none, what the statement names."""
        return set(self.proof_refs if self.proofs else self.refs) - {self.label}


@dataclass
class Chapter:
    """The statements of a file in order, and its numbered equations outside them with their lines."""

    name: str
    statements: list[Statement] = field(default_factory=list)
    equations: dict[str, int] = field(default_factory=dict)


@dataclass
class _Open:
    """A directive that has begun and not ended."""

    mark: str
    name: str
    line: int
    statement: Statement | None  # it, its proof, or a directive inside either belongs to this statement


def parse(text: str, chapter: str) -> Chapter:
    """The statements and equations of one source.

    >>> source = "```{prf:lemma} Even\\n:label: lem-even\\nText.\\n```\\n```{prf:proof}\\nBy {prf:ref}`thm-odd`.\\n```"
    >>> [(found.label, found.title, found.rests) for found in parse(source, "numbers").statements]
    [('lem-even', 'Even', {'thm-odd'})]
    """
    found, stack = Chapter(chapter), []
    for number, line in enumerate(text.splitlines(), 1):
        fence, inside = _fence.match(line), stack[-1] if stack else None
        if inside and fence and not fence["name"] and not fence["rest"] and _closes(fence["mark"], inside.mark):
            stack.pop()
            if inside.name == "prf:proof":
                inside.statement.proofs.append((inside.line, number))
            elif inside.name.startswith("prf:"):
                inside.statement.end = number
        elif inside and inside.name in ("code-cell", ""):
            continue  # code: nothing in it opens a block or names a statement
        elif fence and (fence["name"] or fence["mark"][0] != ":"):
            stack.append(_open(found, fence, number, inside))
        else:
            _read(found, line, number, inside)
    if stack:
        raise ValueError(f"{chapter}.md, line {stack[-1].line}: the block {stack[-1].name!r} does not end")
    return found


def book(folder: Path = BOOK) -> dict[str, Chapter]:
    """Every chapter of a folder by name, those without a statement too."""
    return {path.stem: parse(path.read_text(encoding="utf-8"), path.stem) for path in sorted(folder.glob("*.md"))}


def statements(folder: Path = BOOK) -> dict[str, Statement]:
    """Every labelled statement of a folder by label."""
    found = {}
    for chapter in book(folder).values():
        for statement in filter(lambda statement: statement.label, chapter.statements):
            if statement.label in found:
                other = found[statement.label].chapter
                raise ValueError(f"{statement.label!r} labels a statement in {other}.md and one in {chapter.name}.md")
            found[statement.label] = statement
    return found


def _closes(mark, opened):
    return mark[0] == opened[0] and len(mark) >= len(opened)


def _open(found, fence, number, inside):
    name, statement = fence["name"] or "", inside.statement if inside else None
    if name == "prf:proof":
        claimed = [statement for statement in found.statements if statement.claimed]
        if not claimed:
            raise ValueError(f"{found.name}.md, line {number}: a proof, but no statement before it")
        statement = claimed[-1]
    elif name.startswith("prf:"):
        statement = Statement("", name.removeprefix("prf:"), fence["rest"], found.name, number)
        found.statements.append(statement)
    return _Open(fence["mark"], name, number, statement)


def _read(found, line, number, inside):
    """A line of text: an option of the block it stands in, or prose."""
    statement = inside.statement if inside else None
    label = _option.match(line)
    if label and inside and inside.name.startswith("prf:") and inside.name != "prf:proof" and not statement.label:
        statement.label = label[1]
        return
    label = label if label and inside and inside.name == "math" else _dollars.match(line)
    if label and statement:
        statement.equations.append(label[1])
    elif label:
        found.equations[label[1]] = number
    if statement:
        names = [match[1] or match[2] for match in _reference.finditer(line)]
        (statement.proof_refs if statement.end else statement.refs).extend(names)  # a proof begins after the end
