"""The build is strict: what is wrong on a page, or out of date, does not pass."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import keyed_cache
import pytest

ROOT = Path(__file__).resolve().parents[1]
PAGE = """\
---
jupytext:
  text_representation:
    extension: .md
    format_name: myst
kernelspec:
  display_name: Python 3
  language: python
  name: python3
---
# A page

```{code-cell} python
from attnlib import plots
print("grey is", plots.GREY)
```
"""


@pytest.fixture
def small_book(tmp_path):
    """A copy of the project whose book is one page."""
    for name in ("_config.yml", "requirements.txt", "constraints.txt"):
        shutil.copy(ROOT / name, tmp_path)
    for name in ("attnlib", "book/_ext", "book/_static"):
        shutil.copytree(ROOT / name, tmp_path / name, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(ROOT / "book/references.bib", tmp_path / "book")
    (tmp_path / "_toc.yml").write_text("format: jb-book\nroot: book/page\n")
    (tmp_path / "book/page.md").write_text(PAGE)
    return tmp_path


def build(book: Path) -> subprocess.CompletedProcess:
    """The command of `make book`, with the copy's own library."""
    return subprocess.run(
        [Path(sys.executable).with_name("jupyter-book"), "build", ".", "-W", "-n", "--keep-going"],
        cwd=book,
        env=os.environ | {"PYTHONPATH": str(book)},
        capture_output=True,
        text=True,
    )


def test_a_clean_page_builds(small_book):
    run = build(small_book)
    assert run.returncode == 0, run.stdout + run.stderr
    assert "grey is #7F7F7F" in (small_book / "_build/html/book/page.html").read_text()


@pytest.mark.parametrize(
    "planted, message",
    [
        ("```{code-cell} python\nassert 1 + 1 == 3, 'planted'\n```\n", "AssertionError"),
        ("See {prf:ref}`thm-nowhere`.\n", "thm-nowhere"),
        ("See {eq}`eq-nowhere`.\n", "eq-nowhere"),
        ("See {cite}`nobody1900`.\n", "nobody1900"),
        ("[a link](missing.md)\n", "missing.md"),
    ],
    ids=["failing cell", "undefined theorem", "undefined equation", "undefined citation", "broken link"],
)
def test_a_planted_fault_turns_the_build_red(small_book, planted, message):
    (small_book / "book/page.md").write_text(PAGE + "\n" + planted)
    run = build(small_book)
    assert run.returncode != 0
    assert message in run.stdout + run.stderr


def test_an_edit_of_the_library_changes_the_page(small_book):
    page, library = small_book / "_build/html/book/page.html", small_book / "attnlib/plots.py"
    assert build(small_book).returncode == 0
    first = page.read_text()
    library.write_text(library.read_text().replace("#7F7F7F", "#808080"))
    assert build(small_book).returncode == 0
    assert "grey is #7F7F7F" in first
    assert "grey is #808080" in page.read_text()


def test_the_key_follows_the_lock_and_the_data(small_book, tmp_path_factory, monkeypatch):
    monkeypatch.delenv("ATTNLIB_DATA", raising=False)
    keys = [keyed_cache.key(small_book)]
    (small_book / "constraints.txt").write_text("numpy==0\n")
    keys.append(keyed_cache.key(small_book))
    data = tmp_path_factory.mktemp("data")
    monkeypatch.setenv("ATTNLIB_DATA", str(data))
    for content in ("one", "other content"):
        (data / "imdb.parquet").write_text(content)
        keys.append(keyed_cache.key(small_book))
    assert len(set(keys)) == len(keys)
    assert keyed_cache.key(small_book) == keys[-1]
