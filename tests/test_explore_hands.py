"""Tokens in the plane, by hand: mouse, finger, keys and numbers, slow and fast."""

import numpy as np
import pytest
from explorables import HALF, agrees, label_of, screen, token, wait_fine


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


def drag(tab, *places, button="left"):
    """From the first place to the last, in coordinates of the plane."""
    tab.mouse.move(*screen(tab, *places[0]))
    tab.mouse.down(button=button)
    for place in places[1:]:
        tab.mouse.move(*screen(tab, *place))
    tab.mouse.up(button=button)


def test_a_token_keeps_its_place_under_the_pointer(visit):
    tab = visit("plane")
    drag(tab, (1.1, -0.1), (1.3, 0.3), (1.6, 0.4))  # gripped beside its middle, moved by (0.5, 0.5)
    assert "A2 at 1.50, 0.50," in label_of(tab, "A2")
    drag(tab, (1.5, 0.5), (0, 2), button="right")
    assert "A2 at 1.50, 0.50," in label_of(tab, "A2")


@pytest.mark.parametrize("x, y", [(9, 0.3), (-9, 9), (9, -9), (0, 9)])
@pytest.mark.parametrize("width", [1200, 390])
def test_a_token_dragged_away_stays_at_the_edge(visit, x, y, width):
    tab = visit("plane", width=width)
    drag(tab, (1, 0), (1.5, 0.2), (x, y))
    where = [float(np.clip(c, -HALF, HALF)) for c in (x, y)]
    fields = [float(tab.locator(".ex-inspect input").nth(k).input_value()) for k in (0, 1)]
    assert fields == pytest.approx(where, abs=1e-9)
    frame = tab.locator(".ex-plot svg").bounding_box()
    for text in tab.locator(".ex-labels text, .ex-start text").all():  # none is cut
        box = text.bounding_box()
        assert box["x"] >= frame["x"] and box["x"] + box["width"] <= frame["x"] + frame["width"]
        assert box["y"] >= frame["y"] and box["y"] + box["height"] <= frame["y"] + frame["height"]


def test_a_fast_hand_waits_for_nothing(visit):
    """Two hundred moves of the pointer in twenty frames are drawn twenty times, and the last place is the one that stays."""
    tab = visit("plane")
    tab.get_by_label("Start from").select_option("four documents on a circle")
    wait_fine(tab)
    tab.mouse.move(*screen(tab, -0.39, 0.92))
    tab.mouse.down()
    drawn = tab.evaluate(
        """async () => { const frame = document.querySelector('.ex-plot svg').getBoundingClientRect(), frames = () => new Promise(requestAnimationFrame);
             let drawn = 0;
             new MutationObserver((all) => { drawn += all.length; }).observe(document.querySelector('.ex-path'), { childList: true });
             for (let k = 0; k < 200; k++) {
               const clientX = frame.left + frame.width * (0.5 + 0.4 * Math.cos(k / 9)), clientY = frame.top + frame.height * (0.5 + 0.4 * Math.sin(k / 9));
               window.dispatchEvent(new PointerEvent('pointermove', { pointerId: 1, clientX, clientY }));
               if (k % 10 === 9) await frames();
             } return drawn; }"""
    )
    assert 10 <= drawn <= 22  # now and then one more, when it was calm for a moment
    tab.mouse.move(*screen(tab, 1.5, 1.5))
    tab.mouse.up()
    x = float(tab.locator(".ex-inspect input").nth(0).input_value())
    assert x == pytest.approx(1.5, abs=0.25)  # gripped beside its middle


