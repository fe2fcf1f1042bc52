"""What everything that can be referred to is called, read from the sources: Theorem 3.1, (2.4), Wu et al., a title.

No Sphinx is needed, so JupyterLab and the notebooks for download say what the pages say; a test compares them.
"""

import re
from collections import Counter
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import yaml
from pybtex.database import parse_file

ROOT = Path(__file__).resolve().parents[2]

_open = re.compile(r"\s*(?:`{3,}|:{3,})\{([\w:-]+)\}")
_label = re.compile(r"\s*:label:\s*(\S+)\s*$")
_dollars = re.compile(r".*\$\$\s*\(([\w:-]+)\)\s*$")
_figure = re.compile(r"    name: (fig-\S+)$")
_target = re.compile(r"\(([\w-]+)\)=$")
_role = re.compile(r"\{([\w:-]+)\}`(?:([^`<]+?)\s*<([^`>]+)>|([^`]+))`")


@dataclass(frozen=True)
class Name:
    """What a label stands for, and the chapter (file name) it stands in."""

    text: str
    chapter: str


@dataclass(frozen=True)
class Book:
    numbers: dict[str, int | None]  # of the chapters, in the order of the book
    titles: dict[str, str]
    labels: dict[str, Name]
    works: dict[str, tuple[str, str]]  # authors and year by citation key

    def role(self, kind: str, target: str, text: str | None = None) -> str | None:
        """The words a reader sees for a reference; None for a kind or a target that is not known here."""
        if kind.startswith("cite:"):
            found = [self.works[key.strip()] for key in target.split(",") if key.strip() in self.works]
            marks = [f"{who}, {year}" if kind == "cite:p" else f"{who} [{year}]" for who, year in found]
            return f"[{'; '.join(marks)}]" if kind == "cite:p" else ", ".join(marks)
        if kind == "doc":
            return text or self.titles.get(target)
        if kind in ("eq", "prf:ref", "ref", "numref"):
            return text or (self.labels[target].text if target in self.labels else None)
        return None


def roles(text: str, say) -> str:
    """Replace each role of a text by say(kind, target, words or None, the role as it is written).

    >>> roles("By {prf:ref}`thm-a` and {doc}`the model <model>`.", lambda *role: str(role[:3]))
    "By ('prf:ref', 'thm-a', None) and ('doc', 'model', 'the model')."
    """
    return _role.sub(lambda m: say(m[1], m[3] or m[4], m[2], m[0]), text)


@cache
def book(root: Path = ROOT) -> Book:
    """The names of the whole book."""
    numbers, titles, labels, number = {}, {}, {}, 0
    toc = yaml.safe_load((root / "_toc.yml").read_text())
    numbers[Path(toc["root"]).name] = None
    for part in toc.get("parts", []):
        for entry in part["chapters"]:
            number += bool(part.get("numbered"))
            numbers[Path(entry["file"]).name] = number if part.get("numbered") else None
    for chapter, number in numbers.items():
        source = (root / f"book/{chapter}.md").read_text(encoding="utf-8")
        titles[chapter] = re.search(r"^# (.+)$", source, re.MULTILINE)[1]
        labels.update(_labels(source, chapter, number))
    return Book(numbers, titles, labels, _works(root / "book/references.bib"))


def _labels(source, chapter, number):
    counts, inside, target, found = Counter(), "", None, {}
    for line in source.splitlines():
        if opened := _open.match(line):
            inside = opened[1]
        kind, label = None, None
        if match := _label.match(line):
            kind, label = inside, match[1]
        elif inside != "code-cell" and (match := _dollars.match(line)):
            kind, label = "math", match[1]
        elif match := _figure.match(line):
            kind, label = "figure", match[1]
        elif match := _target.match(line):
            target = match[1]
        elif target and (heading := re.match(r"#+ (.+)$", line)):
            found[target], target = Name(heading[1], chapter), None
        if label:
            counts[kind] += 1
            found[label] = Name(_text(kind, counts[kind] if number is None else f"{number}.{counts[kind]}"), chapter)
    return found


def _text(kind, number):
    if kind == "math":
        return f"({number})"
    return f"{'Fig.' if kind == 'figure' else kind.removeprefix('prf:').title()} {number}"


def _works(path):
    works = {}
    for key, entry in parse_file(path).entries.items():
        last = [" ".join(person.last_names) for person in entry.persons["author"]]
        who = f"{last[0]} et al." if len(last) > 2 else " and ".join(last)
        works[key] = who, entry.fields["year"]
    return works
