"""Tokens in the plane, the picture: what is drawn is what the library says of the problem."""

import re

import numpy as np
import pytest
from explorables import FOLLOW, HALF, agrees, open_review, problem, rows_of, token, wait_fine

from attnlib import gradient_flow, max_margin, selected
from attnlib.losses import LOSSES


def test_the_loss_bends_the_way_and_keeps_the_limit(visit):
    """Figure 5: the height at which the flow from the arrow's line goes on is (1/2) log(C l'(C) / l'(1))."""
    tab, heights = visit("plane"), {}
    tab.get_by_label("Start from").select_option("a loud document")
    for ell in LOSSES:
        tab.get_by_label("Loss").select_option(ell.name)
        assert "selects A1 B1" in tab.locator(".ex-verdict").inner_text()
        documents = [[token(1, 1, 6), token(0, 0, 0)], [token(1, -1, 1), token(0, 0, 0)]]
        (end,) = tab.evaluate(FOLLOW, [documents, [[0, 0]], {"tolerance": 1e-6, "loss": ell.name}])
        assert end["ended"] == "settled" and end["selection"] == [0, 0]
        heights[ell.name] = (np.log(6) + ell.log_slope(6.0) - ell.log_slope(1.0)) / 2
        assert end["y"] == pytest.approx(heights[ell.name], abs=0.05)
        drawn = tab.locator(".ex-path > path").get_attribute("d").split("L")[-1].split()
        assert (float(drawn[1]) < 250) == (heights[ell.name] > 0)  # above the arrow's line, as the page says
    assert heights["correlation"] > 0 > heights["logistic"] > heights["exponential"]


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


def test_what_the_page_asks_to_try_happens(visit):
    """A3 nearly as good as A2: no start of the window ends in A2, locally optimal as it is. B1 moved to the right: the
    same for the trap; at x = -1 it has a neighbour, B1 itself, and is no longer locally optimal."""
    tab = visit("plane")
    tab.get_by_label("token to edit").select_option(label="A3")
    for score, optimal, reached in (("0.5", True, True), ("0.89", True, False), ("0.9", False, False)):
        tab.get_by_label("score of the token").first.fill(score)
        wait_fine(tab)
        assert rows_of(tab)["1"][1] == optimal and (rows_of(tab)["1"][2] > 0) == reached
    tab.get_by_label("Start from").select_option("two documents, two limits")
    tab.get_by_label("token to edit").select_option(label="B1")
    for x, optimal, reached in (("-2", True, True), ("-1.05", True, False), ("-1", False, False)):
        tab.get_by_label("x of the token").fill(x)
        wait_fine(tab)
        assert rows_of(tab)["0,1"][1] == optimal and (rows_of(tab)["0,1"][2] > 0) == reached


def test_tokens_on_one_point(visit):
    """No p can tell them apart: nothing is feasible, every start rests where it is, and the page says so."""
    tab = visit("plane")
    for name in ("A1", "A2", "A3"):
        tab.get_by_label("token to edit").select_option(label=name)
        for coordinate in "xy":
            tab.get_by_label(f"{coordinate} of the token").fill("0.5")
    wait_fine(tab)
    verdict = tab.locator(".ex-verdict").inner_text()
    assert "comes to rest at (0.00, \u22121.00) and selects nothing. 0 of 3" in verdict
    assert rows_of(tab) == {}
    assert "3 more selections are not feasible" in tab.locator(".ex-side .ex-note").inner_text()
    assert "100 % of them select nothing" in tab.locator(".ex-side .ex-note").inner_text()


def test_basins_differ_in_colour(visit):
    """However often tokens have moved, no two selections that are reached or locally optimal share a colour."""
    tab, rng, seen = visit("plane"), np.random.default_rng(6), 0
    tab.get_by_label("Start from").select_option("two documents, two limits")
    for _ in range(12):
        for name in ("A1", "B1"):
            tab.get_by_label("token to edit").select_option(label=name)
            for coordinate in "xy":
                tab.get_by_label(f"{coordinate} of the token").fill(str(rng.integers(-40, 41) / 20))
        wait_fine(tab)
        rows = tab.locator("tr[data-selection]").evaluate_all(
            "all => all.map(x => [x.cells[2].textContent, x.cells[3].textContent, x.querySelector('i').style.background])"
        )
        tints = [tint for optimal, share, tint in rows if share != "0 %" or optimal == "yes"]
        assert len(set(tints)) == len(tints) and "transparent" not in tints
        seen = max(seen, len(tints))
    assert seen > 1