def test_a_number_can_be_typed_slowly(visit):
    """Half a number is not taken away, however long the pause; too large a one becomes the largest when it is left."""
    tab = visit("plane")
    tab.get_by_label("token to edit").select_option(label="A2")
    x = tab.get_by_label("x of the token")
    x.press("Control+a")
    for key in "-1.25":
        x.press(key)
        tab.wait_for_timeout(350)
    assert x.input_value() == "-1.25" and "A2 at \u22121.25, 0.00" in label_of(tab, "A2")
    x.fill("77")
    x.press("Tab")
    assert x.input_value() == "2.5" and "A2 at 2.50, 0.00" in label_of(tab, "A2")
    x.fill("")
    x.press("Tab")
    assert x.input_value() == "2.5"


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


def test_removing_by_keys_keeps_the_keyboard_in_the_plane(visit):
    tab = visit("plane")
    tab.locator("[data-token=A3]").focus()
    tab.keyboard.press("Delete")
    assert tab.locator("[data-token]").count() == 3  # A1, A2 and p
    assert tab.evaluate("document.activeElement.dataset.token") == "A2"
    tab.keyboard.press("Backspace")  # two tokens are the least there can be
    assert tab.locator("[data-token]").count() == 3
    assert tab.get_by_role("button", name="remove it").is_disabled()
    wait_fine(tab)
    agrees(tab, [[token(-0.1, 1, 1), token(1, 0, 0.9)]])


def test_the_keyboard_alone_is_enough(visit):
    """From the top: the preset, the loss, the start, a token, another selection, without a pointer."""
    tab, seen = visit("plane"), []
    for _ in range(60):
        tab.keyboard.press("Tab")
        here = tab.evaluate(
            "(x => x.dataset.token || x.getAttribute('aria-label') || x.textContent)(document.activeElement)"
        )
        seen.append(here)
        if len(seen) == 1:
            tab.keyboard.press("ArrowDown")  # the next preset
        elif here == "A1":
            tab.keyboard.press("ArrowRight")
        elif here.startswith("A2 B3 C3"):
            tab.keyboard.press("Enter")
            assert tab.evaluate("document.activeElement.textContent").startswith("A2 B3 C3")  # though made anew
            break
    assert {"p", "A1", "C7", "x of the token", "score of the token", "selections", "token to edit"} <= set(seen)
    assert tab.get_by_label("Start from").input_value() == "three documents of seven tokens"
    assert "A1 at 0.80, \u22120.25" in label_of(tab, "A1")
    assert tab.locator('tr[data-selection="1,2,2"] button').get_attribute("aria-pressed") == "true"


def test_keys_with_control_are_the_browser_s(visit):
    tab = visit("plane")
    tab.locator("[data-token=A2]").focus()
    for key in ("Control+ArrowLeft", "Alt+ArrowUp", "Meta+ArrowDown", "Control+="):
        tab.keyboard.press(key)
    assert "A2 at 1.00, 0.00, score 0.90" in label_of(tab, "A2")


def touch(tab, *places):
    session = tab.context.new_cdp_session(tab)
    steps = [("touchStart", places[0]), *(("touchMove", place) for place in places[1:]), ("touchEnd", None)]
    for kind, place in steps:
        points = [{"x": place[0], "y": place[1]}] if place else []
        session.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": points})
        tab.wait_for_timeout(50)


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


def test_fingers_on_a_phone(visit):
    """A tap chooses a token, a drag moves it and not the page; a swipe beside the tokens moves the page."""
    tab = visit("plane", width=390, has_touch=True)
    tab.evaluate("document.body.style.paddingBottom = '3000px'")
    tab.touchscreen.tap(*screen(tab, 1, 0))
    assert tab.get_by_label("token to edit").input_value() == "0,1"
    touch(tab, screen(tab, 1, 0), screen(tab, 1.2, -0.6), screen(tab, 1.2, -1))
    assert "A2 at 1.20, \u22121.00" in label_of(tab, "A2")
    assert tab.evaluate("scrollY") == 0
    touch(tab, *(screen(tab, -1.5, y) for y in (0, 0.5, 1, 2)))
    assert tab.evaluate("scrollY") > 50
    assert "A2 at 1.20, \u22121.00" in label_of(tab, "A2")
