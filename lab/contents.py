"""What JupyterLab shows of a chapter, and what it writes back.

On the way in, TeX macros and the number of the chapter go on top as front matter, and references that one file cannot
resolve (other chapters, works, glued values) become words that carry what they stand for. On the way out both are undone,
exactly; and a page whose cells have not changed is not written at all.
"""

import re
import sys
from pathlib import Path

import jupytext
import yaml

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "book/_ext"))

import names  # noqa: E402
import notebooks  # noqa: E402

NOTED = (
    "trusted",
    "collapsed",
    "execution",
    "scrolled",
    "jupyter",
)  # metadata that JupyterLab, or `fold`, adds to cells
FOLDED = (
    "hide-input",
    "hide-cell",
    "remove-input",
    "remove-cell",
)  # tags of cells whose code the book folds or leaves out
HEADER = re.compile(r"\A---\n.*?\n---\n\n?", re.DOTALL)
FRONT = re.compile(r"\A---\nmath:\n.*?\n---\n", re.DOTALL)
LINK = re.compile(r'\[(?:[^\[\]]|\[[^\[\]]*\])*\]\([\w.]+ "((?:cite:[pt]|doc|eq|ref|numref|prf:ref)) ([^"\n]+)"\)')
DISPLAY = re.compile(r"^( *)\$\$\n((?:(?!\$\$).)*?)\n\1\$\$$", re.DOTALL | re.MULTILINE)
UNNUMBERED = re.compile(r"^( *)```\{math\}\n *:enumerated: false\n(.*?)\n\1```$", re.DOTALL | re.MULTILINE)
CANNOT = re.compile(r"^```\{(ledger|explore)\} (\w+)\n```$", re.MULTILINE)
INSTEAD = "*Here the page of the book shows what JupyterLab cannot: {} {}.*"
VALUE = re.compile(r"\{abbr\}`[^`(]* \((glue:[\w:]+) ([^`)]+)\)`")


def shown(source: str, chapter: str, values: dict[str, str]) -> str:
    """A Markdown cell as JupyterLab shows it."""
    book = names.book(ROOT)

    def say(kind, target, text, written):
        inside = written.partition("`")[2][:-1]
        if kind.startswith("glue:"):
            return f"{{abbr}}`{re.sub('[`(].*', '', values.get(target.split(':')[0], target))} ({kind} {inside})`"
        words = book.role(kind, target, text)
        if words is None or '"' in inside:
            return written
        if kind in ("cite:p", "cite:t"):
            return f'[{words}](references.md "{kind} {inside}")'
        where = target if kind == "doc" else book.labels[target].chapter
        return written if where == chapter and kind != "numref" else f'[{words}]({where}.md "{kind} {inside}")'

    source = CANNOT.sub(INSTEAD.format(r"\1", r"\2"), source)
    source = DISPLAY.sub(
        r"\1```{math}\n\1:enumerated: false\n\2\n\1```", source
    )  # the book numbers labelled displays only
    return names.roles(source.replace("{prf:proof}\n", "{prf:proof}\n:enumerated: false\n"), say)


def written(source: str) -> str:
    """The same cell as it stands in the file.

    >>> cell = "By {prf:ref}`thm-nearest` and {cite:t}`wu2025attention`, {doc}`the flow <flow>` has {glue:text}`steps` steps."
    >>> written(shown(cell, "model", {"steps": "7"})) == cell
    True
    """
    source = re.sub(re.escape(INSTEAD).replace(r"\{\}", r"(\w+)"), r"```{\1} \2\n```", source)
    source = UNNUMBERED.sub(r"\1$$\n\2\n\1$$", FRONT.sub("", source)).replace(":enumerated: false\n", "")
    return VALUE.sub(r"{\1}`\2`", LINK.sub(r"{\1}`\2`", source))


