"""The built pages in a real browser with the network off: typeset, silent, described, readable on a phone."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from playwright.sync_api import sync_playwright
from test_book_chapters import PAGES

ROOT = Path(__file__).resolve().parents[1]
HTML = ROOT / "_build/html"
CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
FLAGS = "--no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking --disable-sync"

pytestmark = [
    pytest.mark.xdist_group("book"),
    pytest.mark.skipif(CHROMIUM is None, reason="LEFT OUT: no Chromium found, the pages were not looked at"),
]


@pytest.fixture(scope="module")
def book():
    command = [Path(sys.executable).with_name("jupyter-book"), "build", ".", "-W", "-n", "--keep-going"]
    run = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert run.returncode == 0, run.stdout + run.stderr
    return HTML


@pytest.fixture(scope="module")
def browser():
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS.split())
        yield browser
        browser.close()


@pytest.fixture
def visit(book, browser):
    """Open a page with the network off; collect what it asks for and what it complains of."""
    contexts = []

    def visit(page: str, width: int = 1300, scheme: str = "light"):
        context = browser.new_context(
            viewport={"width": width, "height": 900}, color_scheme=scheme, offline=True, reduced_motion="reduce"
        )
        contexts.append(context)
        tab = context.new_page()
        tab.complaints, tab.outside = [], []
        tab.on("console", lambda m: tab.complaints.append(m.text) if m.type in ("error", "warning") else None)
        tab.on("pageerror", lambda e: tab.complaints.append(str(e)))
        tab.on("requestfailed", lambda r: tab.complaints.append(f"failed: {r.url}"))
        tab.on(
            "request", lambda r: None if r.url.startswith(("file:", "data:", "blob:")) else tab.outside.append(r.url)
        )
        tab.goto(f"file://{book / page}.html")
        tab.evaluate("() => window.MathJax?.startup?.promise")
        return tab

    yield visit
    for context in contexts:
        context.close()


@pytest.mark.parametrize("page", PAGES + ["search", "genindex"])
def test_page_is_typeset_and_silent_offline(visit, page):
    tab = visit(page)
    assert tab.outside == []
    assert tab.complaints == []
    formulas = tab.locator(".math").count()
    assert tab.locator("mjx-container").count() == formulas
    assert tab.locator("mjx-merror, [data-mjx-error]").count() == 0
    assert "\\(" not in tab.locator("article").first.inner_text() if formulas else True


def test_formulas_are_there_to_be_typeset(visit):
    assert visit("book/model").locator("mjx-container").count() > 100


def test_index_leads_to_the_first_page(book):
    assert 'http-equiv="Refresh" content="0; url=book/intro.html"' in (book / "index.html").read_text()


@pytest.mark.parametrize("page", PAGES)
def test_every_picture_is_described(visit, page):
    tab = visit(page)
    described = tab.locator(".drawing").evaluate_all("all => all.map(x => x.getAttribute('aria-label') || '')")
    described += tab.locator("article img").evaluate_all("all => all.map(x => x.alt)")
    assert all(len(text) > 40 and any(c.isdigit() for c in text) for text in described), described
    assert tab.locator("article svg:not(button svg)").count() == tab.locator(".drawing svg").count()


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_figures_take_the_colour_of_the_page(visit, scheme):
    tab = visit("book/model", scheme=scheme)
    ink, paper = tab.evaluate(
        """() => { const page = getComputedStyle(document.body);
                   const text = document.querySelector('.drawing svg [id*="text_"] g');
                   return [getComputedStyle(text).fill, page.backgroundColor]; }"""
    )
    lightness = [sum(map(int, colour[4:-1].split(", ")[:3])) / 765 for colour in (ink, paper)]
    assert (lightness[0] < 0.4 and lightness[1] > 0.9) if scheme == "light" else lightness[0] > 0.6 > 0.3 > lightness[1]


@pytest.mark.parametrize("page", PAGES)
def test_page_fits_a_phone(visit, page):
    tab = visit(page, width=390)
    assert tab.evaluate("document.documentElement.scrollWidth") <= 390