def test_five_selections_and_four_colours(visit):
    """Basins come and go as D4 moves: of selections that are reached or locally optimal, none share a colour but grey."""
    tab, most = visit("plane"), 0
    tab.get_by_label("Start from").select_option("four documents on a circle")
    tab.locator("[data-token=D4]").focus()
    for key in ["ArrowUp"] * 6 + ["ArrowRight"] * 8 + ["ArrowDown"] * 12 + ["ArrowLeft"] * 16:
        tab.keyboard.press(f"Shift+{key}")
        rows = tab.locator("tr[data-selection]").evaluate_all(
            "all => all.map(x => [x.cells[2].textContent, x.cells[3].textContent, x.querySelector('i').style.background])"
        )
        tints = [tint for optimal, share, tint in rows if share != "0 %" or optimal == "yes"]
        coloured = [tint for tint in tints if tint != "rgb(127, 127, 127)"]
        assert len(set(coloured)) == len(coloured)
        assert "rgb(127, 127, 127)" not in [
            tint for _, share, tint in rows if share != "0 %"
        ]  # at most three are reached
        most = max(most, len(tints))
    assert most > 4


def test_the_background_is_where_the_flow_goes(visit, presets):
    """The colour of each cell of the canvas is that of the selection that the library's flow reaches from there."""
    tab, rng = visit("plane"), np.random.default_rng(8)
    tab.wait_for_function("document.querySelector('canvas').width === 132")  # the finest grid
    P = problem(presets(tab)["one document, two limits"])
    tints = dict(tab.locator("tr[data-selection]").evaluate_all(
        "all => all.map(x => [x.dataset.selection, x.querySelector('i').style.background])"
    ))  # fmt: skip
    assert tints["0"] == "rgb(0, 114, 178)" and tints["1"] == "rgb(213, 94, 0)"
    canvas = "[...document.querySelector('canvas').getContext('2d').getImageData(0, 0, 132, 132).data]"
    pixels = np.array(tab.evaluate(canvas)).reshape(132, 132, 4)
    for x, y in rng.uniform(-HALF, HALF, size=(25, 2)):
        column, row = int((x + HALF) / (2 * HALF) * 132), int((HALF - y) / (2 * HALF) * 132)
        near = [
            (2 * HALF * (column + c) / 132 - HALF, HALF - 2 * HALF * (row + r) / 132) for c in (-1, 2) for r in (-1, 2)
        ]
        ends = {selected(P, gradient_flow(P, place, length=300.0).points[-1])[0] for place in near}
        if len(ends) > 1:
            continue  # at the border
        painted = pixels[row, column]
        tint = [int(part) for part in re.findall(r"\d+", tints[str(ends.pop())])]
        assert painted[:3] == pytest.approx(tint, abs=3) and painted[3] == 0x3D


def numbers(path):
    """The points of an SVG path of straight lines, in coordinates of the plane."""
    points = np.array(re.findall(r"[ML]([\d.-]+) ([\d.-]+)", path), dtype=float)
    return np.c_[points[:, 0] / 100 - HALF, HALF - points[:, 1] / 100]


