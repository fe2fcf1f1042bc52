"""Typeset mathematics with no network: copy from the installed sphinx-mathjax-offline just what pages load."""

import shutil
from importlib.util import find_spec
from pathlib import Path

USED = ["tex-chtml.js", "input/tex/extensions", "output/chtml/fonts/woff-v2"]


def setup(app):
    source = Path(find_spec("sphinx-mathjax-offline").origin).parent / "static/mathjax"

    def copy(app, exception):
        if exception or app.builder.format != "html":
            return
        for name in USED:
            target = Path(app.outdir, "_static/mathjax", name)
            if (source / name).is_dir():
                shutil.copytree(source / name, target, dirs_exist_ok=True)
            else:
                target.parent.mkdir(parents=True, exist_ok=True)
                shutil.copy(source / name, target)

    app.connect("build-finished", copy)
    app.config.mathjax_path = "mathjax/tex-chtml.js"
    return {"parallel_read_safe": True}
