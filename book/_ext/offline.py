"""Pages that ask nothing of any other host: MathJax from the installed package, no remote kernels."""

import shutil
from importlib.util import find_spec
from pathlib import Path

import sphinx_thebe

USED = ["tex-chtml.js", "input/tex/extensions", "output/chtml/fonts/woff-v2"]


def copy_mathjax(app, exception):
    """Of the 24 MB of sphinx-mathjax-offline, copy just what the pages load."""
    if exception or app.builder.format != "html":
        return
    source = Path(find_spec("sphinx-mathjax-offline").origin).parent / "static/mathjax"
    for name in USED:
        target = Path(app.outdir, "_static/mathjax", name)
        if (source / name).is_dir():
            shutil.copytree(source / name, target, dirs_exist_ok=True)
        else:
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(source / name, target)


def drop_thebe(app):
    """Jupyter Book always loads sphinx-thebe, which puts a script naming a remote host, and an error, on every page."""
    for listeners in app.events.listeners.values():
        listeners[:] = [entry for entry in listeners if entry.handler.__module__ != sphinx_thebe.__name__]


def setup(app):
    app.config.mathjax_path = "mathjax/tex-chtml.js"
    app.connect("builder-inited", drop_thebe, priority=0)
    app.connect("build-finished", copy_mathjax)
    return {"parallel_read_safe": True}
