"""The ledger on the pages: a line of evidence under every statement, and the tables and the graph of the ledger's page.

The claims are measured once for a state of the library and kept beside the executed chapters.
"""

import fcntl
import json
import os
import subprocess
import sys
from functools import cache
from pathlib import Path

import keyed_cache
import ledger_html
import statements
from docutils import nodes
from docutils.parsers.rst import directives
from sphinx.util import logging
from sphinx.util.docutils import SphinxDirective
from sphinx_external_toc.parsing import parse_toc_yaml

logger = logging.getLogger(__name__)
PAGE = "book/ledger"


@cache
def measured() -> list[dict]:
    """The records of all claims, from the cache, or measured now, which takes a minute or two.

    A build and the tests may ask at the same time: the second waits for the first.
    """
    path = keyed_cache.path() / "ledger.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    with open(path.with_suffix(".lock"), "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not path.exists():
            logger.info("measuring the claims of the book ...")
            library = os.environ | {"PYTHONPATH": str(keyed_cache.ROOT)}
            command = [sys.executable, "-m", "attnlib", "check", "--json"]
            run = subprocess.run(command, capture_output=True, text=True, env=library)
            if run.returncode not in (0, 1):  # 1 says that a claim does not hold, which the pages will show
                raise RuntimeError(f"the ledger could not be measured: {run.stderr}")
            part = path.with_suffix(".part")
            part.write_text(run.stdout)
            part.replace(path)
    return json.loads(path.read_text())


class part(nodes.General, nodes.Element):
    """A part of the ledger, drawn when all numbers and pages are known."""


class LedgerPart(SphinxDirective):
    """```{ledger} tally|table|matrix|graph```"""

    required_arguments = 1

    def run(self):
        shown = directives.choice(self.arguments[0], ("tally", "table", "matrix", "graph"))
        return [part(shown=shown)]


class Book:
    """Where each labelled statement stands and what it is called, as seen from one page."""

    def __init__(self, app, docname):
        self.app, self.docname, self.env = app, docname, app.env

    def link(self, label: str) -> str:
        """The address of a statement."""
        return self.address(self.env.proof_list[label]["docname"], label)

    def evidence(self, label: str) -> str:
        """The address of a claim's row in the ledger."""
        return self.address(PAGE, f"claim-{label}")

    def address(self, docname: str, anchor: str) -> str:
        here = self.app.builder.get_relative_uri(self.docname, docname)
        return f"{here}#{anchor}"

    def name(self, label: str) -> str:
        """Theorem 2.1, say."""
        entry = self.env.proof_list[label]
        number = self.env.toc_fignumbers.get(entry["docname"], {}).get(entry["countertype"], {}).get(label, ())
        return f"{entry['realtype'].title()} {'.'.join(map(str, number))}".strip()

    def chapter(self, label: str) -> str:
        return Path(self.env.proof_list[label]["docname"]).name

    def title(self, chapter: str) -> str:
        return self.env.titles[f"book/{chapter}"].astext()

    @property
    def labels(self) -> list[str]:
        """All labelled statements, as a reader meets them."""
        return in_order()


def raw(markup: str) -> nodes.raw:
    return nodes.raw("", markup, format="html")


def stamp(app, doctree, docname):
    """Put the evidence under statements and numbered equations, and draw the parts of the ledger."""
    book = Book(app, docname)
    elements = doctree.findall(nodes.Element)
    stated = [node for node in elements if node.get("realtype") in statements.CLAIMED]
    parts = list(doctree.findall(part))
    equations = [node for node in doctree.findall(nodes.math_block) if node.get("label")]
    if not (stated or parts or equations):
        return
    from attnlib.claims import ledger

    claims = ledger()
    covered = {label: claim.id for claim in claims.values() for label in (*claim.covers, claim.id)}
    for node in stated:
        label = node["label"]
        if label not in claims:
            logger.warning(f"no claim is called {label}: nothing checks this statement", location=docname)
            continue
        record = records()[label]
        if not record["ok"]:
            logger.warning(f"the claim {label} does not hold: python -m attnlib check {label}", location=docname)
        node += raw(ledger_html.badge(record, book))
    for node in equations:
        if node["label"] in covered:
            node.parent.insert(
                node.parent.index(node) + 1, raw(ledger_html.badge(records()[covered[node["label"]]], book))
            )
    for node in parts:
        draw = getattr(ledger_html, node["shown"])
        node.replace_self(raw(draw(list(records().values()), claims, book)))


@cache
def records() -> dict[str, dict]:
    """The records by id, in the order in which the statements stand in the book."""
    place = {label: k for k, label in enumerate(in_order())}
    return {
        record["id"]: record for record in sorted(measured(), key=lambda record: place.get(record["id"], len(place)))
    }


@cache
def in_order() -> list[str]:
    """The labels of all statements, as a reader meets them."""
    chapters = statements.book()
    pages = [Path(page).name for page in parse_toc_yaml(keyed_cache.ROOT / "_toc.yml")]
    return [found.label for page in pages for found in chapters[page].statements]


def add_script(app, pagename, templatename, context, doctree):
    if pagename == PAGE:
        app.add_js_file("ledger.js")


def setup(app):
    app.add_node(part)
    app.add_directive("ledger", LedgerPart)
    app.add_config_value("ledger_key", keyed_cache.key(), "html")  # other numbers, other pages
    app.connect("doctree-resolved", stamp)
    app.connect("html-page-context", add_script)
    return {"parallel_read_safe": True, "parallel_write_safe": False}
