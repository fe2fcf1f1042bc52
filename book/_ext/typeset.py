"""What is typeset is what is tested: equations that exist as objects are rendered from them.

The source keeps the same text, for those who read it in JupyterLab; where the two differ the build complains.
"""

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


def setup(app):
    app.connect("doctree-read", render)
    return {"parallel_read_safe": True}
