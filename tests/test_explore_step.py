"""One step, by hand: words, statistics, the step and its bound are the library's, in the table and in the picture."""

import re

import numpy as np
import pytest
from explorables import TEXTS, assigned, number, set_slider

from attnlib import Attention, Corpus, one_step, posterior_difference, remainder_bound, signed_frequency
from attnlib.corpus import tokenize
from attnlib.plots import BLUE, GREY, ORANGE


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


def table_of(tab):
    cells = tab.locator("tr[data-token]").evaluate_all(
        "all => all.map(row => [row.dataset.token, ...Array.from(row.cells).slice(1).map(cell => cell.textContent)])"
    )
    return {token: [*map(number, row)] for token, *row in cells}


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
    for k in (3, 0):
        tab.locator(".ex-label").nth(k).click()
        labels[k] = -labels[k]
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


def test_a_corpus_that_is_emptied_and_filled_again(visit):
    tab = visit("step")
    while tab.locator(".ex-reviews input").count() > 1:
        tab.get_by_label("remove review 1", exact=True).click()
    assert tab.get_by_label("remove review 1", exact=True).is_disabled()
    text = tab.locator(".ex-reviews input")
    text.fill("")
    assert tab.locator("tr[data-token], .ex-scatter *").count() == 0
    text.fill("good")
    alpha, delta, _, gamma = table_of(tab)["good"]
    assert (alpha, delta) == (-1, -1) and gamma < 0  # one word, a negative review
    assert tab.locator(".ex-scatter circle").count() == 2
    tab.get_by_role("button", name="reset").click()
    assert tab.locator(".ex-reviews input").count() == 6


def test_the_picture_shows_what_the_table_says(visit):
    """Points at (alpha, gamma), open before and solid after the step; the line has slope eta / 2; bars hold the points."""
    tab = visit("step")
    set_slider(tab, "noise", "0.3")
    set_slider(tab, "step size", "2")
    set_slider(tab, "length of p", "1")
    rows = np.array(list(table_of(tab).values()))
    points = tab.locator(".ex-scatter circle").evaluate_all(
        "all => all.map(c => [c.classList.contains('ex-before'), +c.getAttribute('cx'), +c.getAttribute('cy'), c.getAttribute('fill') || c.getAttribute('stroke')])"
    )
    before, after = ([point[1:] for point in points if point[0] == flag] for flag in (True, False))
    assert len(before) == len(after) == len(rows)
    (x0, y0), (x1, y1) = (
        map(float, part.split()) for part in tab.locator(".ex-line").get_attribute("d")[1:].split("L")
    )
    x = np.array([point[0] for point in after])
    slope, zero = np.polyfit(rows[:, 0], x, 1)
    assert np.abs(slope * rows[:, 0] + zero - x).max() < 0.6
    scale, middle = np.polyfit(rows[:, 3], [point[1] for point in after], 1)
    assert scale < 0  # upwards
    for heights, values in ((before, rows[:, 2]), (after, rows[:, 3])):
        assert np.abs(scale * values + middle - [point[1] for point in heights]).max() < 0.6
    assert (y1 - y0) / scale / ((x1 - x0) / slope) == pytest.approx(50, rel=0.02)  # eta / 2
    assert [point[2] for point in after] == [BLUE if a > 0 else ORANGE if a < 0 else GREY for a in rows[:, 0]]
    bars = re.findall(r"M([\d.-]+) ([\d.-]+)V([\d.-]+)", tab.locator(".ex-slack").get_attribute("d"))
    for (px, low, high), (cx, cy, _) in zip(np.array(bars, dtype=float), after):
        assert px == cx and high - 0.2 <= cy <= low + 0.2
    names, written = list(table_of(tab)), tab.locator(".ex-scatter text").evaluate_all(
        "all => all.map(t => [t.textContent, +t.getAttribute('x'), +t.getAttribute('y') - 4])"
    )  # fmt: skip
    labels = {text: place for text, *place in written if text in names}
    assert "wonderful" in labels and len(labels) > 5 and all(text for text, *_ in written)
    for word, (px, py) in labels.items():  # beside its own point
        cx, cy, _ = after[names.index(word)]
        assert abs(px - cx) < 12 and abs(py - cy) < 15


