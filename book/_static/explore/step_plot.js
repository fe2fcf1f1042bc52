/* gamma against alpha: where each token started, where the step put it, the line of the theorem, the bound around it. */
(function () {
  "use strict";
  const { svg, number, COLOURS, GREY } = window.Explore;

  const BOX = { width: 350, height: 320, left: 50, right: 10, top: 12, bottom: 42 };
  const SMALL = 1e-12; // an alpha below this is 0
  const LABEL = { letter: 7, tall: 13, letters: 14 };

  const largest = (...lists) => lists.flat().reduce((most, x) => Math.max(most, Math.abs(x)), 1e-9);
  const at = (v) => v.toFixed(1);
  const tint = (a) => (a > SMALL ? COLOURS[0] : a < -SMALL ? COLOURS[1] : GREY);

  /* The picture for tokens in the order in which they are named, and a sentence that says what it shows. */
  function scatter({ vocabulary, alpha, before, gamma, line, slack, order, eta }) {
    const far = 1.15 * largest(alpha),
      high = 1.1 * largest(gamma, before, [(eta / 2) * far]);
    const x = (a) => BOX.left + ((a / far + 1) / 2) * (BOX.width - BOX.left - BOX.right),
      y = (g) => BOX.top + ((1 - g / high) / 2) * (BOX.height - BOX.top - BOX.bottom),
      clipped = (g) => at(y(Math.max(-high, Math.min(high, g))));
    const text = (px, py, anchor, words) => svg("text", { x: at(px), y: at(py), "text-anchor": anchor }, words);
    const point = (s, g, more) => svg("circle", { cx: at(x(alpha[s])), cy: at(y(g[s])), ...more });
    const bar = (s, middle) => `M${at(x(alpha[s]))} ${clipped(middle - slack[s])}V${clipped(middle + slack[s])}`;

    const taken = alpha.map((a, s) => [x(a) - 5, x(a) + 5, y(gamma[s]), 9]); // from, to, height, and room above and below
    const labels = order.map((s) => {
      if (Math.abs(alpha[s]) <= SMALL) return null;
      const word = Array.from(vocabulary[s]).slice(0, LABEL.letters).join(""),
        wide = 9 + LABEL.letter * Array.from(word).length,
        [px, py] = [x(alpha[s]), y(gamma[s])];
      const clear = ([from, to, height]) =>
        from > BOX.left &&
        to < BOX.width &&
        !taken.some(([a, b, h, room]) => a < to && b > from && Math.abs(h - height) < room);
      const places = [0, -LABEL.tall, LABEL.tall].flatMap((up) => [
        [px + 6, px + wide, py + up, LABEL.tall],
        [px - wide, px - 6, py + up, LABEL.tall],
      ]);
      const place = places.find(clear);
      if (!place) return null;
      taken.push(place);
      return place[0] > px ? text(px + 9, place[2] + 4, "start", word) : text(px - 9, place[2] + 4, "end", word);
    });
    const digits = high < 1 ? 2 : high < 100 ? 1 : 0;
    const ticks = [
      ...[-1, 1].map((k) => text(x((k * far) / 1.15), BOX.height - 24, "middle", number((k * far) / 1.15, 3))),
      ...[-1, 0, 1].map((k) => text(BOX.left - 8, y((k * high) / 1.1) + 4, "end", number((k * high) / 1.1, digits))),
      text(x(0), BOX.height - 6, "middle", "average signed frequency \u03b1"),
      text(x(0) + 6, BOX.top + 8, "start", "value \u03b3"),
    ];
    const end = (eta / 2) * far,
      slope = `M${at(x(-far))} ${at(y(-end))}L${at(x(far))} ${at(y(end))}`;
    return svg(
      "svg",
      { viewBox: `0 0 ${BOX.width} ${BOX.height}`, class: "ex-curve" },
      svg("path", { class: "ex-zero", d: `M${x(-far)} ${y(0)}H${x(far)}M${x(0)} ${y(-high)}V${y(high)}` }),
      svg("path", { class: "ex-slack", d: order.map((s) => bar(s, line[s] + before[s])).join("") }),
      svg("path", { class: "ex-line", stroke: COLOURS[2], d: slope }),
      order.map((s) => point(s, before, { r: 3, class: "ex-before", stroke: tint(alpha[s]) })),
      order.map((s) => point(s, gamma, { r: 5, fill: tint(alpha[s]) })),
      labels,
      ticks,
    );
  }

  function describe({ vocabulary, alpha, gamma, order: [first], eta }) {
    return (
      `Value against average signed frequency for ${vocabulary.length} tokens, and the line of slope ${number(eta / 2)}. ` +
      `The largest frequency is that of ${vocabulary[first]}, ${number(alpha[first], 4)}, with value ${number(gamma[first], 3)} after the step.`
    );
  }

  window.Explore.stepPlot = { SMALL, scatter, describe };
})();
