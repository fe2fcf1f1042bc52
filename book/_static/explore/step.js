/* One step: edit a small corpus and see what one gradient step writes into the embeddings. */
(function () {
  "use strict";
  const X = window.Explore;
  const { el, svg, number, COLOURS, GREY } = X;
  const M = X.stepMath;

  const REVIEWS = [
    [1, "a wonderful film with a slow start"],
    [1, "the cast is superb and so is the end"],
    [1, "slow at times but the end is wonderful"],
    [-1, "a dull film with a slow end"],
    [-1, "the score is awful and so is the cast"],
    [-1, "an awful film at a dull time"],
  ];
  const BOX = { width: 480, height: 400, left: 52, right: 14, top: 14, bottom: 44 };
  const MOST = 40; // reviews

  X.mount("step", (box) => {
    const state = { eta: 10, scale: 0.05, size: 0, seed: 1 };
    let reviews = REVIEWS.map(([label, text]) => ({ label, text }));

    const list = el("ol", { class: "ex-reviews" });
    const eta = X.slider("step size \u03b7", { min: -1, max: 3, step: 0.05, value: 1 }, (x) => {
      state.eta = 10 ** x;
      draw();
    });
    const scale = X.slider("noise \u03bd of the start", { min: 0, max: 1, step: 0.01, value: state.scale }, (x) => {
      state.scale = x;
      draw();
    });
    const size = X.slider("length of p", { min: 0, max: 5, step: 0.1, value: 0 }, (x) => {
      state.size = x;
      draw();
    });
    const verdict = el("p", { class: "ex-verdict", "aria-live": "polite" });
    const plot = el("div", { class: "ex-scatter drawing", role: "img" });
    const rows = el("tbody", {});
    const add = el(
      "button",
      {
        type: "button",
        onclick: () => {
          reviews.push({ label: 1, text: "" });
          edit(reviews.length - 1);
          draw();
        },
      },
      "add a review",
    );

    box.append(
      el(
        "div",
        { class: "ex-columns ex-even" },
        el(
          "div",
          {},
          list,
          el(
            "div",
            { class: "ex-buttons" },
            add,
            el(
              "button",
              {
                type: "button",
                onclick: () => {
                  state.seed += 1;
                  draw();
                },
              },
              "another start",
            ),
            el(
              "button",
              {
                type: "button",
                onclick: () => {
                  reviews = REVIEWS.map(([label, text]) => ({ label, text }));
                  edit();
                  draw();
                },
              },
              "reset",
            ),
          ),
          eta.row,
          scale.row,
          size.row,
        ),
        el("div", {}, plot),
      ),
      verdict,
      el(
        "div",
        { class: "ex-scroll", tabindex: 0, role: "region", "aria-label": "tokens" },
        el(
          "table",
          { class: "ex-table" },
          el(
            "thead",
            {},
            el(
              "tr",
              {},
              ["token", "\u03b1", "\u0394", "\u03b3 before", "\u03b3 after"].map((name) =>
                el("th", { scope: "col" }, name),
              ),
            ),
          ),
          rows,
        ),
      ),
    );

    /* The reviews, one row each; the one numbered `focus` is ready to type in. */
    function edit(focus) {
      list.replaceChildren(
        ...reviews.map((review, i) => {
          const flip = el("button", { type: "button", class: "ex-label" });
          const name = () => {
            flip.textContent = review.label > 0 ? "+" : "\u2212";
            flip.dataset.label = review.label;
            flip.setAttribute(
              "aria-label",
              `review ${i + 1} is ${review.label > 0 ? "positive" : "negative"}; flip its label`,
            );
          };
          flip.addEventListener("click", () => {
            review.label = -review.label;
            name();
            draw();
          });
          name();
          const input = el("input", {
            type: "text",
            value: review.text,
            dir: "auto",
            spellcheck: "false",
            "aria-label": `text of review ${i + 1}`,
            oninput: () => {
              review.text = input.value;
              draw();
            },
          });
          const drop = el(
            "button",
            {
              type: "button",
              "aria-label": `remove review ${i + 1}`,
              onclick: () => {
                reviews.splice(i, 1);
                edit(Math.min(i, reviews.length - 1));
                draw();
              },
            },
            "\u00d7",
          );
          drop.disabled = reviews.length === 1;
          return el("li", {}, flip, input, drop);
        }),
      );
      add.disabled = reviews.length >= MOST;
      if (focus !== undefined) list.children[focus].querySelector("input").focus();
    }

    function draw() {
      eta.say(number(state.eta, state.eta < 10 ? 2 : state.eta < 100 ? 1 : 0));
      scale.say(state.scale ? number(state.scale) : "0: silence");
      size.say(number(state.size, 1));
      const words = M.corpus(
        reviews.map((r) => r.text),
        reviews.map((r) => r.label),
      );
      if (!words.documents.length) {
        verdict.textContent = "No review has a word yet.";
        plot.replaceChildren();
        plot.removeAttribute("aria-label");
        return rows.replaceChildren();
      }
      const { alpha, delta } = M.statistics(words),
        model = M.start(words, state),
        { before, gamma } = M.oneStep(words, model, state.eta);
      const bound = M.remainderBound(words, model),
        line = alpha.map((a) => (state.eta / 2) * a);
      const off = Math.max(...gamma.map((g, s) => Math.abs(g - line[s])));
      const sided = alpha.map((a, s) => s).filter((s) => Math.abs(alpha[s]) > 1e-12);
      const right = sided.filter((s) => gamma[s] * alpha[s] > 0),
        sure = sided.filter((s) => Math.abs(line[s]) > Math.abs(before[s]) + state.eta * bound[s]);
      verdict.textContent =
        `${words.vocabulary.length} tokens, ${sided.length} of them with \u03b1 \u2260 0. Largest distance of \u03b3 from the line \u03b7\u03b1/2: ${off < 1e-12 ? "0, the theorem is exact here" : number(off, 4)}. ` +
        `${right.length} of ${sided.length} have the sign of \u03b1; the corollary guarantees ${sure.length}.`;
      const order = alpha.map((_, s) => s).sort((s, t) => Math.abs(alpha[t]) - Math.abs(alpha[s]) || s - t);
      rows.replaceChildren(
        ...order.map((s) =>
          el(
            "tr",
            { "data-token": words.vocabulary[s] },
            el("td", {}, el("bdi", {}, words.vocabulary[s])),
            ...[
              [alpha, 4],
              [delta, 3],
              [before, 3],
              [gamma, 3],
            ].map(([x, digits]) => el("td", {}, number(x[s], digits, true))),
          ),
        ),
      );
      scatter(words.vocabulary, { alpha, before, gamma, line, slack: bound.map((b) => state.eta * b), order });
    }

    /* gamma against alpha: where each token started, where the step put it, the line of the theorem, the bound around it. */
    function scatter(vocabulary, { alpha, before, gamma, line, slack, order }) {
      const wide = 1.15 * Math.max(...alpha.map(Math.abs), 1e-9),
        tall = 1.1 * Math.max(...gamma.map(Math.abs), ...before.map(Math.abs), (state.eta / 2) * wide, 1e-9);
      const x = (a) => BOX.left + ((a / wide + 1) / 2) * (BOX.width - BOX.left - BOX.right),
        y = (g) => BOX.top + ((1 - g / tall) / 2) * (BOX.height - BOX.top - BOX.bottom);
      const clip = (g) => Math.max(-tall, Math.min(tall, g)),
        at = (v) => v.toFixed(1);
      const tint = (s) => (alpha[s] > 1e-12 ? COLOURS[0] : alpha[s] < -1e-12 ? COLOURS[1] : GREY);
      const taken = [];
      const labels = order
        .filter((s) => Math.abs(alpha[s]) > 1e-12)
        .map((s) => {
          const px = x(alpha[s]),
            py = y(gamma[s]);
          if (taken.some(([qx, qy]) => Math.abs(px - qx) < 75 && Math.abs(py - qy) < 15)) return null;
          taken.push([px, py]);
          const left = alpha[s] > 0.35 * wide || (alpha[s] < 0 && alpha[s] > -0.5 * wide);
          return svg(
            "text",
            { x: at(px + (left ? -9 : 9)), y: at(py + 5), "text-anchor": left ? "end" : "start" },
            Array.from(vocabulary[s]).slice(0, 14).join(""),
          );
        });
      const far = (state.eta / 2) * wide;
      plot.replaceChildren(
        svg(
          "svg",
          { viewBox: `0 0 ${BOX.width} ${BOX.height}`, class: "ex-curve" },
          svg("path", { class: "ex-zero", d: `M${x(-wide)} ${y(0)}H${x(wide)}M${x(0)} ${y(-tall)}V${y(tall)}` }),
          svg("path", {
            class: "ex-slack",
            d: order
              .map(
                (s) =>
                  `M${at(x(alpha[s]))} ${at(y(clip(line[s] + before[s] - slack[s])))}V${at(y(clip(line[s] + before[s] + slack[s])))}`,
              )
              .join(""),
          }),
          svg("path", {
            class: "ex-line",
            stroke: COLOURS[2],
            d: `M${at(x(-wide))} ${at(y(-far))}L${at(x(wide))} ${at(y(far))}`,
          }),
          ...order.map((s) =>
            svg("circle", { cx: at(x(alpha[s])), cy: at(y(before[s])), r: 3, class: "ex-before", stroke: tint(s) }),
          ),
          ...order.map((s) => svg("circle", { cx: at(x(alpha[s])), cy: at(y(gamma[s])), r: 5, fill: tint(s) })),
          ...labels,
          ...[-1, 1].map((k) =>
            svg(
              "text",
              { x: at(x((k * wide) / 1.15)), y: BOX.height - 24, "text-anchor": "middle" },
              number((k * wide) / 1.15, 3),
            ),
          ),
          ...[-1, 0, 1].map((k) =>
            svg(
              "text",
              { x: BOX.left - 8, y: at(y((k * tall) / 1.1) + 4), "text-anchor": "end" },
              number((k * tall) / 1.1, tall < 1 ? 2 : tall < 100 ? 1 : 0),
            ),
          ),
          svg("text", { x: x(0), y: BOX.height - 6, "text-anchor": "middle" }, "average signed frequency \u03b1"),
          svg("text", { x: x(0) + 6, y: BOX.top + 8 }, "value \u03b3"),
        ),
      );
      const first = order[0];
      plot.setAttribute(
        "aria-label",
        `Value against average signed frequency for ${vocabulary.length} tokens, and the line of slope ${number(state.eta / 2)}. ` +
          `The largest frequency is that of ${vocabulary[first]}, ${number(alpha[first], 4)}, with value ${number(gamma[first], 3)} after the step.`,
      );
    }

    edit();
    draw();
  });
})();
