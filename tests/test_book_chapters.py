"""Every chapter runs from start to end, into the cache the book is built from: once, not twice."""

import logging
from pathlib import Path

import keyed_cache
import pytest
from myst_nb.core.config import NbParserConfig
from myst_nb.core.execute import create_client
from myst_nb.core.read import create_nb_reader, is_myst_markdown_notebook
from myst_parser.config.main import MdParserConfig
from sphinx_external_toc.parsing import parse_toc_yaml

ROOT = Path(__file__).resolve().parents[1]
PAGES = list(parse_toc_yaml(ROOT / "_toc.yml"))
CHAPTERS = [page for page in PAGES if is_myst_markdown_notebook((ROOT / f"{page}.md").read_text())]


def test_there_are_chapters():
    assert {"book/intro", "book/model", "book/one_step"} <= set(CHAPTERS) < set(PAGES)


@pytest.mark.xdist_group("book")
@pytest.mark.parametrize("chapter", CHAPTERS)
def test_chapter_runs(chapter, record_property):
    record_property("chapter seconds", round(run(chapter).exec_metadata["runtime"], 1))


@pytest.mark.xdist_group("book")
@pytest.mark.parametrize("chapter", ["book/imdb", "book/yelp"])
def test_chapters_on_real_text_run_from_stored_results(chapter, monkeypatch, tmp_path):
    monkeypatch.delenv("ATTNLIB_DATA", raising=False)
    monkeypatch.setenv("HF_HOME", str(tmp_path))
    first = next(cell for cell in run(chapter).notebook.cells if cell.cell_type == "code")
    assert first.outputs[0].text.startswith("stored results of 20")


def run(chapter):
    """Execute a chapter into the cache of the present environment, or find it there."""
    path = ROOT / f"{chapter}.md"
    config = NbParserConfig(
        execution_mode="cache",
        execution_cache_path=str(keyed_cache.path()),
        execution_timeout=300,
        execution_raise_on_error=True,
    )
    reader = create_nb_reader(str(path), MdParserConfig(), config, path.read_text())
    notebook = reader.read(path.read_text())
    with create_client(notebook, str(path), config, logging.getLogger("chapters"), reader.read_fmt) as client:
        cells = client.notebook.cells
    errors = [output for cell in cells for output in cell.get("outputs", ()) if output.output_type == "error"]
    assert client.exec_metadata["succeeded"] and not errors
    return client