def test_the_bars_are_the_bound_of_the_theorem(visit):
    """gamma^0 + (eta/2) alpha, more or less eta times the bound: at the start of the page, where all of them fit."""
    tab = visit("step")
    rows = np.array(list(table_of(tab).values()))
    places = tab.locator(".ex-scatter circle:not(.ex-before)").evaluate_all(
        "all => all.map(c => +c.getAttribute('cy'))"
    )
    scale, zero = np.polyfit(rows[:, 3], places, 1)
    bars = np.array(
        re.findall(r"M[\d.-]+ ([\d.-]+)V([\d.-]+)", tab.locator(".ex-slack").get_attribute("d")), dtype=float
    )
    texts = tab.locator(".ex-reviews input").evaluate_all("all => all.map(x => x.value)")
    found = tab.evaluate(
        "texts => Explore.stepMath.start(Explore.stepMath.corpus(texts, texts.map(() => 1)), { scale: 0.05, size: 0, seed: 1 })",
        texts,
    )
    corpus, model = (
        Corpus.from_texts(texts, [1, 1, 1, -1, -1, -1]),
        Attention(*(np.array(found[name]) for name in "Epv")),
    )
    bound = dict(zip(corpus.vocabulary, 10 * remainder_bound(model, corpus)))
    slack = np.array([bound[word] for word in table_of(tab)])
    for end, sign in zip(bars.T, (-1, 1)):
        expected = scale * (5 * rows[:, 0] + rows[:, 2] + sign * slack) + zero
        assert np.abs(end - expected).max() < 1  # the table has three digits


def test_the_last_sentence_counts_signs(visit):
    tab = visit("step")
    for noise, eta in (("0.5", "1"), ("0.5", "2.5"), ("0.05", "1"), ("0", "1")):
        set_slider(tab, "noise", noise)
        set_slider(tab, "step size", eta)
        set_slider(tab, "length of p", "0.5")
        texts = tab.locator(".ex-reviews input").evaluate_all("all => all.map(x => x.value)")
        corpus = Corpus.from_texts(texts, [1, 1, 1, -1, -1, -1])
        model = tab.evaluate(
            """([texts, scale]) => Explore.stepMath.start(Explore.stepMath.corpus(texts, texts.map(() => 1)), { scale, size: 0.5, seed: 1 })""",
            [texts, float(noise)],
        )
        model = Attention(*(np.array(model[name]) for name in "Epv"))
        eta, alpha = 10 ** float(eta), signed_frequency(corpus)
        after, sided = one_step(model, corpus, eta), np.abs(alpha) > 1e-12
        right = (after.gamma * alpha > 0)[sided].sum()
        sure = (eta / 2 * np.abs(alpha) > np.abs(model.gamma) + eta * remainder_bound(model, corpus))[sided].sum()
        off = np.abs(after.gamma - eta / 2 * alpha).max()
        verdict = tab.locator(".ex-verdict").inner_text()
        assert f"{len(alpha)} tokens, {sided.sum()} of them" in verdict
        assert f"{right} of {sided.sum()} have the sign of \u03b1; the corollary guarantees {sure}." in verdict
        assert ("exact here" if off < 1e-12 else f"{off:.4f}") in verdict


@pytest.mark.parametrize("text", [text for text in TEXTS if not text.isascii() or "<" in text or "\x07" in text])
def test_what_is_typed_into_the_corpus_stays_text(visit, text):
    tab = visit("step")
    tab.locator(".ex-reviews input").nth(0).fill(text)
    typed = tab.locator(".ex-reviews input").nth(0).input_value()
    assert set(table_of(tab)) >= set(tokenize(typed))
    made = tab.locator(".explore *").evaluate_all("all => [...new Set(all.map(x => x.localName))]")
    assert set(made) <= set(
        "div ol li button input label span output p table thead tbody tr th td bdi svg path circle text".split()
    )


def test_another_start_and_a_reset(visit):
    tab = visit("step")
    first = table_of(tab)
    tab.get_by_role("button", name="another start").click()
    second = table_of(tab)
    assert first["film"][:2] == second["film"][:2] and first["film"][2] != second["film"][2]
    set_slider(tab, "noise", "0.7")
    tab.get_by_role("button", name="reset").click()
    assert table_of(tab) == first
    assert tab.get_by_role("slider", name="noise").input_value() == "0.05"


def test_a_long_review_in_the_corpus(visit):
    """Thousands of different words: all are counted, the first are shown, and typing stays possible."""
    tab = visit("step")
    seconds = tab.evaluate(
        """text => { const box = document.querySelector('.ex-reviews input'), t = performance.now(); box.value = text;
             box.dispatchEvent(new Event('input', { bubbles: true })); return (performance.now() - t) / 1000; }""",
        " ".join(f"w{k}" for k in range(5_000)) + " end" * 150_000,
    )
    print(seconds, "s")
    assert "5020 tokens" in tab.locator(".ex-verdict").inner_text()
    assert tab.locator("tr[data-token]").count() == 300
    assert "4720 more tokens" in tab.locator(".explore > .ex-note").inner_text()
    assert seconds < 3
