"""The explorables: their JavaScript gives the library's numbers, and in a browser they do what a reader does with them.

The pages are made here of the directive's own container and scripts, in a folder, and opened with the network off.
"""

import io
import json
import re
import shutil
import unicodedata
import warnings
from itertools import product
from pathlib import Path

import explore
import mpmath
import numpy as np
import pytest
from bs4 import BeautifulSoup
from scipy import sparse
from sphinx.application import Sphinx

from attnlib import (
    Attention,
    Corpus,
    Infeasible,
    SelectionProblem,
    gradient_flow,
    is_locally_optimal,
    max_margin,
    one_step,
    posterior_difference,
    remainder_bound,
    selected,
    signed_frequency,
)
from attnlib.corpus import tokenize
from attnlib.explain import explain, read_table
from attnlib.flow import turning

ROOT = Path(__file__).resolve().parents[1]
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
        page = f'<!doctype html><meta charset="utf-8">{style}{explore.opening(name)}<p>It needs JavaScript.</p></div>{tags}'
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


# --- tokens in the plane ---------------------------------------------------------------------------------------------


def problem(documents, label=1):
    """The same problem in the library; scores are label-scores, so a negative label has the values negated."""
    rows = np.array([[t["x"], t["y"], t["score"]] for tokens in documents for t in tokens])
    ends = np.cumsum([0] + [len(tokens) for tokens in documents])
    C = sparse.csr_array((np.ones(len(rows)), np.arange(len(rows)), ends), shape=(len(documents), len(rows)))
    return SelectionProblem(rows[:, :2], label * rows[:, 2], C, [label] * len(documents))


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


LOOK = """(cases) => cases.map(({ documents, p }) => { const P = Explore.field.compile(documents);
    return Explore.field.look(P, ...p) ? { g: [P.gx, P.gy], logNorm: P.logNorm, J: Explore.field.turning(P), rounding: P.rounding } : null; })"""


@pytest.mark.parametrize("label", [1, -1])
def test_direction_norm_and_turning_are_the_library_s(visit, label):
    rng = np.random.default_rng(0)
    cases, expected = [], []
    while len(cases) < 300:
        documents, p = random_documents(rng), rng.normal(size=2) * 10.0 ** rng.integers(-1, 7)
        try:
            P = problem(documents, label)
            expected.append((*P.log_gradient(p), turning(P, p)))
            cases.append({"documents": documents, "p": p.tolist()})
        except ValueError:  # no direction to rounding
            continue
    compared = 0
    for case, found, (g, log_norm, J) in zip(cases, visit("plane").evaluate(LOOK, cases), expected):
        assert found is not None
        # scores are sums of two products, rounded in another order than numpy's: an error of eps |z| in each logarithm
        error = 1e-12 + 1e-15 * np.linalg.norm(case["p"])
        if found["rounding"] > 1e-15:  # documents that cancel each other cost digits in both
            error *= found["rounding"] / 1e-16
        if error > 1e-6:
            continue
        compared += 1
        np.testing.assert_allclose(found["g"], g, atol=error)
        assert found["logNorm"] == pytest.approx(log_norm, rel=1e-12, abs=error)
        np.testing.assert_allclose(np.reshape(found["J"], (2, 2)), J, atol=100 * error * max(1, np.abs(J).max()))
    assert compared > 250


def test_gradient_far_out_is_that_of_many_digits(visit):
    documents = [[token(-0.1, 1, 1), token(1, 0, 0.9), token(0, 0, 0)], [token(2, 1, 0.5), token(0, 2, -1)]]
    for p in ([300.0, -200.0], [-400.0, 900.0], [700.0, 20.0]):
        (found,) = visit("plane").evaluate(LOOK, [{"documents": documents, "p": p}])
        with mpmath.workprec(10_000):
            G = [mpmath.mpf(0), mpmath.mpf(0)]
            for tokens in documents:
                e = [mpmath.exp(t["x"] * p[0] + t["y"] * p[1]) for t in tokens]
                A = [x / sum(e) for x in e]
                f = sum(a * mpmath.mpf(t["score"]) for a, t in zip(A, tokens))
                g = 1 / (1 + mpmath.exp(f)) / len(documents)
                for k, name in enumerate("xy"):
                    G[k] += g * sum(a * (mpmath.mpf(t["score"]) - f) * mpmath.mpf(t[name]) for a, t in zip(A, tokens))
            norm = mpmath.sqrt(G[0] ** 2 + G[1] ** 2)
            expected, log_norm = [float(x / norm) for x in G], float(mpmath.log(norm))
        np.testing.assert_allclose(found["g"], expected, atol=1e-9)
        assert found["logNorm"] == pytest.approx(log_norm, rel=1e-12)


