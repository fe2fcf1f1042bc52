/* Tokens in the plane: drag keys, change scores, and see where training p leads. */
(function () {
  "use strict";
  const X = window.Explore;
  const { el, number, button, select, field, flow, margin, basins, presets, COLOURS, GREY } = X;
  const V = X.planePicture,
    marks = X.planeMarks;

  const LOUDER = { "+": 0.1, "=": 0.1, "-": -0.1 };

  X.mount("plane", (box) => {
    const state = { documents: [], start: [0, 0], active: [0, 0], asked: null, moving: false };
    let P, judged, table, found, colours;
    let stop = () => {};

    const view = V.picture();
    const names = Object.keys(presets);
    const choice = select(
      names.map((name) => [name, name]),
      { onchange: () => load(choice.value) },
    );
    const loss = select(
      Object.keys(field.LOSSES).map((name) => [name, name]),
      { onchange: () => settle() },
    );
    const note = el("p", { class: "ex-note" });
    const verdict = el("p", { class: "ex-verdict", "aria-live": "polite" });
    const editor = X.planeEdit.editor(state, change, settle);
    const list = X.planeList.list((key) => {
      state.asked = state.asked === key ? null : key;
      draw();
    });
    box.append(
      el(
        "div",
        { class: "ex-bar" },
        el("label", {}, "Start from ", choice),
        el("label", {}, "Loss ", loss),
        button("reset", () => load(choice.value)),
      ),
      note,
      el(
        "div",
        { class: "ex-columns ex-plane" },
        view.box,
        editor.box,
        el("div", { class: "ex-side" }, verdict, list.nodes),
      ),
    );

    function load(name) {
      const preset = presets[name];
      choice.value = name;
      loss.value = "logistic";
      note.textContent = preset.note;
      state.documents = preset.documents.map((tokens) => tokens.map(([x, y, score]) => ({ x, y, score })));
      state.start = [...preset.start];
      state.active = [0, 0];
      state.asked = null;
      colours = new Map();
      settle();
    }

    /* Change the problem, show it roughly now and in full when nothing has moved for a moment. */
    let calm = 0;
    function change(act) {
      act();
      state.moving = true;
      update();
      clearTimeout(calm);
      calm = setTimeout(settle, 250);
    }

    function settle() {
      clearTimeout(calm);
      state.moving = false;
      update();
      stop = basins.study(P, table, V.HALF, (result) => {
        found = result;
        V.paint(view, found.picture, colour);
        tell();
      });
    }

    function update() {
      stop();
      P = field.compile(state.documents, loss.value);
      judged = margin.selections(state.documents);
      table = flow.limits(P, judged);
      found = basins.glance(P, table, V.HALF);
      dye(
        Object.keys(found.shares).filter((key) => key), // "" is the share that selects nothing
        judged.filter((s) => s.optimal).map((s) => s.selection.join()),
      );
      draw();
      editor.show();
    }

    /* A colour for each selection, kept while tokens move so that basins do not swap theirs. The first groups come first;
       when the colours are used up, the rest is grey. */
    function dye(...groups) {
      const old = colours;
      colours = new Map();
      for (const keys of groups) {
        for (const key of keys)
          if (old.has(key) && old.get(key) !== GREY && free(old.get(key))) colours.set(key, old.get(key));
        keys.forEach(colour);
      }
    }

    const free = (tint) => ![...colours.values()].includes(tint);
    function colour(key) {
      if (!colours.has(key)) colours.set(key, COLOURS.find(free) ?? GREY);
      return colours.get(key);
    }

    const shown = () => judged.find((s) => s.selection.join() === (state.asked ?? box.dataset.reached));

    function draw() {
      const focused = view.root.contains(document.activeElement) && document.activeElement.dataset.token;
      V.paint(view, found.picture, colour);
      marks.orbits(view, P, table, state.moving ? 5 : 9, colour);
      const move = (x, y) => (state.start = [x, y]);
      const end = marks.path(view, P, table, state.start, colour, hand({ where: () => state.start, move }));
      box.dataset.reached = end.ended === "settled" ? end.selection.join() : "";
      V.rays(view, judged, shown(), colour);
      V.band(view, state.documents, shown(), colour);
      view.layers.tokens.replaceChildren(...state.documents.flatMap(tokensOf));
      view.layers.labels.replaceChildren(...state.documents.flatMap(labelsOf));
      if (focused) (thing(focused) ?? thing(V.name(...state.active))).focus({ preventScroll: true }); // it was drawn anew
      verdict.textContent =
        `From p = (${number(state.start[0])}, ${number(state.start[1])}) the flow ${marks.fate(end)}. ` +
        `${judged.filter((s) => s.optimal).length} of ${judged.length} selections are locally optimal.`;
      tell();
    }

    const thing = (name) => view.root.querySelector(`[data-token="${name}"]`);
    const hand = (of) => X.planeHand.hand(view, of, change, settle);

    /* All names, or, of many, those of the best tokens and of the one that is edited. */
    function labelsOf(tokens, i) {
      const best = Math.max(...tokens.map((t) => t.score)),
        few = state.documents.flat().length <= 9,
        kept = (t, k) => few || t.score === best || state.active.join() === [i, k].join();
      return tokens.flatMap((t, k) => (kept(t, k) ? [marks.label(i, k, t)] : []));
    }

    function tokensOf(tokens, i) {
      const scores = tokens.map((t) => t.score),
        low = Math.min(...scores),
        high = Math.max(...scores);
      return tokens.map((t, k) =>
        marks.token(i, k, t, {
          rank: high > low ? (t.score - low) / (high - low) : 1,
          chosen: Boolean(shown()?.feasible && shown().selection[i] === k),
          ...hand({
            where: () => [t.x, t.y],
            move: (x, y) => Object.assign(t, { x, y }),
            choose: () => {
              state.active = [i, k];
              editor.show();
            },
            press: (key) => {
              if (LOUDER[key]) editor.louder(LOUDER[key]);
              else if (key === "Delete" || key === "Backspace") editor.remove();
              else return false;
              return true;
            },
          }),
        }),
      );
    }

    /* What the basins say, which are found after the rest. */
    function tell() {
      list.show({ judged, found, shown: shown(), colour });
      view.box.setAttribute("aria-label", X.planeList.describe(state.documents, judged, found));
      box.dataset.starts = found.picture.N > basins.COARSE ? "fine" : "coarse";
    }

    X.links(box, names, load);
    load("one document, two limits");
  });
})();
