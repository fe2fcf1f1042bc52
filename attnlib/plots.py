"""The book's figures: one palette, one form for light and dark pages, and words for those who cannot see them.

A figure is drawn once, as SVG put into the page. Its data keep the palette, whose colours stand out on white and on
near-black; its ink (axes, labels, ticks) takes the colour of the surrounding text, whatever the page or the theme.
"""

import html
import io
import re
from zlib import crc32

import matplotlib.pyplot as plt
import numpy as np
import seaborn as sns

BLUE, ORANGE, GREEN, PURPLE, GREY = PALETTE = ("#0072B2", "#D55E00", "#009E73", "#B8659A", "#7F7F7F")
INK = "#010203"  # stands for the page's text colour until the figure is shown


class Drawing:
    """A finished figure: markup for the page, with its description for screen readers."""

    def __init__(self, markup: str, alt: str):
        if not alt.strip():
            raise ValueError("alt is empty: say in words and numbers what the figure shows")
        self.markup, self.alt = markup, alt

    def _repr_html_(self) -> str:
        return f'<div class="drawing" role="img" aria-label="{html.escape(self.alt, quote=True)}">{self.markup}</div>'

    def __repr__(self) -> str:
        return f"Drawing({self.alt!r})"


def axes(rows: int = 1, columns: int = 1, width: float = 7.0, height: float = 3.2, **options):
    """A figure and its axes in the book's style."""
    ink = dict.fromkeys(("text.color", "axes.labelcolor", "axes.edgecolor", "xtick.color", "ytick.color"), INK)
    rc = {"figure.constrained_layout.use": True, "axes.spines.top": False, "axes.spines.right": False, "font.size": 10}
    legend = {"legend.frameon": False, "legend.labelcolor": INK}
    sns.set_theme(style="ticks", palette=list(PALETTE), rc=ink | rc | legend)
    return plt.subplots(rows, columns, figsize=(width, height), **options)


def show(figure, alt: str) -> Drawing:
    """The figure as the cell's output; `alt` says in words and numbers what it shows."""
    buffer = io.StringIO()
    with plt.rc_context({"svg.hashsalt": alt, "svg.fonttype": "path"}):
        figure.savefig(buffer, format="svg", transparent=True, metadata={"Date": None})
    plt.close(figure)
    svg = buffer.getvalue()
    svg = svg[svg.index("<svg") :].replace(INK, "currentColor")
    prefix = f"d{crc32(alt.encode()):x}-"  # several figures share one page, and so one space of ids
    svg = re.sub(r'(\bid="|href="#|url\(#)', rf"\g<1>{prefix}", svg)
    return Drawing(svg, alt)


def sentences(documents, attention, values, heading: str) -> str:
    """Token lists as HTML, one below the other under a heading, each word boxed: blue, orange or grey by the sign of
    its value, and the more solid the more attention it gets. `attention` and `values` hold one number a word."""
    lines = []
    for words, masses, signs in zip(documents, attention, values):
        boxes = []
        for word, mass, value in zip(words, masses, signs):
            colour = {1: BLUE, -1: ORANGE, 0: GREY}[np.sign(value)] + f"{round(230 * mass):02x}"
            boxes.append(f'<span style="background:{colour}">{html.escape(word)}</span>')
        lines.append(f"<p>{' '.join(boxes)}</p>")
    return f'<div class="sentences"><p>{html.escape(heading)}</p>{"".join(lines)}</div>'