def test_margins_and_local_optimality_are_the_library_s(visit, presets):
    tab, rng = visit("plane"), np.random.default_rng(1)
    problems = [documents for name, documents in presets(tab).items() if "seven" not in name]
    problems += [random_documents(rng) for _ in range(40)]
    kinds = set()
    judged = tab.evaluate("(all) => all.map(Explore.margin.selections)", problems)
    for documents, verdicts in zip(problems, judged):
        P, first = problem(documents), first_rows(documents)
        assert [v["selection"] for v in verdicts] == [list(s) for s in product(*(range(len(d)) for d in documents))]
        for verdict in verdicts:
            rows = first + verdict["selection"]
            try:
                solution = max_margin(P, rows, solver="NNLS")
            except Infeasible:
                assert not verdict["feasible"] and not verdict["optimal"]
                kinds.add("infeasible")
                continue
            assert verdict["feasible"]
            np.testing.assert_allclose(verdict["p"], solution.p, rtol=1e-9, atol=1e-9)
            assert verdict["margin"] == pytest.approx(solution.margin, rel=1e-9)
            assert verdict["optimal"] == is_locally_optimal(P, rows, solution)
            kinds.add(verdict["optimal"])
    assert kinds == {"infeasible", True, False}


FOLLOW = """([documents, starts, options]) => { const P = Explore.field.compile(documents);
    const table = Explore.flow.limits(P, Explore.margin.selections(documents));
    return starts.map(([x, y]) => Explore.flow.follow(P, table, x, y, options)); }"""


def test_orbits_settle_where_the_library_s_do(visit, presets):
    """Which selection a start ends in, and at equal arc length where it is, to the tolerance the page states."""
    tab, rng = visit("plane"), np.random.default_rng(2)
    problems = list(presets(tab).values()) + [random_documents(rng) for _ in range(9)]
    settled = compared = 0
    for documents in problems:
        starts, P = rng.uniform(-HALF, HALF, size=(3, 2)).round(2), problem(documents)
        rough, fine = (
            tab.evaluate(FOLLOW, [documents, starts.tolist(), {"tolerance": tolerance}]) for tolerance in (1e-3, 1e-6)
        )
        for start, *ends in zip(starts, rough, fine):
            if ends[0]["ended"] == "settled" or ends[1]["ended"] == "settled":
                orbit = gradient_flow(P, start, length=500.0, settled=1e-3)
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")  # scores that tie: the first is taken in both
                    rows = selected(P, orbit.points[-1])
                for end in ends:
                    assert (rows == first_rows(documents) + end["selection"]).all()
                    settled += 1
            orbit = gradient_flow(P, start, length=max(ends[1]["tau"], 1e-3))
            if orbit.ended == "length":
                assert np.hypot(*(orbit.points[-1] - [ends[1]["x"], ends[1]["y"]])) < 1e-2
                compared += 1
    assert settled > 60 and compared > 30


def test_a_flow_that_lingers_is_followed_until_it_leaves(visit):
    """A2 is locally optimal and holds the flow for a while; a rule that looks at the selection alone would stop there."""
    documents = [[token(-0.1, 1, 1), token(1, 0, 0.9), token(0, 0, 0.85)]]
    P, lingered = problem(documents), 0
    for start in ([2.4, -1.0], [2.4, -1.6], [2.4, -2.4]):
        end = visit("plane").evaluate(FOLLOW, [documents, [start], {"tolerance": 1e-3}])[0]
        orbit = gradient_flow(P, start, length=500.0, settled=1e-3)
        assert end["ended"] == "settled"
        assert end["selection"] == selected(P, orbit.points[-1]).tolist()
        z = np.sort(orbit.points @ P.keys.T, axis=1)
        held = (np.argmax(orbit.points @ P.keys.T, axis=1) == 1) & (z[:, 2] - z[:, 1] > 4)
        lingered += bool(end["selection"] == [0] and np.ptp(orbit.arclength[held], axis=0) > 4) if held.any() else 0
    assert lingered


