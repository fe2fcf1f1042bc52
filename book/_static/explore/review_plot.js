/* A text coloured by attention, and the logit against the length of p. */
(function () {
  "use strict";
  const { el, svg, number, COLOURS, GREY } = window.Explore;
  const { attend } = window.Explore.reviewMath;

  const LONGEST = 2000; // words that are shown in colour
  const SOLID = 153; // of 255, the strongest colour: the ink stays readable
  const REACH = 4; // times the trained |p|
  const CHART = { width: 360, height: 150, left: 40, right: 10, top: 12, bottom: 34 };

  const tint = (value) => (value > 0 ? COLOURS[0] : value < 0 ? COLOURS[1] : GREY);

  /* The text, word by word, as text nodes: whatever is typed stays text. */
  function coloured({ shown, words, known }, A) {
    const mass = new Map(known.map((word, k) => [word, A[k]])),
      most = A.reduce((x, y) => Math.max(x, y), 0),
      pieces = [];
    let at = 0;
    for (const word of words.slice(0, LONGEST)) {
      const a = mass.get(word),
        piece = shown.slice(word.start, word.stop);
      pieces.push(shown.slice(at, word.start));
      if (a === undefined) pieces.push(el("s", {}, piece));
      else {
        const strength = Math.round(SOLID * (a / most))
          .toString(16)
          .padStart(2, "0");
        const title = `attention ${number(a, 4)}, value ${number(word.gamma, 3, true)}`;
        pieces.push(el("span", { style: `background:${tint(word.gamma)}${strength}`, title }, piece));
      }
      at = word.stop;
    }
    pieces.push(words.length > LONGEST ? ` \u2026 and ${words.length - LONGEST} more words` : shown.slice(at));
    return pieces;
  }

  function legend() {
    const sample = (k) => el("i", { style: `background:${COLOURS[k]}${SOLID.toString(16)}` });
    return el(
      "p",
      { class: "ex-note ex-legend" },
      ...[sample(0), "speaks for ", sample(1), "speaks against; the stronger the colour, the more attention; "],
      ...[el("s", {}, "unknown"), " words are passed over"],
    );
  }

  /* f against the length of p, from the average to a hard choice; the dot is where it stands now. */
  function curve(found, scale) {
    const f = (s) => attend(found, s).f,
      points = Array.from({ length: 81 }, (_, k) => [(k * REACH) / 80, f((k * REACH) / 80)]),
      values = points.map((point) => point[1]),
      low = Math.min(0, ...values),
      high = Math.max(0, ...values),
      span = high - low || 1;
    const x = (s) => CHART.left + (s / REACH) * (CHART.width - CHART.left - CHART.right),
      y = (f) => CHART.height - CHART.bottom - ((f - low) / span) * (CHART.height - CHART.top - CHART.bottom);
    const text = (px, py, anchor, words) => svg("text", { x: px, y: py, "text-anchor": anchor }, words),
      tick = (f) => text(CHART.left - 6, y(f) + 4, "end", number(f, 1));
    const line = "M" + points.map(([s, f]) => `${x(s).toFixed(1)} ${y(f).toFixed(1)}`).join("L"),
      dot = { cx: x(scale).toFixed(1), cy: y(f(scale)).toFixed(1), r: 5.5, fill: tint(f(scale)) };
    return svg(
      "svg",
      { viewBox: `0 0 ${CHART.width} ${CHART.height}`, class: "ex-curve" },
      svg("path", { class: "ex-zero", d: `M${x(0)} ${y(0)}H${x(REACH)}` }),
      svg("path", { class: "ex-trained", d: `M${x(1)} ${CHART.top}V${CHART.height - CHART.bottom}` }),
      svg("path", { class: "ex-line", stroke: COLOURS[2], d: line }),
      svg("circle", dot),
      tick(0),
      high > 0.2 * span ? tick(high) : null,
      -low > 0.2 * span ? tick(low) : null,
      [0, 1, 2, 3, 4].map((s) => text(x(s), CHART.height - 18, "middle", String(s))),
      text(x(REACH / 2), CHART.height - 3, "middle", "length of p, in trained lengths"),
      text(x(0) + 4, CHART.top, "start", "f"),
    );
  }

  function describe(found, scale) {
    const f = (s) => number(attend(found, s).f);
    return `f against the length of p: ${f(0)} for the plain average, ${f(1)} as trained, ${f(REACH)} at ${REACH} times the length; now ${f(scale)}.`;
  }

  window.Explore.reviewPlot = { REACH, coloured, legend, curve, describe };
})();
