/* One step: edit a small corpus and see what one gradient step writes into the embeddings. */
(function () {
  "use strict";
  const X = window.Explore;
  const { el, number, button, slider } = X;
  const M = X.stepMath,
    { SMALL, scatter, describe } = X.stepPlot;

  const REVIEWS = [
    [1, "a wonderful film with a slow start"],
    [1, "the cast is superb and so is the end"],
    [1, "slow at times but the end is wonderful"],
    [-1, "a dull film with a slow end"],
    [-1, "the score is awful and so is the cast"],
    [-1, "an awful film at a dull time"],
  ];
  const START = { eta: 10, scale: 0.05, size: 0, seed: 1 };
  const MOST = { reviews: 40, tokens: 300 }; // more tokens than that are not drawn

  X.mount("step", (box) => {
    let state, reviews;
    const set = (name, value) => {
      state[name] = value;
      draw();
    };
    const eta = slider("step size \u03b7", { min: -1, max: 3, step: 0.05 }, (x) => set("eta", 10 ** x));
    const scale = slider("noise \u03bd of the start", { min: 0, max: 1, step: 0.01 }, (x) => set("scale", x));
    const size = slider("length of p", { min: 0, max: 5, step: 0.1 }, (x) => set("size", x));
    const list = el("ol", { class: "ex-reviews" });
    const add = button("add a review", () => {
      reviews.push({ label: 1, text: "" });
      edit(reviews.length - 1);
    });
    const again = button("another start", () => set("seed", state.seed + 1));
    const verdict = el("p", { class: "ex-verdict", "aria-live": "polite" });
    const plot = el("div", { class: "ex-scatter drawing", role: "img" });
    const table = X.table("tokens", ["token", "\u03b1", "\u0394", "\u03b3 before", "\u03b3 after"]);
    const more = el("p", { class: "ex-note" });

    box.append(
      el(
        "div",
        { class: "ex-columns ex-even" },
        el(
          "div",
          {},
          list,
          el("div", { class: "ex-buttons" }, add, again, button("reset", reset)),
          [eta, scale, size].map(({ row }) => row),
        ),
        plot,
      ),
      verdict,
      table.box,
      more,
    );

    function reset() {
      state = { ...START };
      reviews = REVIEWS.map(([label, text]) => ({ label, text }));
      eta.input.value = Math.log10(state.eta);
      scale.input.value = state.scale;
      size.input.value = state.size;
      edit();
    }

    /* The reviews, one row each; the one numbered `focus` is ready to type in. */
    function edit(focus) {
      list.replaceChildren(...reviews.map(row));
      add.disabled = reviews.length >= MOST.reviews;
      if (focus !== undefined) list.children[focus].querySelector("input").focus();
      draw();
    }

    function row(review, i) {
      const flip = button("", () => {
        review.label = -review.label;
        name();
        draw();
      });
      flip.className = "ex-label";
      const name = () => {
        flip.textContent = review.label > 0 ? "+" : "\u2212";
        flip.dataset.label = review.label;
        flip.setAttribute(
          "aria-label",
          `review ${i + 1} is ${review.label > 0 ? "positive" : "negative"}; flip its label`,
        );
      };
      name();
      const input = el("input", {
        type: "text",
        value: review.text,
        dir: "auto",
        spellcheck: "false",
        autocomplete: "off",
        "aria-label": `text of review ${i + 1}`,
        oninput: () => {
          review.text = input.value;
          draw();
        },
      });
      const drop = button(
        "\u00d7",
        () => {
          reviews.splice(i, 1);
          edit(Math.min(i, reviews.length - 1));
        },
        { "aria-label": `remove review ${i + 1}`, disabled: reviews.length === 1 },
      );
      return el("li", {}, flip, input, drop);
    }

    function draw() {
      eta.say(number(state.eta, state.eta < 10 ? 2 : state.eta < 100 ? 1 : 0));
      scale.say(state.scale ? number(state.scale) : "0: silence");
      size.say(number(state.size, 1));
      const words = M.corpus(
        reviews.map((r) => r.text),
        reviews.map((r) => r.label),
      );
      if (!words.documents.length) return empty();
      const found = step(words),
        { alpha, order } = found;
      verdict.textContent = say(found);
      table.fill(
        order.map((s) => [
          { "data-token": words.vocabulary[s] },
          [
            el("bdi", {}, words.vocabulary[s]),
            number(alpha[s], 4, true),
            ...["delta", "before", "gamma"].map((name) => number(found[name][s], 3, true)),
          ],
        ]),
      );
      const left = alpha.length - order.length;
      more.textContent = left ? `${left} more tokens, of smaller |\u03b1|, are counted but not shown.` : "";
      plot.replaceChildren(scatter(found));
      plot.setAttribute("aria-label", describe(found));
    }

    function empty() {
      verdict.textContent = "No review has a word yet.";
      more.textContent = "";
      plot.replaceChildren();
      plot.removeAttribute("aria-label");
      table.fill([]);
    }

    /* Everything that is shown of a corpus: its statistics, the step, the bound, and the tokens by |alpha|. */
    function step(words) {
      const { alpha, delta } = M.statistics(words),
        model = M.start(words, state),
        { before, gamma } = M.oneStep(words, model, state.eta);
      const order = alpha.map((_, s) => s).sort((s, t) => Math.abs(alpha[t]) - Math.abs(alpha[s]) || s - t);
      return {
        ...{ vocabulary: words.vocabulary, alpha, delta, before, gamma, eta: state.eta },
        line: alpha.map((a) => (state.eta / 2) * a),
        slack: M.remainderBound(words, model).map((bound) => state.eta * bound),
        order: order.slice(0, MOST.tokens),
      };
    }

    function say({ alpha, before, gamma, line, slack }) {
      const off = gamma.reduce((most, g, s) => Math.max(most, Math.abs(g - line[s])), 0);
      const sided = alpha.map((_, s) => s).filter((s) => Math.abs(alpha[s]) > SMALL);
      const right = sided.filter((s) => gamma[s] * alpha[s] > 0),
        sure = sided.filter((s) => Math.abs(line[s]) > Math.abs(before[s]) + slack[s]);
      return (
        `${alpha.length} tokens, ${sided.length} of them with \u03b1 \u2260 0. ` +
        `Largest distance of \u03b3 from the line \u03b7\u03b1/2: ${off < SMALL ? "0, the theorem is exact here" : number(off, 4)}. ` +
        `${right.length} of ${sided.length} have the sign of \u03b1; the corollary guarantees ${sure.length}.`
      );
    }

    reset();
  });
})();
