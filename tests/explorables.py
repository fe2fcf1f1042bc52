"""What the tests of the explorables share: the pages, opened with the network off, and the same problems in the library.

The pages are made here of the directive's own opening and scripts, in a folder.
"""

import shutil
import unicodedata
from itertools import product
from pathlib import Path

import explore
import numpy as np
import pytest
from scipy import sparse

from attnlib import LOGISTIC, Infeasible, SelectionProblem, is_locally_optimal, max_margin
from attnlib.explain import read_table

ROOT = Path(__file__).resolve().parents[1]


TEXT = "<p>In <em>a loud document</em>, in <em>a negation</em>, in <em>nothing</em>.</p>"


HALF = 2.5  # the window of the plane, [-HALF, HALF] on both axes


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    folder = tmp_path_factory.mktemp("site")
    shutil.copytree(ROOT / "book/_static/explore", folder / "explore")
    for corpus in explore.TABLES["review"]:
        (folder / f"explore/{corpus}_tokens.js").write_text(explore.table_script(corpus, read_table(corpus)))
    for name, scripts in explore.SCRIPTS.items():
        tags = "".join(f'<script defer src="explore/{script}.js"></script>' for script in scripts)
        style = '<link rel="stylesheet" href="explore/explore.css"><meta name="viewport" content="width=device-width">'
        page = f'<!doctype html><meta charset="utf-8">{style}{explore.opening(name)}<p>It needs JavaScript.</p></div>{TEXT}{tags}'
        (folder / f"{name}.html").write_text(page)
    return folder


@pytest.fixture
def visit(site, open_tab):
    """Open an explorable; it must not complain of anything, nor ask for anything from outside."""
    opened = []

    def visit(name, width=1200, **options):
        opened.append(tab := open_tab(width, 1000, **options))
        tab.goto(f"file://{site / name}.html")
        tab.wait_for_selector(".explore[data-ready]")
        return tab

    yield visit
    for tab in opened:
        assert tab.complaints == [] and tab.outside == []


def problem(documents, label=1, ell=LOGISTIC):
    """The same problem in the library; scores are label-scores, so a negative label has the values negated."""
    rows = np.array([[t["x"], t["y"], t["score"]] for tokens in documents for t in tokens])
    ends = np.cumsum([0] + [len(tokens) for tokens in documents])
    C = sparse.csr_array((np.ones(len(rows)), np.arange(len(rows)), ends), shape=(len(documents), len(rows)))
    return SelectionProblem(rows[:, :2], label * rows[:, 2], C, [label] * len(documents), ell)


def token(x, y, score):
    return {"x": float(x), "y": float(y), "score": float(score)}


def random_documents(rng):
    """Up to 3 documents of 2 to 4 tokens on a coarse grid, so that keys and scores tie now and then."""
    T = rng.integers(2, 5, size=rng.integers(1, 4))
    draw = lambda: token(*rng.integers(-20, 21, size=2) / 10, rng.integers(-3, 4) / 2)
    return [[draw() for _ in range(t)] for t in T]


def first_rows(documents):
    return np.cumsum([0] + [len(tokens) for tokens in documents])[:-1]


@pytest.fixture
def presets(visit):
    return lambda tab: tab.evaluate(
        """Object.fromEntries(Object.entries(Explore.presets).map(([name, { documents }]) =>
           [name, documents.map((tokens) => tokens.map(([x, y, score]) => ({ x, y, score })))]))"""
    )


FOLLOW = """([documents, starts, options]) => { const P = Explore.field.compile(documents, options.loss);
    const table = Explore.flow.limits(P, Explore.margin.selections(documents));
    return starts.map(([x, y]) => Explore.flow.follow(P, table, x, y, options)); }"""


def rows_of(tab):
    """The list on the page: selection -> (margin, locally optimal, per cent of starts)."""
    cells = tab.locator("tr[data-selection]").evaluate_all(
        "all => all.map(row => [row.dataset.selection, ...Array.from(row.cells).slice(1).map(cell => cell.textContent)])"
    )
    return {key: (float(margin), optimal == "yes", int(share[:-2])) for key, margin, optimal, share in cells}


def wait_fine(tab):
    tab.wait_for_function("document.querySelector('.explore').dataset.starts === 'fine'")


def screen(tab, x, y):
    frame = tab.locator(".ex-plot svg").bounding_box()
    return frame["x"] + frame["width"] * (x + HALF) / (2 * HALF), frame["y"] + frame["height"] * (HALF - y) / (2 * HALF)


def label_of(tab, name):
    return tab.locator(f"[data-token={name}]").get_attribute("aria-label")


def agrees(tab, documents):
    """The list on the page against the library, for documents of 1 or 2 documents."""
    P, first, shown = problem(documents), first_rows(documents), rows_of(tab)
    feasible = 0
    for choice in product(*(range(len(tokens)) for tokens in documents)):
        rows, key = first + list(choice), ",".join(map(str, choice))
        try:
            solution = max_margin(P, rows)
        except Infeasible:
            assert key not in shown
            continue
        feasible += 1
        assert shown[key][0] == pytest.approx(solution.margin, abs=6e-4)
        assert shown[key][1] == is_locally_optimal(P, rows, solution)
    assert feasible == len(shown)
    assert sum(share for _, _, share in shown.values()) in range(98, 103)
    return shown


TEXTS = [
    "A wonderful film!", "It wasn't bad.<br />9/10", "D\u2019accord, l\u2019\u00e9t\u00e9 \u00c0 Z\u00dcRICH", "\u0130stanbul \u039f\u0394\u039f\u03a3 \u1e9e",
    "\u05e9\u05dc\u05d5\u05dd \u05e2\u05d5\u05dc\u05dd", "\u0645\u0631\u062d\u0628\u0627 bad good good", "\u4f60\u597d\u4e16\u754c \u0939\u093f\u0928\u094d\u0926\u0940",
    "\U0001f600 emoji \U0001f468\u200d\U0001f469\u200d\U0001f467 film", "<script>alert(1)</script> & <b>bold</b>", "tab\tnull\x00bell\x07 \x1b[31mred \u202egnp",
    "''quoted'' don''t rock'n'roll'", "\u00bd \u00b2 \u2160 x\u0301y _under_score_ 3.14", "\U0001d400\U0001d401 \ufb01 \uff21\uff22", "film",
]  # fmt: skip


def assigned(rng, size):
    """Random text of characters that Python's Unicode tables know; no halves of surrogate pairs."""
    codes = rng.choice([0x80, 0x250, 0x3000, 0x20000], size=size) * rng.random(size)
    text = "".join(map(chr, codes.astype(int)))
    return "".join(x for x in text if unicodedata.category(x) not in ("Cn", "Cs"))


def number(text):
    return float(text.replace("\u2212", "-"))


def set_slider(tab, label, value):
    """As a reader's keyboard or finger would: a value, and the event that goes with it."""
    tab.get_by_role("slider", name=label).evaluate(
        "(slider, value) => { slider.value = value; slider.dispatchEvent(new Event('input', { bubbles: true })); }",
        value,
    )


def open_review(visit, corpus="imdb", **options):
    tab = visit("review", **options)
    tab.wait_for_function("window.ExploreTables && window.ExploreTables.imdb")
    if corpus == "yelp":
        tab.get_by_label("Model trained on").select_option("yelp")
        tab.wait_for_function("window.ExploreTables.yelp")
    return tab
