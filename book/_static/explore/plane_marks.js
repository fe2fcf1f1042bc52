/* What stands in the plane: orbits, the start of the one that is followed, and the tokens. */
(function () {
  "use strict";
  const { svg, number, flow, basins, planePicture, GREY } = window.Explore;
  const { HALF, sx, sy, round, name, title } = planePicture;

  const SHAPES = [
    (r) => svg("circle", { r }),
    (r) => svg("rect", { x: -0.85 * r, y: -0.85 * r, width: 1.7 * r, height: 1.7 * r }),
    (r) => svg("path", { d: `M0 ${-1.15 * r}L${1.05 * r} ${0.75 * r}L${-1.05 * r} ${0.75 * r}Z` }),
    (r) => svg("path", { d: `M0 ${1.15 * r}L${1.05 * r} ${-0.75 * r}L${-1.05 * r} ${-0.75 * r}Z` }),
  ];
  const LEFT = [false, false, true, true]; // where the label of a token stands: a place for each document
  const BELOW = [false, true, true, false];

  /* The orbit from a start as the data of an SVG path, with what it came to. */
  function trace(P, table, x, y, tolerance) {
    const points = [[x, y]];
    const end = flow.follow(P, table, x, y, {
      tolerance,
      longest: 0.12,
      visit: (px, py) => {
        points.push([px, py]);
        return Math.max(Math.abs(px), Math.abs(py)) < 1.2 * HALF;
      },
    });
    return { d: "M" + points.map(([px, py]) => `${round(sx(px))} ${round(sy(py))}`).join("L"), end };
  }

  /* Orbits from a side x side grid of starts. */
  function orbits({ layers }, P, table, side, colour) {
    const lines = [];
    for (let k = 0; k < side * side; k++) {
      const x = basins.middle(k % side, side, HALF),
        y = basins.middle(Math.floor(k / side), side, HALF);
      const { d, end } = trace(P, table, x, y, 1e-3);
      const stroke = end.ended === "settled" ? colour(end.selection.join()) : GREY;
      lines.push(svg("path", { d, stroke }), svg("circle", { cx: round(sx(x)), cy: round(sy(y)), r: 2, fill: stroke }));
    }
    layers.orbits.replaceChildren(...lines);
  }

  /* What becomes of the orbit, in words. */
  function fate({ ended, selection, x, y }) {
    if (ended === "settled") return `selects ${title(selection)}`;
    if (ended === "stationary") return `comes to rest at (${number(x)}, ${number(y)}) and selects nothing`;
    if (ended === "balanced") return "goes on for ever with divided attention and selects nothing";
    return "has not settled on a selection as far as it is followed";
  }

  /* One token, which can be dragged, focused and moved by keys. */
  function token(i, t, { x, y, score }, { rank, chosen, ...events }) {
    const shape = SHAPES[i]([10, 8.5, 8, 8][i]);
    shape.setAttribute("class", "ex-shape");
    shape.setAttribute("fill-opacity", 0.15 + 0.85 * rank);
    return svg(
      "g",
      {
        class: "ex-token",
        transform: `translate(${round(sx(x))} ${round(sy(y))})`,
        tabindex: 0,
        role: "button",
        "aria-roledescription": "movable token",
        "data-token": name(i, t),
        "aria-label": `${name(i, t)} at ${number(x)}, ${number(y)}, score ${number(score)}; arrow keys move it, plus and minus change its score`,
        ...events,
      },
      svg("circle", { r: 22, class: "ex-grip" }),
      chosen ? svg("circle", { r: 15, class: "ex-ring" }) : null,
      shape,
    );
  }

  /* Its name and score, inwards at the edge of the window, where they would be cut. */
  function label(i, t, { x, y, score }) {
    const left = Math.abs(x) > 0.75 * HALF ? x > 0 : LEFT[i],
      down = Math.abs(y) > 0.9 * HALF ? y > 0 : BELOW[i];
    const place = { x: round(sx(x) + (left ? -13 : 13)), y: round(sy(y) + (down ? 24 : -11)) };
    return svg("text", { ...place, "text-anchor": left ? "end" : "start" }, `${name(i, t)}: ${number(score, 1)}`);
  }

  /* The start of the flow that is followed, and its orbit. */
  function path({ layers }, P, table, [x, y], colour, events) {
    const { d, end } = trace(P, table, x, y, 1e-6);
    const tint = end.ended === "settled" ? colour(end.selection.join()) : GREY;
    layers.path.replaceChildren(
      svg("path", { d, stroke: tint }),
      svg(
        "g",
        {
          class: "ex-start",
          transform: `translate(${round(sx(x))} ${round(sy(y))})`,
          tabindex: 0,
          role: "button",
          "aria-roledescription": "movable start",
          "data-token": "p",
          "aria-label": `start p at ${number(x)}, ${number(y)}; arrow keys move it`,
          ...events,
        },
        svg("circle", { r: 22, class: "ex-grip" }),
        svg("path", { d: "M0 -9L9 0L0 9L-9 0Z", fill: tint }),
        svg("text", { x: -14, y: -10, "text-anchor": "end" }, "p"),
      ),
    );
    return end;
  }

  window.Explore.planeMarks = { orbits, path, fate, token, label };
})();
