/* Moving something in the plane, by mouse, finger or keys. */
(function () {
  "use strict";
  const { once, planePicture } = window.Explore;
  const { HALF, place } = planePicture;

  const STEP = 0.05; // keys and starts sit on this grid
  const MOVES = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, 1], ArrowDown: [0, -1] };

  const clamp = (x, most) => Math.max(-most, Math.min(most, x));
  const snap = (x) => clamp(Number((Math.round(x / STEP) * STEP).toFixed(2)), HALF);

  /* Listeners for a thing at where(), moved by move(x, y); `press(key)` says whether it took another key. `change` shows
     a change roughly, `settle` in full. */
  function hand(view, { where, move, choose = () => {}, press = () => false }, change, settle) {
    function drag(event) {
      const { pointerId } = event,
        grip = place(view, event).map((x, k) => where()[k] - x); // the thing keeps its place under the finger
      let at = null;
      const show = once(() => at && change(() => move(...at)));
      const follow = (event) => {
        if (event.pointerId !== pointerId) return;
        at = place(view, event).map((x, k) => snap(x + grip[k]));
        show();
      };
      const end = (event) => {
        if (event.pointerId !== pointerId) return;
        window.removeEventListener("pointermove", follow);
        for (const kind of ["pointerup", "pointercancel"]) window.removeEventListener(kind, end);
        if (at) {
          move(...at);
          at = null;
          settle();
        }
      };
      window.addEventListener("pointermove", follow);
      for (const kind of ["pointerup", "pointercancel"]) window.addEventListener(kind, end);
    }

    return {
      onfocus: choose,
      ontouchstart: (event) => event.preventDefault(), // a finger on a token drags it and does not scroll
      onpointerdown: (event) => {
        if (event.button !== 0) return; // the menu of the right button may swallow the end of a drag
        event.preventDefault();
        event.currentTarget.focus({ preventScroll: true });
        view.root.setPointerCapture(event.pointerId); // the thing itself is drawn anew while it moves
        drag(event);
      },
      onkeydown: (event) => {
        const way = MOVES[event.key],
          by = event.shiftKey ? 5 * STEP : STEP;
        if (event.ctrlKey || event.metaKey || event.altKey) return;
        if (way) change(() => move(...where().map((x, k) => snap(x + by * way[k]))));
        else if (!press(event.key)) return;
        event.preventDefault();
      },
    };
  }

  window.Explore.planeHand = { STEP, clamp, snap, hand };
})();
