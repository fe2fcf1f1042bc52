"""The directive `explore`: a page's explorable, its scripts on that page alone, and the tables it reads.

A page opened from a folder may not fetch anything, so the table of tokens of "review" is written as a script.
"""

import json
from html import escape
from pathlib import Path

from docutils import nodes
from sphinx.util.docutils import SphinxDirective

from attnlib.explain import read_table

SCRIPTS = {
    "plane": """common plane_margin plane_field plane_flow plane_basins plane_presets plane_picture plane_marks
                plane_hand plane_list plane_edit plane""".split(),
    "step": "common words step_math step_plot step".split(),
    "review": "common words review_math review_plot review".split(),
}
TABLES = {"review": ("imdb", "yelp")}


class explorable(nodes.General, nodes.Element):
    """The place of an explorable on a page; until its script runs, what the directive holds stands there."""


class Explore(SphinxDirective):
    required_arguments = 1
    has_content = True

    def run(self):
        (name,) = self.arguments
        if name not in SCRIPTS:
            raise self.error(f"explore: {name!r} is not known, but one of {', '.join(SCRIPTS)} is needed")
        self.assert_has_content()  # what is missing without JavaScript, and which page shows it in figures
        self.env.metadata[self.env.docname].setdefault("explore", []).append(name)
        return [explorable("", *self.parse_content_to_nodes(), name=name)]


def visit(translator, node):
    translator.body.append(opening(node["name"]))


def depart(translator, node):
    translator.body.append("</div>\n")


def opening(name: str) -> str:
    return f'<div class="explore" data-explore="{escape(name)}">'


def say(translator, node):
    """On paper only what the directive holds."""


def add_scripts(app, pagename, templatename, context, doctree):
    """Scripts and style on the pages that use them."""
    names = (context.get("meta") or {}).get("explore", ())
    if names:
        app.add_css_file("explore/explore.css")
    for script in dict.fromkeys(script for name in names for script in SCRIPTS[name]):
        app.add_js_file(f"explore/{script}.js", loading_method="defer")


def write_tables(app, exception):
    """The tables of the explorables that some page shows."""
    if exception or app.builder.format != "html":
        return
    used = {name for meta in app.env.metadata.values() for name in meta.get("explore", ())}
    for corpus in dict.fromkeys(corpus for name in sorted(used) for corpus in TABLES.get(name, ())):
        path = Path(app.outdir, "_static/explore", f"{corpus}_tokens.js")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(table_script(corpus, read_table(corpus)), encoding="ascii")


def table_script(corpus: str, table: dict[str, tuple[float, float]]) -> str:
    """The table as a script: the tokens in one string, apart by blanks, and z and gamma in two lists."""
    z, gamma = zip(*table.values())
    tokens = json.dumps(" ".join(table))
    lists = ",".join(f"{name}:[{','.join(map(repr, column))}]" for name, column in (("z", z), ("gamma", gamma)))
    return f"(window.ExploreTables=window.ExploreTables||{{}})[{json.dumps(corpus)}]={{tokens:{tokens},{lists}}};\n"


def setup(app):
    app.add_node(explorable, html=(visit, depart), latex=(say, say), text=(say, say))
    app.add_directive("explore", Explore)
    app.connect("html-page-context", add_scripts)
    app.connect("build-finished", write_tables)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
