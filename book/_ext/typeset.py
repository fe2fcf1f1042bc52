"""What is typeset is what is tested: equations that exist as objects are rendered from them.

The source keeps the same text, for those who read it in JupyterLab; where the two differ the build complains.
"""

import re

from docutils import nodes
from sphinx.util import logging

logger = logging.getLogger(__name__)


def render(app, doctree):
    labelled = [node for node in doctree.findall(nodes.math_block) if node.get("label")]
    if not labelled:
        return
    from attnlib.claims.formulas import FORMULAS, latex

    for node in labelled:
        if node["label"] in FORMULAS:
            rendered = latex(node["label"])
            if node.astext().split() != rendered.split():
                logger.warning(f"{node['label']} is not typeset as it is tested, which is\n{rendered}", location=node)
            node.children = [nodes.Text(rendered)]


def keep_together(app, doctree, docname):
    """A formula in the text is not parted from the bracket before it or the punctuation after it at the end of a line."""
    for formula in list(doctree.findall(nodes.math)):
        parent = formula.parent
        place = parent.index(formula)
        before, after = parent[place - 1] if place else None, parent[place + 1] if place + 1 < len(parent) else None
        opening = re.search(r"[(\[“]*$", before)[0] if isinstance(before, nodes.Text) else ""
        closing = re.match(r"[.,;:!?)\]”’]*", after)[0] if isinstance(after, nodes.Text) else ""
        if not opening + closing:
            continue
        whole = nodes.inline(classes=["whole"])
        if opening:
            parent.replace(before, nodes.Text(before[: -len(opening)]))
        if closing:
            parent.replace(after, nodes.Text(after[len(closing) :]))
        parent.replace(formula, whole)
        whole.extend([nodes.Text(opening), formula, nodes.Text(closing)])


def setup(app):
    app.connect("doctree-read", render)
    app.connect("doctree-resolved", keep_together)
    return {"parallel_read_safe": True}
