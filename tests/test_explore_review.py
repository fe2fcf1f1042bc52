"""Your own review: attention, logit and colours are those of `attnlib explain`, whatever is typed."""

import json
import re

import explore
import numpy as np
import pytest
from explorables import TEXTS, assigned, number, open_review, set_slider

from attnlib.explain import explain, read_table
from attnlib.plots import BLUE, ORANGE

READ = """([texts, corpus, scale]) => { const M = Explore.reviewMath, table = M.index(window.ExploreTables[corpus]);
    return texts.map((text) => { const found = M.read(text, table), { A, f } = M.attend(found, scale);
      return { words: found.words.map(({ token, start, stop }) => [token, found.shown.slice(start, stop)]), A, f, known: found.known.map((w) => w.token) }; }); }"""


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


def test_a_negation_misleads_the_longer_p_the_more(visit):
    """What the page says of it: the average is right, and f falls all the way to the trained length."""
    tab, table = open_review(visit), read_table("imdb")
    tab.get_by_label("Example").select_option("a negation")
    text = tab.get_by_label("your review").input_value()
    f = [explain(text, {name: (s * z, gamma) for name, (z, gamma) in table.items()}).f for s in np.linspace(0, 1, 21)]
    assert f[0] > 0 > f[-1] and (np.diff(f) < 0).all()
    assert "negative," in tab.locator(".ex-verdict").inner_text()


def test_colours_and_table_of_a_review(visit):
    """Blue speaks for, orange against, the most attended word is the most solid; the table has the same numbers."""
    tab, table = open_review(visit), read_table("imdb")
    text = "superb superb waste film plot the"
    tab.get_by_label("your review").fill(text)
    tab.wait_for_function("document.querySelectorAll('.ex-words span').length === 6")
    words = explain(text, table).words
    shown = tab.locator(".ex-words span").evaluate_all("all => all.map(x => getComputedStyle(x).backgroundColor)")
    most = max(word.attention for word in words)
    for word, colour in zip(words, shown):
        *tint, solid = map(float, re.findall(r"[\d.]+", colour))
        assert tint == ([0, 114, 178] if word.gamma > 0 else [213, 94, 0])
        assert solid == pytest.approx(0.6 * word.attention / most, abs=0.004)
    cells = tab.locator("tbody tr").evaluate_all(
        "all => all.map(row => Array.from(row.cells, cell => cell.textContent))"
    )
    assert [row[0] for row in cells] == sorted(
        {w.token for w in words}, key=lambda t: -sum(w.attention for w in words if w.token == t)
    )
    for name, times, attention, value in cells:
        mine = [word for word in words if word.token == name]
        assert int(times) == len(mine) and number(value) == pytest.approx(mine[0].gamma, abs=6e-4)
        assert number(attention) == pytest.approx(sum(word.attention for word in mine), abs=6e-5)
    spread = 1 / sum(word.attention**2 for word in words)
    assert f"spread evenly over {spread:.1f} of them" in tab.locator(".ex-verdict").inner_text()


def test_the_curve_is_f_against_the_length(visit):
    tab, table = open_review(visit), read_table("imdb")
    tab.get_by_label("Example").select_option("blame with a kind word")
    text = tab.get_by_label("your review").input_value()
    set_slider(tab, "length of p", "0.5")
    f = lambda s: explain(text, {name: (s * z, gamma) for name, (z, gamma) in table.items()}).f
    assert f(0) > 0 > f(1)  # the page asks where it turns
    points = [list(map(float, part.split())) for part in tab.locator(".ex-line").get_attribute("d")[1:].split("L")]
    values = np.array([f(k / 20) for k in range(81)])
    scale, zero = np.polyfit(values, [y for _, y in points], 1)
    assert scale < 0 and np.abs(scale * values + zero - [y for _, y in points]).max() < 0.1
    assert np.ptp(np.diff([x for x, _ in points])) < 0.11
    dot = tab.locator(".ex-chart circle")
    assert float(dot.get_attribute("cx")) == pytest.approx(points[10][0], abs=0.1)
    assert float(dot.get_attribute("cy")) == pytest.approx(points[10][1], abs=0.1)
    assert dot.get_attribute("fill") == (BLUE if f(0.5) > 0 else ORANGE)
    sentence = tab.locator(".ex-chart").get_attribute("aria-label")
    assert [number(x) for x in re.findall(r"[\u2212\d]+\.\d\d", sentence)] == pytest.approx(
        [f(0), f(1), f(4), f(0.5)], abs=6e-3
    )


@pytest.mark.parametrize("count", [1, 5_000, 200_000])
def test_reviews_of_any_length(visit, count):
    tab, word = open_review(visit), "superb"
    text = " ".join([word, "film"] * (count // 2) + ["xyzzy"] * (count % 2))
    seconds = tab.evaluate(
        """text => { const box = document.querySelector('textarea'), t = performance.now(); box.value = text;
             box.dispatchEvent(new Event('input', { bubbles: true })); return (performance.now() - t) / 1000; }""",
        text,
    )
    print(count, "words:", seconds, "s")
    verdict = tab.locator(".ex-verdict").inner_text()
    assert f"{count} words, {count - count % 2} known" in verdict
    if count > 2_000:
        assert tab.locator(".ex-words").inner_text().endswith(f"and {count - 2000} more words")
    if count == 5_000:
        assert seconds < 1