def test_an_integer_example_of_two_limits(visit, presets):
    """n = T = d = 2: both limits are locally optimal, and B has no neighbour in the second."""
    documents = presets(visit("plane"))["two documents, two limits"]
    P = problem(documents)
    assert all(float(t[name]).is_integer() for tokens in documents for t in tokens for name in ("x", "y", "score"))
    for start, rows in (([0.0, 0.0], [0, 2]), ([2.0, -1.0], [0, 3])):
        assert selected(P, gradient_flow(P, start, length=200.0).points[-1]).tolist() == rows
        assert is_locally_optimal(P, rows)


def rows_of(tab):
    """The list on the page: selection -> (margin, locally optimal, per cent of starts)."""
    cells = tab.locator("tr[data-selection]").evaluate_all(
        "all => all.map(row => [row.dataset.selection, ...Array.from(row.cells).slice(1).map(cell => cell.textContent)])"
    )
    return {key: (float(margin), optimal == "yes", int(share[:-2])) for key, margin, optimal, share in cells}


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


def wait_fine(tab):
    tab.wait_for_function("document.querySelector('.explore').dataset.starts === 'fine'")


def screen(tab, x, y):
    frame = tab.locator(".ex-plot svg").bounding_box()
    return frame["x"] + frame["width"] * (x + HALF) / (2 * HALF), frame["y"] + frame["height"] * (HALF - y) / (2 * HALF)


def test_a_reader_drags_a_token(visit):
    tab = visit("plane")
    wait_fine(tab)
    documents = [[token(-0.1, 1, 1), token(1, 0, 0.9), token(0, 0, 0)]]  # Figure 1(b)
    before = agrees(tab, documents)
    assert before["0"][2] > before["1"][2] > 10
    tab.mouse.move(*screen(tab, 1, 0))
    tab.mouse.down()
    for x, y in ((1.2, -0.3), (1.5, -0.6), (1.5, -1)):
        tab.mouse.move(*screen(tab, x, y))
    tab.wait_for_function(
        "document.querySelector('[data-token=A2]').getAttribute('aria-label').includes('1.50, \u22121.00')"
    )
    assert tab.locator(".explore").get_attribute("data-starts") == "coarse"  # while it moves
    tab.mouse.up()
    wait_fine(tab)
    documents[0][1] = token(1.5, -1, 0.9)
    agrees(tab, documents)
    assert tab.locator(".ex-inspect input").nth(0).input_value() == "1.5"


def test_a_reader_uses_the_keyboard(visit):
    tab = visit("plane")
    tab.locator('[data-token="A3"]').focus()
    for key in ("ArrowLeft", "ArrowLeft", "Shift+ArrowUp", "+", "+", "+", "-"):
        tab.keyboard.press(key)
    assert tab.evaluate("document.activeElement.dataset.token") == "A3"  # though it was drawn anew
    wait_fine(tab)
    agrees(tab, [[token(-0.1, 1, 1), token(1, 0, 0.9), token(-0.1, 0.25, 0.2)]])
    tab.locator('[data-token="p"]').focus()
    for _ in range(8):
        tab.keyboard.press("Shift+ArrowUp")
    assert "From p = (0.00, 1.00) the flow selects A1" in tab.locator(".ex-verdict").inner_text()


def test_a_reader_moves_the_start_by_touch(visit):
    tab = visit("plane", has_touch=True)
    assert "selects A2" in tab.locator(".ex-verdict").inner_text()
    session = tab.context.new_cdp_session(tab)
    path = [screen(tab, x, y) for x, y in ((0, -1), (0.2, -0.5), (0.5, 0.5), (0.5, 0.6))]
    for kind, places in (("touchStart", path[:1]), *(("touchMove", [place]) for place in path[1:]), ("touchEnd", [])):
        points = [{"x": x, "y": y} for x, y in places]
        session.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": points})
        tab.wait_for_timeout(50)
    tab.wait_for_function(
        "document.querySelector('.ex-verdict').textContent.includes('(0.50, 0.60) the flow selects A1')"
    )


