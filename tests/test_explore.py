"""All explorables: names, tab order, touch targets, reload, paper, no scripts; the directive that puts them on a page."""

import io
import re

import explore
import pytest
from bs4 import BeautifulSoup
from explorables import ROOT, open_review
from sphinx.application import Sphinx

from attnlib.explain import read_table
from attnlib.plots import BLUE, GREEN, GREY, ORANGE, PURPLE


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


@pytest.mark.parametrize("name", list(explore.SCRIPTS))
def test_fingers_find_every_control(visit, name):
    tab = open_review(visit, width=390, has_touch=True) if name == "review" else visit(name, width=390, has_touch=True)
    sizes = tab.locator(".explore :is(button, input, select, textarea), .ex-grip").evaluate_all(
        "all => all.map(x => [x.outerHTML.slice(0, 80), x.getBoundingClientRect().width, x.getBoundingClientRect().height])"
    )
    assert len(sizes) > 3 and [row for row in sizes if min(row[1:]) < 24] == []


@pytest.mark.parametrize("name", list(explore.SCRIPTS))
def test_a_reload_in_the_middle_starts_afresh(visit, name):
    """What the controls say is what is shown, not what a browser remembers of them."""
    tab = open_review(visit) if name == "review" else visit(name)
    controls = "[...document.querySelectorAll('.explore :is(input, select, textarea)')].map(x => x.value)"
    shown = "document.querySelector('.ex-verdict').textContent"
    fresh = tab.evaluate(controls), tab.evaluate(shown)
    for box in tab.locator(".explore select").all():
        box.select_option(index=1)
    for box in tab.locator(".explore :is(input[type=number], input[type=text], textarea)").all():
        box.fill("0.5")
    tab.reload()
    tab.wait_for_function(f"{shown} && !{shown}.startsWith('loading')")
    assert (tab.evaluate(controls), tab.evaluate(shown)) == fresh


@pytest.mark.parametrize("name", list(explore.SCRIPTS))
def test_on_paper_nothing_is_cut(visit, name):
    tab = open_review(visit) if name == "review" else visit(name)
    if name == "review":
        tab.get_by_label("your review").fill("superb film. " * 600)
    tab.emulate_media(media="print")
    tab.set_viewport_size({"width": 700, "height": 1000})
    for box in tab.locator(".ex-scroll, .ex-words").all():
        assert box.evaluate("x => x.scrollHeight <= x.clientHeight + 1 && x.scrollWidth <= x.clientWidth + 1")
    assert tab.evaluate("document.documentElement.scrollWidth") <= 700


@pytest.mark.parametrize("name", list(explore.SCRIPTS))
def test_without_scripts_a_sentence_says_so(site, open_tab, visit, name):
    tab = open_tab(1200, 1000, java_script_enabled=False)
    tab.goto(f"file://{site / name}.html")
    assert tab.locator(".explore").inner_text() == "It needs JavaScript."
    assert "It needs JavaScript." not in visit(name).locator(".explore").inner_text()


def test_files_are_short_and_nothing_in_them_is_dead():
    """Every class of the style is given by a script, and every name that a script hands on is taken up somewhere."""
    scripts = {path.name: path.read_text() for path in (ROOT / "book/_static/explore").glob("*.js")}
    style = (ROOT / "book/_static/explore/explore.css").read_text()
    everything = "\n".join(scripts.values())
    assert {f"{script}.js" for names in explore.SCRIPTS.values() for script in names} == set(scripts)
    assert all(len(text.splitlines()) <= 200 for text in scripts.values())
    given = set(re.findall(r"ex-[a-z]+", everything))
    assert set(re.findall(r"\.(ex-[a-z]+)", style)) <= given
    tests = "\n".join(path.read_text() for path in (ROOT / "tests").glob("*explor*.py"))
    for name, text in scripts.items():
        for handed in re.findall(
            r"window\.Explore\.\w+ = \{ ([^}]+) \}|Object\.assign\(window\.Explore, \{ ([^}]+) \}", text
        ):
            for word in "".join(handed).split(", "):
                others = "\n".join(other for key, other in scripts.items() if key != name) + tests
                assert re.search(rf"\b{word}\b", others), (name, word)


def test_the_palette_is_the_book_s(visit):
    colours = visit("plane").evaluate("[...Explore.COLOURS, Explore.GREY]")
    assert colours == [BLUE, ORANGE, GREEN, PURPLE, GREY]


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