def fold(notebook) -> None:
    """Hide the code that the book folds, and that of solutions; a click in JupyterLab shows it.

    >>> text = "{{solution-{}}}\\n\\n```{{code-cell}}\\n1\\n```\\n\\n"
    >>> notebook = jupytext.reads(text.format("start") + text.format("end"), "md:myst")
    >>> fold(notebook)
    >>> [cell.metadata.get("jupyter") for cell in notebook.cells if cell.cell_type == "code"]
    [{'source_hidden': True}, None]
    """
    solution = False
    for cell in notebook.cells:
        if cell.cell_type == "markdown":
            for mark in re.findall(r"\{solution-(start|end)\}", cell.source):
                solution = mark == "start"
        elif solution or {*FOLDED} & {*cell.metadata.get("tags", ())}:
            cell.metadata["jupyter"] = {"source_hidden": True}


def front(chapter: str) -> str:
    """Front matter for jupyterlab-myst: the macros of the book and the number of the chapter."""
    config = yaml.safe_load((ROOT / "_config.yml").read_text())
    macros = config["sphinx"]["config"]["mathjax3_config"]["tex"]["macros"]
    matter = {"math": {f"\\{name}": body if isinstance(body, str) else body[0] for name, body in macros.items()}}
    if number := names.book(ROOT).numbers.get(chapter):
        matter["numbering"] = {"enumerator": f"{number}.%s"}
    return f"---\n{yaml.safe_dump(matter, sort_keys=False)}---\n"


def table_of_contents() -> str:
    """A page that leads to the chapters, as the book has them."""
    toc, book = yaml.safe_load((ROOT / "_toc.yml").read_text()), names.book(ROOT)
    first = Path(toc["root"]).name
    lines = [f"# {book.titles[first]}", "", f"[Introduction]({first}.md)"]
    for part in toc["parts"]:
        lines += ["", f"**{part['caption']}**", ""]
        for chapter in (Path(entry["file"]).name for entry in part["chapters"]):
            number = book.numbers[chapter]
            lines.append(f"{f'{number}.' if number else '-'} [{book.titles[chapter]}]({chapter}.md)")
    return "\n".join(lines) + "\n"


class BookContents(jupytext.TextFileContentsManager):
    def get(self, path, content=True, *args, **kwargs):
        model = super().get(path, content, *args, **kwargs)
        if content and model["type"] == "notebook" and path.endswith(".md"):
            notebook, chapter = model["content"], Path(path).stem
            notebook.metadata.setdefault("kernelspec", {"name": "python3", "display_name": "Python 3"})
            texts = [cell for cell in notebook.cells if cell.cell_type == "markdown"]
            values = self.values(path) if any("{glue:" in cell.source for cell in texts) else {}
            fold(notebook)
            for cell in texts:
                cell.source = shown(cell.source, chapter, values)
            if texts and chapter in names.book(ROOT).numbers:
                texts[0].source = front(chapter) + texts[0].source
        return model

    def save(self, model, path=""):
        if model["type"] != "notebook" or not path.endswith(".md"):
            return super().save(model, path)
        for cell in model["content"]["cells"]:
            cell["metadata"] = {key: value for key, value in cell["metadata"].items() if key not in NOTED}
            if cell["cell_type"] == "markdown":
                cell["source"] = written(cell["source"])
        old = super().get(path)["content"] if self.file_exists(path) else None
        if old and cells(old) == cells(model["content"]):
            return super().get(path, content=False)
        file = Path(self._get_os_path(path))
        headless = bool(old) and not file.read_text(encoding="utf-8").startswith("---\n")
        saved = super().save(model, path)
        if headless:  # a page without code stays one: jupytext would make a notebook of it
            file.write_text(HEADER.sub("", file.read_text(encoding="utf-8")), encoding="utf-8")
            saved = super().get(path, content=False)
        return saved

    def values(self, path):
        return notebooks.glued(notebooks.executed(Path(self._get_os_path(path))))


def cells(notebook) -> list:
    """What a file keeps of the cells: everything but the outputs and what JupyterLab notes for itself."""
    kept = [{key: x for key, x in cell["metadata"].items() if key not in NOTED} for cell in notebook["cells"]]
    return [(cell["cell_type"], cell["source"], own) for cell, own in zip(notebook["cells"], kept, strict=True)]