def test_a_reader_types_numbers_and_changes_the_problem(visit):
    tab = visit("plane")
    tab.get_by_label("Start from").select_option("two documents, two limits")
    documents = [[token(1, 0, 1), token(0, 0, 0)], [token(-2, 1, 1), token(0, 0, 0)]]
    wait_fine(tab)
    shown = agrees(tab, documents)
    assert "selects A1 B2" in tab.locator(".ex-verdict").inner_text()
    assert {key for key, row in shown.items() if row[1]} == {"0,0", "0,1"}
    tab.get_by_label("token to edit").select_option(label="B1")
    tab.locator(".ex-inspect input").nth(0).fill("-0.5")
    tab.locator(".ex-inspect input").nth(2).fill("-1")
    documents[1][0] = token(-0.5, 1, -1)
    wait_fine(tab)
    agrees(tab, documents)
    tab.get_by_role("button", name="add a token").click()
    wait_fine(tab)
    assert len(rows_of(tab)) >= 4
    tab.get_by_role("button", name="remove it").click()
    wait_fine(tab)
    agrees(tab, documents)
    tab.locator('tr[data-selection="1,0"] button').click()  # show another selection's bands
    assert tab.locator('tr[data-selection="1,0"] button').get_attribute("aria-pressed") == "true"
    assert tab.locator(".ex-band path").count() == 2


def test_dragging_feels_instant(visit, presets):
    """A frame with a token on the move, on the largest preset: the work itself, not the time between frames."""
    tab = visit("plane")
    seconds = tab.evaluate(
        """(documents) => { const times = []; for (let k = 0; k < 8; k++) { documents[0][0].x += 0.01; const t = performance.now();
             const P = Explore.field.compile(documents), table = Explore.flow.limits(P, Explore.margin.selections(documents));
             Explore.basins.glance(P, table, 2.5); times.push((performance.now() - t) / 1000); } return times.sort()[4]; }""",
        presets(tab)["three documents of seven tokens"],
    )
    assert seconds < 0.25


# --- one step --------------------------------------------------------------------------------------------------------


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


def test_words_are_the_library_s(visit):
    rng = np.random.default_rng(3)
    texts = TEXTS + [assigned(rng, 60) for _ in range(300)]
    assert visit("step").evaluate("(texts) => texts.map(Explore.words.tokenize)", texts) == [*map(tokenize, texts)]


def test_statistics_and_the_step_are_the_library_s(visit):
    tab, rng = visit("step"), np.random.default_rng(4)
    words = ["good", "bad", "film", "plot", "the", "the", "the", "superb", "\U00010428", "\uff21", "\u05d8\u05d5\u05d1"]
    for eta, scale, size in ((10.0, 0.0, 0.0), (1.0, 0.05, 0.0), (50.0, 0.5, 2.0), (1000.0, 1.0, 5.0)):
        texts = [" ".join(rng.choice(words, size=rng.integers(1, 9))) for _ in range(rng.integers(1, 12))]
        labels = rng.choice([-1, 1], size=len(texts))
        found = tab.evaluate(
            """([texts, labels, eta, start]) => { const M = Explore.stepMath, words = M.corpus(["...", ...texts], [1, ...labels]);
                 const model = M.start(words, start); return { ...M.statistics(words), model, vocabulary: words.vocabulary,
                 step: M.oneStep(words, model, eta), bound: M.remainderBound(words, model) }; }""",
            [texts, labels.tolist(), eta, {"scale": scale, "size": size, "seed": 3}],
        )
        corpus = Corpus.from_texts(texts, labels)
        assert tuple(found["vocabulary"]) == corpus.vocabulary
        np.testing.assert_allclose(found["alpha"], signed_frequency(corpus), atol=1e-15)
        np.testing.assert_allclose(found["delta"], posterior_difference(corpus), atol=1e-13)
        model = Attention(*(np.array(found["model"][name]) for name in "Epv"))
        after = one_step(model, corpus, eta)
        np.testing.assert_allclose(found["step"]["E"], after.E, rtol=1e-12, atol=1e-12)
        np.testing.assert_allclose(found["step"]["gamma"], after.gamma, rtol=1e-12, atol=1e-12)
        np.testing.assert_allclose(found["bound"], remainder_bound(model, corpus), rtol=1e-12, atol=1e-15)


