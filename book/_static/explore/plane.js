/* Tokens in the plane: drag keys, change scores, and see where training p leads. */
(function () {
  "use strict";
  const X = window.Explore;
  const { el, number, flow, margin, basins, presets, COLOURS, GREY } = X;
  const V = X.planePicture;

  const STEP = 0.05; // keys and starts sit on this grid
  const MOST = { documents: 3, tokens: 7, score: 10 };
  const MOVES = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, 1], ArrowDown: [0, -1] };

  const clamp = (x, most) => Math.max(-most, Math.min(most, x));
  const snap = (x) => clamp(Number((Math.round(x / STEP) * STEP).toFixed(2)), V.HALF);

  X.mount("plane", (box) => {
    let documents,
      start,
      colours,
      asked,
      active = [0, 0],
      P,
      table,
      judged,
      found,
      stop = () => {},
      moving = false;
    const view = V.picture();

    const choice = el(
      "select",
      { onchange: () => load(choice.value) },
      Object.keys(presets).map((name) => el("option", { value: name }, name)),
    );
    const note = el("p", { class: "ex-note" });
    const verdict = el("p", { class: "ex-verdict", "aria-live": "polite" });
    const rows = el("tbody", {});
    const rest = el("p", { class: "ex-note" });
    const which = el("select", {
      "aria-label": "token to edit",
      onchange: () => {
        active = which.value.split(",").map(Number);
        inspect();
      },
    });
    const field = (label, key, most, step) => {
      const input = el("input", {
        type: "number",
        min: -most,
        max: most,
        step,
        inputmode: "decimal",
        oninput: () => {
          const value = input.valueAsNumber;
          if (Number.isFinite(value))
            change(() => {
              token()[key] = clamp(value, most);
            }, input);
        },
      });
      return { key, input, row: el("label", {}, label, input) };
    };
    const fields = [
      field("x", "x", V.HALF, 0.05),
      field("y", "y", V.HALF, 0.05),
      field("score", "score", MOST.score, 0.1),
    ];
    const loud = el("input", {
      type: "range",
      min: -MOST.score,
      max: MOST.score,
      step: 0.1,
      "aria-label": "score of the token",
      oninput: () =>
        change(() => {
          token().score = Number(loud.value);
        }, loud),
      onchange: () => settle(),
    });
    const add = el("button", { type: "button", onclick: () => addToken() }, "add a token");
    const addDocument = el(
      "button",
      {
        type: "button",
        onclick: () =>
          change(() => {
            documents.push([
              { x: 1, y: -1, score: 1 },
              { x: 0, y: 0, score: 0 },
            ]);
            active = [documents.length - 1, 0];
          }),
      },
      "add a document",
    );
    const remove = el("button", { type: "button", onclick: () => removeToken() }, "remove it");

    box.append(
      el(
        "div",
        { class: "ex-bar" },
        el("label", {}, "Start from ", choice),
        el("button", { type: "button", onclick: () => load(choice.value) }, "reset"),
      ),
      note,
      el(
        "div",
        { class: "ex-columns ex-plane" },
        view.box,
        el(
          "fieldset",
          { class: "ex-inspect" },
          el("legend", {}, "Edit token ", which),
          ...fields.map(({ row }) => row),
          loud,
          el("span", { class: "ex-buttons" }, remove, add, addDocument),
        ),
        el(
          "div",
          { class: "ex-side" },
          verdict,
          el(
            "div",
            { class: "ex-scroll", tabindex: 0, role: "region", "aria-label": "selections" },
            el(
              "table",
              { class: "ex-table" },
              el(
                "thead",
                {},
                el(
                  "tr",
                  {},
                  ["selection", "margin", "locally optimal", "starts"].map((text) => el("th", { scope: "col" }, text)),
                ),
              ),
              rows,
            ),
          ),
          rest,
        ),
      ),
    );

    const token = () => documents[active[0]][active[1]];

    /* A colour for each selection, kept while tokens move so that basins do not swap theirs. */
    function colour(key) {
      if (!colours.has(key)) colours.set(key, COLOURS[colours.size % COLOURS.length]);
      return colours.get(key);
    }

    function load(name) {
      const preset = presets[name];
      documents = preset.documents.map((tokens) => tokens.map(([x, y, score]) => ({ x, y, score })));
      start = [...preset.start];
      colours = new Map();
      asked = null;
      active = [0, 0];
      note.textContent = preset.note;
      settle();
    }

    /* Change the problem, show it roughly now and in full when nothing has moved for a moment. */
    let calm = 0;
    function change(act, source) {
      act();
      moving = true;
      update(source);
      clearTimeout(calm);
      calm = setTimeout(settle, 250);
    }

    function settle() {
      clearTimeout(calm);
      moving = false;
      update();
      stop = basins.study(P, table, V.HALF, (result) => {
        found = result;
        V.paint(view, result.picture, colour);
        list();
      });
    }

    const update = (source) => {
      compute();
      draw();
      inspect(source);
    };

    function compute() {
      stop();
      P = flow.compile(documents);
      judged = margin.selections(documents);
      table = flow.limits(P, judged);
      judged.filter((s) => s.optimal).forEach((s) => colour(s.selection.join()));
      found = basins.glance(P, table, V.HALF);
    }

    function draw() {
      const focused = view.root.contains(document.activeElement) && document.activeElement.dataset.token;
      V.paint(view, found.picture, colour);
      V.orbits(view, P, table, moving ? 5 : 9, colour);
      const end = V.path(
        view,
        P,
        table,
        start,
        colour,
        handlers(
          (x, y) => {
            start = [x, y];
          },
          () => start,
        ),
      );
      const reached = end.ended === "settled" ? end.selection.join() : null;
      const shown = judged.find((s) => s.selection.join() === (asked ?? reached));
      V.rays(view, judged, shown, colour);
      V.band(view, documents, shown, colour);
      drawTokens(shown);
      if (focused) view.root.querySelector(`[data-token="${focused}"]`)?.focus({ preventScroll: true }); // it was drawn anew
      box.dataset.reached = reached ?? "";
      const way =
        reached === null
          ? `comes to rest or stays divided: no selection (${end.ended})`
          : `selects ${V.title(end.selection)}`;
      verdict.textContent =
        `From p = (${number(start[0])}, ${number(start[1])}) the flow ${way}. ` +
        `${judged.filter((s) => s.optimal).length} of ${judged.length} selections are locally optimal.`;
      list(shown);
    }

    function drawTokens(shown) {
      const many = documents.flat().length > 9;
      view.layers.tokens.replaceChildren(
        ...documents.flatMap((tokens, i) => {
          const scores = tokens.map((t) => t.score),
            low = Math.min(...scores),
            high = Math.max(...scores);
          return tokens.map((t, k) =>
            V.token(i, k, t, {
              rank: high > low ? (t.score - low) / (high - low) : 1,
              chosen: Boolean(shown && shown.feasible && shown.selection[i] === k),
              labelled: !many || t.score === high || (i === active[0] && k === active[1]),
              ...handlers(
                (x, y) => Object.assign(t, { x, y }),
                () => [t.x, t.y],
                () => {
                  active = [i, k];
                },
                t,
              ),
            }),
          );
        }),
      );
    }

    /* Pointer and keys for something that sits in the plane. */
    function handlers(move, where, choose = () => {}, scored = null) {
      return {
        onfocus: () => {
          choose();
          inspect();
        },
        ontouchstart: (event) => event.preventDefault(), // a finger on a token drags it and does not scroll
        onpointerdown: (event) => {
          event.preventDefault();
          event.currentTarget.focus({ preventScroll: true });
          view.root.setPointerCapture(event.pointerId); // the token itself is drawn anew while it moves
          drag(event.pointerId, move);
        },
        onkeydown: (event) => {
          const step = MOVES[event.key],
            by = event.shiftKey ? 5 * STEP : STEP;
          const louder = { "+": 0.1, "=": 0.1, "-": -0.1 }[event.key];
          if (step) change(() => move(snap(where()[0] + by * step[0]), snap(where()[1] + by * step[1])));
          else if (scored && louder)
            change(() => {
              scored.score = clamp(Number((scored.score + louder).toFixed(1)), MOST.score);
            });
          else if (scored && event.key === "Delete") removeToken();
          else return;
          event.preventDefault();
        },
      };
    }

    function drag(pointer, move) {
      let at = null;
      const refresh = X.once(() => {
        if (at) change(() => move(...at));
      });
      const follow = (event) => {
        if (event.pointerId !== pointer) return;
        at = V.place(view, event).map(snap);
        refresh();
      };
      const end = (event) => {
        if (event.pointerId !== pointer) return;
        for (const kind of ["pointermove", "pointerup", "pointercancel"])
          window.removeEventListener(kind, kind === "pointermove" ? follow : end);
        if (at) {
          move(...at);
          at = null;
          settle();
        }
      };
      window.addEventListener("pointermove", follow);
      window.addEventListener("pointerup", end);
      window.addEventListener("pointercancel", end);
    }

    /* The selections: locally optimal ones first, then the other feasible ones; the rest are only counted. */
    function list(shown = judged.find((s) => s.selection.join() === (asked ?? box.dataset.reached))) {
      const share = (s) => found.shares[s.selection.join()] || 0;
      const kept = judged
        .filter((s) => s.feasible)
        .sort((s, t) => t.optimal - s.optimal || share(t) - share(s) || t.margin - s.margin);
      const focused = rows.contains(document.activeElement) && document.activeElement.closest("tr").dataset.selection;
      rows.replaceChildren(
        ...kept.map((s) => {
          const key = s.selection.join();
          const button = el(
            "button",
            {
              type: "button",
              "aria-pressed": s === shown,
              onclick: () => {
                asked = asked === key ? null : key;
                draw();
              },
            },
            el("i", {
              style: `background:${s.optimal || share(s) ? colour(key) : "transparent"}`,
              "aria-hidden": "true",
            }),
            V.title(s.selection),
          );
          return el(
            "tr",
            { "data-selection": key },
            el("td", {}, button),
            el("td", {}, number(s.margin, 3)),
            el("td", {}, s.optimal ? "yes" : "no"),
            el("td", {}, `${Math.round(100 * share(s))} %`),
          );
        }),
      );
      if (focused) rows.querySelector(`[data-selection="${focused}"] button`)?.focus({ preventScroll: true });
      const none = Math.round(100 * (found.shares[""] || 0)),
        lost = judged.length - kept.length;
      rest.textContent =
        (lost
          ? `${lost} more ${lost > 1 ? "selections are" : "selection is"} not feasible: no p ranks those tokens first. `
          : "All selections are feasible. ") +
        `Starts: ${found.picture.N > basins.COARSE ? basins.FINE ** 2 : basins.COARSE ** 2} on a grid over the window` +
        (none ? `; ${none} % of them select nothing.` : ".");
      view.box.setAttribute(
        "aria-label",
        `The plane from \u2212${V.HALF} to ${V.HALF}: ${documents.flat().length} tokens of ${documents.length} documents; ` +
          (kept
            .filter((s) => s.optimal)
            .map((s) => `${Math.round(100 * share(s))} per cent of the starts select ${V.title(s.selection)}`)
            .join(", ") || "no selection is locally optimal, 0 of them"),
      );
      box.dataset.starts = found.picture.N > basins.COARSE ? "fine" : "coarse";
    }

    function addToken() {
      change(() => {
        const tokens = documents[active[0]];
        tokens.push({ x: snap(-0.5), y: snap(0.3 * tokens.length), score: 0 });
        active = [active[0], tokens.length - 1];
      });
    }

    function removeToken() {
      const [i, k] = active;
      if (documents[i].length <= 2 && documents.length === 1) return;
      change(() => {
        documents[i].splice(k, 1);
        if (documents[i].length < 2) documents.splice(i, 1); // a document of one token has nothing to select
        active = [0, 0];
      });
    }

    /* The fields of the token last touched; `source`, being typed in, is left alone. */
    function inspect(source) {
      which.replaceChildren(
        ...documents.flatMap((tokens, i) => tokens.map((_, k) => el("option", { value: `${i},${k}` }, V.name(i, k)))),
      );
      which.value = active.join();
      for (const { key, input } of fields) if (input !== source) input.value = token()[key];
      if (loud !== source) loud.value = token().score;
      add.disabled = documents[active[0]].length >= MOST.tokens;
      addDocument.disabled = documents.length >= MOST.documents;
      remove.disabled = documents.length === 1 && documents[0].length <= 2;
    }

    load((choice.value = "one document, two limits"));
  });
})();
