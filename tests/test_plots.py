"""The palette stands out on both papers; a figure without words is refused; ids do not clash."""

import re
from html.parser import HTMLParser
from itertools import combinations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from attnlib import plots


def luminance(colour: str) -> float:
    """Relative luminance of WCAG 2."""
    channels = [int(colour[k : k + 2], 16) / 255 for k in (1, 3, 5)]
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(one: str, other: str) -> float:
    low, high = sorted((luminance(one), luminance(other)))
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize("paper", ["#FFFFFF", "#14181E"])
@pytest.mark.parametrize("colour", plots.PALETTE)
def test_every_colour_stands_out_on_light_and_dark(colour, paper):
    assert contrast(colour, paper) >= 3


def draw(value: float) -> plots.Drawing:
    fig, ax = plots.axes()
    ax.plot([0, 1], [0, value])
    ax.set_xlabel("x")
    return plots.show(fig, alt=f"A line that rises to {value}.")


def test_ink_becomes_the_colour_of_the_text():
    markup = draw(1.0)._repr_html_()
    assert "currentColor" in markup and plots.INK not in markup
    assert plots.BLUE.lower() in markup.lower()


def test_a_figure_needs_words():
    fig, _ = plots.axes()
    with pytest.raises(ValueError, match="alt is empty"):
        plots.show(fig, alt=" ")


def test_alt_text_is_escaped():
    assert '"1 &lt; &quot;2&quot;"' in plots.Drawing("<svg/>", '1 < "2"')._repr_html_()


def test_figures_on_one_page_share_no_id():
    ids = [set(re.findall(r'\bid="([^"]+)"', draw(value).markup)) for value in (1.0, 2.0, 3.0)]
    assert all(ids) and all(not a & b for a, b in combinations(ids, 2))


def test_references_inside_a_figure_resolve():
    markup = draw(1.0).markup
    assert set(re.findall(r'(?:href="#|url\(#)([^")]+)', markup)) <= set(re.findall(r'\bid="([^"]+)"', markup))


def test_a_figure_is_the_same_in_every_run():
    assert draw(1.0).markup == draw(1.0).markup


def test_sentences_weigh_words_by_attention_and_escape_them():
    markup = plots.sentences([["<b>", "film"]], [[1.0, 0.0]], [[+1, -1]], heading="after")
    assert "&lt;b&gt;" in markup and "<b>" not in markup
    assert f"{plots.BLUE}e6" in markup and f"{plots.ORANGE}00" in markup


@given(st.lists(st.text(max_size=8), min_size=1, max_size=5), st.text(max_size=8))
@example(["<script>alert(1)</script>", "&amp;", '"onclick="', "\u202e\u0641\u064a\u0644\u0645"], "</p><b>")
def test_no_word_is_read_as_markup(words, heading):
    n = len(words)
    markup = plots.sentences([words], [[1 / n] * n], [[1] * n], heading)
    seen = []

    class Reader(HTMLParser):
        def handle_starttag(self, tag, attributes):
            seen.append(tag)

    Reader().feed(markup)
    assert seen == ["div", "p", "p"] + ["span"] * n