def test_the_start_is_gaussian(visit):
    """One start of many words: mean, variance and tails of N(0, 1) within four standard errors; seeds differ."""
    draw = "(seed) => Array.from({ length: 2000 }, (_, k) => Explore.stepMath.gaussians('w' + k, seed, 16)).flat()"
    tab = visit("step")
    x, other = np.array(tab.evaluate(draw, 1)), np.array(tab.evaluate(draw, 2))
    n = x.size
    assert abs(x.mean()) < 4 / np.sqrt(n) and abs(x.var() - 1) < 4 * np.sqrt(2 / n)
    assert abs((np.abs(x) > 1.959964).mean() - 0.05) < 4 * np.sqrt(0.05 * 0.95 / n)
    assert abs(np.corrcoef(x, other)[0, 1]) < 4 / np.sqrt(n)


def number(text):
    return float(text.replace("\u2212", "-"))


def table_of(tab):
    cells = tab.locator("tr[data-token]").evaluate_all(
        "all => all.map(row => [row.dataset.token, ...Array.from(row.cells).slice(1).map(cell => cell.textContent)])"
    )
    return {token: [*map(number, row)] for token, *row in cells}


def set_slider(tab, label, value):
    """As a reader's keyboard or finger would: a value, and the event that goes with it."""
    tab.get_by_role("slider", name=label).evaluate(
        "(slider, value) => { slider.value = value; slider.dispatchEvent(new Event('input', { bubbles: true })); }",
        value,
    )


def test_a_reader_edits_the_corpus(visit):
    tab = visit("step")
    texts = tab.locator(".ex-reviews input").evaluate_all("all => all.map(x => x.value)")
    labels = [1, 1, 1, -1, -1, -1]
    set_slider(tab, "noise", "0")
    set_slider(tab, "step size", "2")

    def compare():
        corpus, shown = Corpus.from_texts(texts, labels), table_of(tab)
        assert set(shown) == set(corpus.vocabulary)
        alpha, delta = signed_frequency(corpus), posterior_difference(corpus)
        silent = Attention(np.zeros((len(alpha), 2)), [0.0, 0.0], [1.0, 0.0])
        gamma = one_step(silent, corpus, 100.0).gamma
        for s, word in enumerate(corpus.vocabulary):
            assert shown[word] == pytest.approx([alpha[s], delta[s], 0, gamma[s]], abs=6e-4)

    compare()
    assert "the theorem is exact here" in tab.locator(".ex-verdict").inner_text()
    tab.locator(".ex-reviews input").nth(0).press("End")
    tab.locator(".ex-reviews input").nth(0).press_sequentially(" wonderful End")
    texts[0] += " wonderful End"
    compare()
    tab.locator(".ex-label").nth(3).click()
    labels[3] = 1
    compare()
    tab.get_by_role("button", name="add a review").click()
    tab.keyboard.type("<b>dull</b> \u05e9\u05dc\u05d5\u05dd")
    texts.append("<b>dull</b> \u05e9\u05dc\u05d5\u05dd")
    labels.append(1)
    compare()
    tab.get_by_label("remove review 2", exact=True).click()
    del texts[1], labels[1]
    compare()
    assert tab.locator(".explore b").count() == 0
    set_slider(tab, "noise", "0.3")
    assert "the theorem is exact here" not in tab.locator(".ex-verdict").inner_text()
    tab.get_by_role("slider", name="step size").press("ArrowRight")
    assert "112" in tab.locator(".ex-slider output").first.inner_text()  # 10^2.05


def test_a_corpus_without_words(visit):
    tab = visit("step")
    for k in range(6):
        tab.locator(".ex-reviews input").nth(k).fill("...")
    assert tab.locator(".ex-verdict").inner_text() == "No review has a word yet."


# --- your own review -------------------------------------------------------------------------------------------------


READ = """([texts, corpus, scale]) => { const M = Explore.reviewMath, table = M.index(window.ExploreTables[corpus]);
    return texts.map((text) => { const found = M.read(text, table), { A, f } = M.attend(found, scale);
      return { words: found.words.map(({ token, start, stop }) => [token, found.shown.slice(start, stop)]), A, f, known: found.known.map((w) => w.token) }; }); }"""


