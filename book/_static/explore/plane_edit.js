/* The fields of one token of the plane: its place, its score; adding and removing. */
(function () {
  "use strict";
  const { el, button, planePicture, planeHand } = window.Explore;
  const { HALF, name } = planePicture;
  const { STEP, clamp, snap } = planeHand;

  const MOST = { documents: 4, tokens: 7, score: 10 };

  /* {box, show, louder, remove} for the token state.active of state.documents. */
  function editor(state, change, settle) {
    const token = () => state.documents[state.active[0]][state.active[1]];

    function field(label, key, most, step, type = "number") {
      const input = el("input", {
        type,
        min: -most,
        max: most,
        step,
        autocomplete: "off",
        inputmode: "decimal",
        "aria-label": `${key} of the token`,
        oninput: () => {
          const value = input.valueAsNumber; // not a number while it is half typed
          if (Number.isFinite(value)) change(() => (token()[key] = clamp(value, most)));
        },
        onchange: () => {
          input.value = token()[key];
          settle();
        },
      });
      return { key, input, row: el("label", type === "range" ? { class: "ex-wide" } : {}, label, input) };
    }
    const fields = [
      field("x", "x", HALF, STEP),
      field("y", "y", HALF, STEP),
      field("score", "score", MOST.score, 0.1),
      field("", "score", MOST.score, 0.1, "range"),
    ];

    const which = el("select", {
      autocomplete: "off",
      "aria-label": "token to edit",
      onchange: () => {
        state.active = which.value.split(",").map(Number);
        show();
      },
    });
    const add = button("add a token", () =>
      change(() => {
        const tokens = state.documents[state.active[0]];
        tokens.push({ x: -0.5, y: snap(0.3 * tokens.length), score: 0 });
        state.active = [state.active[0], tokens.length - 1];
      }),
    );
    const addDocument = button("add a document", () =>
      change(() => {
        state.documents.push([
          { x: 1, y: -1, score: 1 },
          { x: 0, y: 0, score: 0 },
        ]);
        state.active = [state.documents.length - 1, 0];
      }),
    );
    const drop = button("remove it", remove);

    const last = () => state.documents.length === 1 && state.documents[0].length <= 2;

    function remove() {
      const [i, k] = state.active;
      if (last()) return;
      change(() => {
        state.documents[i].splice(k, 1);
        if (state.documents[i].length < 2) state.documents.splice(i, 1); // one token leaves nothing to select
        const at = Math.min(i, state.documents.length - 1);
        state.active = [at, Math.min(k, state.documents[at].length - 1)];
      });
    }

    const louder = (by) => change(() => (token().score = clamp(Number((token().score + by).toFixed(1)), MOST.score)));

    /* The fields, but for the one that is being typed in. */
    function show() {
      which.replaceChildren(
        ...state.documents.flatMap((tokens, i) =>
          tokens.map((_, k) => el("option", { value: `${i},${k}` }, name(i, k))),
        ),
      );
      which.value = state.active.join();
      for (const { key, input } of fields) if (input !== document.activeElement) input.value = token()[key];
      add.disabled = state.documents[state.active[0]].length >= MOST.tokens;
      addDocument.disabled = state.documents.length >= MOST.documents;
      drop.disabled = last();
    }

    const box = el(
      "fieldset",
      { class: "ex-inspect" },
      el("legend", {}, "Edit token ", which),
      fields.map(({ row }) => row),
      el("span", { class: "ex-buttons" }, drop, add, addDocument),
    );
    return { box, show, louder, remove };
  }

  window.Explore.planeEdit = { editor };
})();
