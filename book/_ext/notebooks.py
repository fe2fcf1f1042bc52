"""Each chapter as an .ipynb for download: plain Markdown, the outputs of the build, and a button on its page."""

import copy
import json
import re
from pathlib import Path

import keyed_cache
import names
import nbformat
import plain
from jupyter_cache import get_cache
from myst_nb.core.config import NbParserConfig
from myst_nb.core.read import create_nb_reader, is_myst_markdown_notebook
from myst_parser.config.main import MdParserConfig

FOLDER = "notebooks"
NEEDS = """*{chapter}of How Attention Chooses Tokens, as a notebook. To run it, use a Jupyter with the book's library:
in a copy of the project, `make setup`, then choose the Python of `.venv` as kernel (or `pip install -e ".[claims]"` there
into a Python of your own). What is not code is plain Markdown here; `make lab` opens the chapter itself.*"""


def executed(path: Path) -> nbformat.NotebookNode:
    """A chapter with the outputs that the build keeps of it; without, if it has not been run as it stands."""
    text = path.read_text(encoding="utf-8")
    notebook = create_nb_reader(str(path), MdParserConfig(), NbParserConfig(), text).read(text)
    if not (keyed_cache.path() / "global.db").exists():
        return notebook
    cache = get_cache(keyed_cache.path())
    try:
        ran = cache.get_cache_bundle(cache.match_cache_notebook(notebook).pk).nb
    except KeyError:
        return notebook
    outputs = [cell for cell in ran.cells if cell.cell_type == "code"]
    for cell, run in zip((cell for cell in notebook.cells if cell.cell_type == "code"), outputs, strict=True):
        cell.outputs, cell.execution_count = copy.deepcopy(run.outputs), run.execution_count
    return notebook


def glued(notebook) -> dict[str, str]:
    """The values that the text of a chapter names with {glue:text}."""
    found = {}
    for cell in notebook.cells:
        for output in cell.get("outputs", ()):
            name = output.get("metadata", {}).get("scrapbook", {}).get("name")
            if name:
                texts = [text for kind, text in output["data"].items() if kind.endswith("text/plain")]
                found[name] = texts[0].strip("'\"") if texts else ""
    return found


def convert(chapter: str, macros: dict, root: Path = names.ROOT) -> nbformat.NotebookNode:
    """The notebook of a chapter, for any Jupyter."""
    book, source = names.book(root), executed(root / f"book/{chapter}.md")
    values, number = glued(source), book.numbers[chapter]
    needs = NEEDS.format(chapter=f"Chapter {number} " if number else "Part ")
    cells = [nbformat.v4.new_markdown_cell(needs, id="needs")]

    def write(text):
        if text := plain.markdown(text, book, values, macros):
            cells.append(nbformat.v4.new_markdown_cell(text, id=f"cell-{len(cells)}"))

    for cell in source.cells:
        if cell.cell_type == "markdown":
            write(cell.source)
            continue
        figure = cell.metadata.get("mystnb", {}).get("figure", {})
        new = nbformat.v4.new_code_cell(cell.source, id=f"cell-{len(cells)}", execution_count=cell.execution_count)
        new.outputs = cell.outputs
        cells.append(new)
        if "caption" in figure:
            called = book.labels[figure["name"]].text if figure.get("name") in book.labels else "Figure"
            write(f"**{called}.** {figure['caption']}")
    kernel = {"display_name": "Python 3", "language": "python", "name": "python3"}
    return nbformat.v4.new_notebook(cells=cells, metadata={"kernelspec": kernel, "language_info": {"name": "python"}})


def chapters(root: Path = names.ROOT) -> list[str]:
    """Those pages of the book that are notebooks."""
    read = {name: (root / f"book/{name}.md").read_text(encoding="utf-8") for name in names.book(root).numbers}
    return [name for name, text in read.items() if is_myst_markdown_notebook(text)]


def add_button(app, pagename, templatename, context, doctree):
    """Put the notebook first among the downloads of its page."""
    if Path(pagename).name not in chapters() or not pagename.startswith("book/"):
        return
    for group in context.get("header_buttons", ()):
        if group.get("label") == "download-buttons":
            button = {"type": "link", "url": address(pagename), "text": ".ipynb", "icon": "fas fa-code"}
            group["buttons"].insert(0, button | {"tooltip": "Download notebook", "label": "download-notebook-button"})


def address(pagename: str) -> str:
    return f"../{FOLDER}/{Path(pagename).name}.ipynb"


def write(app, exception):
    """Write the notebooks, and make their links downloads, which the theme's buttons cannot say."""
    if exception or app.builder.format != "html":
        return
    macros = app.config.mathjax3_config["tex"]["macros"]
    folder = Path(app.outdir, FOLDER)
    folder.mkdir(exist_ok=True)
    for chapter in chapters():
        text = nbformat.writes(convert(chapter, macros)) + "\n"
        (folder / f"{chapter}.ipynb").write_text(text, encoding="utf-8")
        (folder / f"{chapter}.js").write_text(f"saveNotebook({json.dumps(text)});\n", encoding="utf-8")
        page = Path(app.outdir, f"book/{chapter}.html")
        html = page.read_text(encoding="utf-8")
        link = re.escape(f'<a href="{address(page.stem)}" target="_blank"')
        page.write_text(re.sub(link, f'<a href="{address(page.stem)}" download', html), encoding="utf-8")


def setup(app):
    app.add_js_file("notebooks.js")
    app.connect("html-page-context", add_button, priority=600)  # after the theme has made its buttons
    app.connect("build-finished", write)
    return {"parallel_read_safe": True}