def open_review(visit, corpus="imdb", **options):
    tab = visit("review", **options)
    tab.wait_for_function("window.ExploreTables && window.ExploreTables.imdb")
    if corpus == "yelp":
        tab.get_by_label("Model trained on").select_option("yelp")
        tab.wait_for_function("window.ExploreTables.yelp")
    return tab


@pytest.mark.parametrize("corpus", ["imdb", "yelp"])
def test_attention_and_logit_are_the_library_s(visit, corpus):
    table, rng = read_table(corpus), np.random.default_rng(5)
    tokens = np.array(list(table), dtype=object)
    texts = TEXTS + [" ".join(rng.choice(tokens, size=rng.integers(1, 80))) + assigned(rng, 20) for _ in range(100)]
    tab = open_review(visit, corpus)
    for scale in (1.0, 0.0, 0.5, 4.0, 1000.0):
        scaled = {name: (scale * z, gamma) for name, (z, gamma) in table.items()}
        for text, found in zip(texts, tab.evaluate(READ, [texts, corpus, scale])):
            expected = explain(text, scaled)
            pieces = [[word.token, expected.text[word.start : word.stop]] for word in expected.words]
            assert found["words"] == pieces
            known = [word for word in expected.words if word.attention is not None]
            assert found["known"] == [word.token for word in known]
            np.testing.assert_allclose(found["A"], [word.attention for word in known], atol=1e-13)
            assert found["f"] == (None if expected.f is None else pytest.approx(expected.f, abs=1e-12))


def test_the_table_keeps_every_digit_and_names_no_markup():
    table = {"a": (0.1, -2.5), "\u00e9</script>": (1e-7, 3.0)}
    script = explore.table_script("x", table)
    assert script.isascii()
    assert re.search(r"z:\[0\.1,1e-07\],gamma:\[-2\.5,3\.0\]", script)
    assert json.loads(re.search(r"tokens:(\".*?\"),z:", script)[1]).split() == list(table)
    assert all(" " not in token for corpus in ("imdb", "yelp") for token in read_table(corpus))


def test_a_reader_types_a_review(visit):
    table, tab = read_table("imdb"), open_review(visit)
    tab.get_by_label("your review").fill("")
    assert "the text has no word" in tab.locator(".ex-verdict").inner_text()
    text = "A wonderful film, though DULL at times. Flibbertigibbetish!"
    tab.get_by_label("your review").press_sequentially(text)

    def compare(scale):
        expected = explain(text, {name: (scale * z, gamma) for name, (z, gamma) in table.items()})
        verdict = tab.locator(".ex-verdict").inner_text()
        assert number(re.search(r"f = ([+\u2212\d.]+):", verdict)[1]) == pytest.approx(expected.f, abs=6e-4)
        assert ("positive," in verdict) == (expected.f > 0)
        shown = tab.locator(".ex-words span").evaluate_all("all => all.map(x => [x.textContent, x.title])")
        known = [word for word in expected.words if word.attention is not None]
        assert [word for word, _ in shown] == [text[word.start : word.stop] for word in known]
        for (_, title), word in zip(shown, known):
            assert number(re.search(r"attention ([\d.]+)", title)[1]) == pytest.approx(word.attention, abs=6e-5)
        return verdict

    assert "8 words, 7 known" in compare(1.0)
    set_slider(tab, "length of p", "0")
    compare(0.0)
    assert "plain average" in tab.locator(".ex-slider output").inner_text()
    set_slider(tab, "length of p", "4")
    compare(4.0)
    tab.get_by_role("slider", name="length of p").press("ArrowLeft")
    compare(3.95)
    assert tab.locator(".ex-words").inner_text() == text


@pytest.mark.parametrize("text", [t for t in TEXTS if "<" in t or "\x07" in t] + ['<img src=x onerror="document.title=1">', "</textarea><script>document.title=1</script>good"])  # fmt: skip
def test_what_is_typed_stays_text(visit, text):
    tab = open_review(visit)
    elements = "document.querySelectorAll('*:not(.ex-words *):not(tbody *):not(svg *)').length"
    tab.get_by_label("your review").fill("good film")
    before = tab.evaluate(elements)
    tab.get_by_label("your review").fill(text)
    assert tab.evaluate(elements) == before
    made = tab.locator(".ex-words *, tbody *").evaluate_all("all => [...new Set(all.map(x => x.localName))]")
    assert set(made) <= {"span", "s", "tr", "td", "bdi"}
    typed = tab.get_by_label("your review").input_value()
    assert tab.locator(".ex-words").evaluate("x => x.textContent") == typed
    assert tab.title() != "1"


