"""Chapters in the form in which jupytext writes them, so that saving one in JupyterLab changes only what was edited.

`make format` runs this on every chapter; with --check it names those that are not yet in this form.
"""

import sys
from pathlib import Path

import jupytext
from jupytext.config import load_jupytext_config

BOOK = Path(__file__).resolve().parents[1] / "book"


def canonical(path: Path) -> str:
    """The text of a chapter as jupytext writes it, captions unwrapped first; of other pages, the text itself."""
    text = path.read_text(encoding="utf-8")
    if not text.startswith("---\njupytext:"):
        return text
    notebook = jupytext.reads(text, "md:myst")
    for cell in notebook.cells:
        figure = cell.metadata.get("mystnb", {}).get("figure", {})
        if "caption" in figure:
            figure["caption"] = " ".join(figure["caption"].split())
    return jupytext.writes(notebook, "md:myst", config=load_jupytext_config(str(path)))


def main(check: bool) -> int:
    changed = [path for path in sorted(BOOK.glob("*.md")) if canonical(path) != path.read_text(encoding="utf-8")]
    for path in changed:
        print(f"book/{path.name}: not in jupytext's form; make format writes it so" if check else f"wrote {path.name}")
        if not check:
            path.write_text(canonical(path), encoding="utf-8")
    return int(check and bool(changed))


if __name__ == "__main__":
    sys.exit(main("--check" in sys.argv[1:]))