def test_arrows_bands_rings_and_labels(visit, presets):
    """Arrows along the max-margin directions, bands as wide as the margin from the selected token down, all in the
    colour of their selection; rings on the selected tokens; the better a token, the more solid."""
    tab = visit("plane")
    tab.get_by_label("Start from").select_option("two documents, two limits")
    documents = presets(tab)["two documents, two limits"]
    P = problem(documents)
    colours = dict(tab.locator("tr[data-selection]").evaluate_all(
        "all => all.map(x => [x.dataset.selection, x.querySelector('i').style.background])"
    ))  # fmt: skip
    optimal = {"0,0": [0, 2], "0,1": [0, 3]}
    assert [key for key in rows_of(tab)][:2] in (["0,0", "0,1"], ["0,1", "0,0"])  # they stand first
    arrows = tab.locator(".ex-rays path").evaluate_all(
        "all => all.map(x => [x.getAttribute('d'), getComputedStyle(x).stroke])"
    )
    found = {}
    for path, tint in arrows:
        tail, head = numbers(path)
        assert np.abs(tail).max() < 1e-9
        found[next(key for key, colour in colours.items() if colour == tint)] = head / np.linalg.norm(head)
    assert set(found) == set(optimal)
    for key, rows in optimal.items():
        solution = max_margin(P, rows)
        np.testing.assert_allclose(found[key], solution.p * solution.margin, atol=2e-3)
        if tab.locator(".explore").get_attribute("data-reached") != key:
            tab.locator(f'tr[data-selection="{key}"] button').click()
        bands = tab.locator(".ex-band path").evaluate_all(
            "all => all.map(x => [x.getAttribute('d'), getComputedStyle(x).fill])"
        )
        assert len(bands) == len(rows)
        for (path, tint), row in zip(bands, rows):
            levels = numbers(path) @ solution.p * solution.margin
            top = P.keys[row] @ solution.p * solution.margin
            np.testing.assert_allclose(levels, [top, top, top - solution.margin, top - solution.margin], atol=2e-2)
            assert tint == colours[key]
        ringed = tab.locator(".ex-token:has(.ex-ring)").evaluate_all("all => all.map(x => x.dataset.token)")
        assert ringed == [["A1", "A2", "B1", "B2"][row] for row in rows]
        tab.get_by_role("button", name="reset").click()
    solid = tab.locator(".ex-shape").evaluate_all("all => all.map(x => +x.getAttribute('fill-opacity'))")
    assert solid == pytest.approx([1, 0.15, 1, 0.15])
    assert tab.locator(".ex-labels text").all_text_contents() == ["A1: 1.0", "A2: 0.0", "B1: 1.0", "B2: 0.0"]
    for box in (
        label.bounding_box() for label in tab.locator(".ex-labels text").all()
    ):  # they hide no token from the hand
        middle = [box["x"] + box["width"] / 2, box["y"] + box["height"] / 2]
        assert tab.evaluate("at => document.elementFromPoint(...at).localName", middle) != "text"
    reached = tab.locator(".explore").get_attribute("data-reached")
    assert tab.locator(".ex-path > path").evaluate("x => getComputedStyle(x).stroke") == colours[reached]


def test_reset_undoes_everything(visit):
    tab = visit("plane")
    shown = "[document.querySelector('.ex-plot svg').outerHTML, document.querySelector('.ex-side').textContent]"
    fresh = tab.evaluate("document.querySelector('.ex-verdict').textContent")
    wait_fine(tab)
    first = tab.evaluate(shown)
    tab.get_by_label("Loss").select_option("correlation")
    tab.locator('tr[data-selection="2"] button').click()
    tab.get_by_role("button", name="add a document").click()
    tab.get_by_role("button", name="add a token").click()
    assert tab.evaluate("document.querySelector('.ex-verdict').textContent") != fresh
    tab.get_by_role("button", name="reset").click()
    wait_fine(tab)
    assert tab.evaluate(shown) == first
    assert tab.get_by_label("Loss").input_value() == "logistic"


def test_documents_come_and_go(visit):
    """At most four of seven tokens; a document left with one token goes as a whole."""
    tab = visit("plane")
    for name in ("B", "C", "D"):
        tab.get_by_role("button", name="add a document").click()
        assert tab.locator(f"[data-token={name}2]").count() == 1
    assert tab.get_by_role("button", name="add a document").is_disabled()
    for k in range(3, 8):
        tab.get_by_role("button", name="add a token").click()
        assert tab.locator(f"[data-token=D{k}]").count() == 1
    assert tab.get_by_role("button", name="add a token").is_disabled()
    for _ in range(6):
        assert tab.locator("[data-token^=D]").count()
        tab.get_by_role("button", name="remove it").click()
    assert tab.locator("[data-token^=D]").count() == 0 and tab.locator("[data-token^=C]").count() == 2


def test_a_name_in_the_text_loads_the_example(visit):
    tab = visit("plane")
    assert tab.locator("em button").all_inner_texts() == ["a loud document"]
    tab.locator("em button").click()
    assert tab.get_by_label("Start from").input_value() == "a loud document"
    assert "selects A1 B1" in tab.locator(".ex-verdict").inner_text()
    tab = open_review(visit)
    tab.locator("em button", has_text="a negation").click()
    assert tab.get_by_label("your review").input_value().startswith("This is not a bad film.")