def test_both_models_read_the_same_text(visit):
    tab = open_review(visit, "yelp")
    tab.get_by_label("Example").select_option("a restaurant")
    text = tab.get_by_label("your review").input_value()
    f = {corpus: explain(text, read_table(corpus)).f for corpus in ("imdb", "yelp")}
    assert f["yelp"] < 0 < f["imdb"]  # what the page asks the reader to explain
    tab.wait_for_function(
        "(f) => Math.abs(Number(document.querySelector('.explore').dataset.f) - f) < 1e-9", arg=f["yelp"]
    )
    tab.get_by_label("Model trained on").select_option("imdb")
    tab.wait_for_function(
        "(f) => Math.abs(Number(document.querySelector('.explore').dataset.f) - f) < 1e-9", arg=f["imdb"]
    )


# --- all of them -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", list(explore.SCRIPTS))
def test_everything_has_a_name_and_can_be_reached_by_tab(visit, name):
    tab = open_review(visit) if name == "review" else visit(name)
    nameless = tab.locator(".explore :is(button, input, select, textarea, [tabindex])").evaluate_all(
        """all => all.filter(x => !(x.getAttribute('aria-label') || x.textContent.trim() || [...(x.labels || [])].some(l => l.textContent.trim())))
                     .map(x => x.outerHTML)"""
    )
    assert nameless == []
    assert tab.locator(".explore [aria-live=polite]").count() == 1
    assert tab.locator(".explore [tabindex='-1']").count() == 0
    described = tab.locator(".drawing").evaluate_all("all => all.map(x => x.getAttribute('aria-label') || '')")
    assert described and all(len(text) > 40 and any(c.isdigit() for c in text) for text in described)
    tab.set_viewport_size({"width": 390, "height": 800})
    assert tab.evaluate("document.documentElement.scrollWidth") <= 390


def test_the_palette_is_the_book_s(visit):
    from attnlib import plots

    colours = visit("plane").evaluate("[...Explore.COLOURS, Explore.GREY]")
    assert colours == [plots.BLUE, plots.ORANGE, plots.GREEN, plots.PURPLE, plots.GREY]


def test_scripts_stand_on_the_pages_that_use_them(tmp_path):
    """A site of three pages: scripts, in order, where asked for; tables only because one page reads them."""
    (tmp_path / "conf.py").write_text(
        f"extensions = ['myst_parser', 'explore']\nhtml_static_path = [{str(ROOT / 'book/_static')!r}]\n"
    )
    (tmp_path / "index.md").write_text("# None\n\n```{toctree}\nstep\nreview\n```\n")
    for name in ("step", "review"):
        (tmp_path / f"{name}.md").write_text(f"# One\n\n```{{explore}} {name}\nIt needs [a script](index.md).\n```\n")

    def build():
        app = Sphinx(
            tmp_path, tmp_path, tmp_path / "html", tmp_path / "trees", "html", status=None, warning=io.StringIO()
        )
        app.build()
        return app._warning.getvalue()

    assert build() == ""
    for page in ("index", "step", "review"):
        html = (tmp_path / f"html/{page}.html").read_text()
        assert re.findall(r"explore/(\w+)\.js", html) == explore.SCRIPTS.get(page, [])
        places = BeautifulSoup(html, "html.parser").select("div.explore")
        assert [place["data-explore"] for place in places] == [page] * (page in explore.SCRIPTS)
        assert all(place.a["href"] == "index.html" for place in places)  # read without JavaScript
    table = tmp_path / "html/_static/explore/imdb_tokens.js"
    assert table.read_text() == explore.table_script("imdb", read_table("imdb"))
    (tmp_path / "step.md").write_text("# One\n\n```{explore} nothing\n```\n")
    assert "'nothing' is not known, but one of plane, step, review is needed" in build()
    (tmp_path / "step.md").write_text("# One\n\n```{explore} step\n```\n")
    assert "Content block expected" in build()
