"""The index, in the sources: every statement is in it, its names agree with each other, and notebooks do not show it.

What becomes of it on the pages is tested in test_book.py, where the book is built.
"""

import re
from pathlib import Path

import jupytext
import names
import plain
import pytest
import statements

BOOK = Path(__file__).resolve().parents[1] / "book"
DIRECTIVE = re.compile(r"^```\{index\} (.+)\n```$", re.MULTILINE)
ROLE = re.compile(r"\{index\}`(?:[^`<]+<([^`>]+)>|([^`]+))`")
PROPER = ("Attention", "Corpus", "Farkas", "Figure", "Figures", "Gaussian", "Hessian", "IMDB", "Infeasible", "Joint")
PROPER += ("ATT-SVM", "GMM", "LMM", "Lambert's", "Lipschitz", "SVM", "SelectionProblem", "Yelp")


def written(source: str) -> list[str]:
    """The entries of a source; of `see: word; other`, the word."""
    lines = [match[1] for match in DIRECTIVE.finditer(source)]
    lines += [match[1] or match[2] for match in ROLE.finditer(source)]
    entries = [line[4:].split(";")[:1] if line.startswith("see:") else line.split(",") for line in lines]
    return [entry.strip() for parts in entries for entry in parts]


def entries() -> dict[str, list[str]]:
    """The chapters in which each entry stands."""
    found = {}
    for path in sorted(BOOK.glob("*.md")):
        for entry in written(path.read_text(encoding="utf-8")):
            found.setdefault(entry, []).append(path.stem)
    return found


def test_entries_are_read():
    source = "A *{index}`term`*, {index}`words <a; b>`.\n\n```{index} c; d, e\n```\n```{index} see: f; c\n```\n"
    assert written(source) == ["c; d", "e", "f", "term", "a; b"]


def test_there_are_entries_from_every_chapter_with_statements():
    found = entries()
    assert len(found) >= 150
    with_statements = {statement.chapter for statement in statements.statements().values()}
    assert with_statements <= {chapter for chapters in found.values() for chapter in chapters}


def test_every_statement_is_in_the_index():
    """A directive stands directly before each definition, assumption, theorem, lemma, proposition and corollary."""
    for label, statement in statements.statements().items():
        lines = (BOOK / f"{statement.chapter}.md").read_text(encoding="utf-8").splitlines()
        above = [line for line in lines[: statement.start - 1] if line.strip()][-2:]
        assert above[0].startswith("```{index} ") and above[1] == "```", (
            f"{statement.chapter}.md: put ```{{index}} name``` before {label}"
        )


def test_every_entry_stands_once():
    assert {entry: chapters for entry, chapters in entries().items() if len(chapters) > 1} == {}


def test_names_agree():
    """Lower case, singular, and one spelling a term."""
    heads = {entry.partition(";")[0].strip() for entry in entries()}
    for entry in entries():
        for word in (part.split()[0] for part in entry.split(";")):
            assert word in PROPER or word == word.lower() or not word[0].isascii(), entry
    spellings = {}
    for head in heads:
        spellings.setdefault(re.sub(r"[\s-]|s\b", "", head.lower()), set()).add(head)
    assert [same for same in spellings.values() if len(same) > 1] == []


def test_names_of_the_library_exist():
    library = "\n".join(path.read_text(encoding="utf-8") for path in (BOOK.parent / "attnlib").glob("*.py"))
    listed = [entry.removeprefix("attnlib; ") for entry in entries() if entry.startswith("attnlib; ")]
    assert len(listed) > 15
    for name in listed:
        assert re.search(rf"^ *(?:def|class) {name}\b", library, re.MULTILINE), name


@pytest.mark.parametrize("chapter", names.book().numbers)
def test_notebooks_do_not_show_it(chapter):
    """Roles become their words, directives nothing; only what a notebook cannot show is replaced by a sentence."""
    source = (BOOK / f"{chapter}.md").read_text(encoding="utf-8")
    texts = [cell.source for cell in jupytext.reads(source, "md:myst").cells if cell.cell_type == "markdown"]
    shown = "\n".join(plain.markdown(text, names.book(), {}, {}) for text in texts)
    assert "{index}" not in shown and "<paper" not in shown
    assert shown.count("shows what a notebook cannot") == len(
        re.findall(r"^```\{(?:ledger|explore|bibliography)\}", source, re.MULTILINE)
    )


def test_a_word_in_the_index_reads_as_before():
    source = "The *{index}`score`* and\n\n```{index} value, sum; of values\n```\n\nits {index}`sums <sum>`."
    assert plain.markdown(source, names.book(), {}, {}) == "The *score* and\n\nits sums."
