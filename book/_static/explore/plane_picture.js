/* The picture of the plane: basins on a canvas, above it orbits, directions, margin bands and tokens as SVG. */
(function () {
  "use strict";
  const { el, svg, number, flow, basins, GREY } = window.Explore;

  const HALF = 2.5; // the window is [-HALF, HALF] on both axes, for keys and for p alike
  const SIZE = 500;
  const SHAPES = [
    (r) => svg("circle", { r }),
    (r) => svg("rect", { x: -0.85 * r, y: -0.85 * r, width: 1.7 * r, height: 1.7 * r }),
    (r) => svg("path", { d: `M0 ${-1.15 * r}L${1.05 * r} ${0.75 * r}L${-1.05 * r} ${0.75 * r}Z` }),
  ];
  const LABEL = [
    [13, -11],
    [13, 21],
    [-13, 21],
  ]; // beside the token, a place for each document

  const sx = (x) => (SIZE * (x + HALF)) / (2 * HALF);
  const sy = (y) => (SIZE * (HALF - y)) / (2 * HALF);
  const round = (x) => x.toFixed(1);
  const name = (i, t) => "ABC"[i] + (t + 1);
  const title = (selection) => selection.map((t, i) => name(i, t)).join(" ");

  function picture() {
    const canvas = el("canvas", { "aria-hidden": "true" });
    const layer = (className) => svg("g", { class: className });
    const layers = {
      axes: layer("ex-axes"),
      band: layer("ex-band"),
      orbits: layer("ex-orbits"),
      rays: layer("ex-rays"),
      path: layer("ex-path"),
      tokens: layer("ex-tokens"),
    };
    const root = svg(
      "svg",
      { viewBox: `0 0 ${SIZE} ${SIZE}` },
      svg(
        "defs",
        {},
        svg(
          "marker",
          { id: "ex-arrow", viewBox: "0 0 10 10", refX: 7, refY: 5, markerWidth: 5, markerHeight: 5, orient: "auto" },
          svg("path", { d: "M0 0L10 5L0 10Z", fill: "context-stroke" }),
        ),
      ),
      ...Object.values(layers),
    );
    for (let k = -2; k <= 2; k++) {
      layers.axes.append(svg("path", { d: `M${sx(k)} 0V${SIZE}M0 ${sy(k)}H${SIZE}`, class: k ? "" : "ex-zero" }));
      if (k)
        layers.axes.append(
          svg("text", { x: sx(k), y: SIZE - 6 }, number(k, 0)),
          svg("text", { x: 12, y: sy(k) + 4 }, number(k, 0)),
        );
    }
    const box = el("div", { class: "ex-plot drawing", role: "group" }, canvas, root);
    return { box, canvas, root, layers };
  }

  /* Basins: each cell in the colour of the selection its start reaches, none where it reaches none. */
  function paint({ canvas }, { N, cells }, colour) {
    canvas.width = canvas.height = N;
    const context = canvas.getContext("2d");
    for (let k = 0; k < N * N; k++) {
      if (!cells[k]) continue;
      context.fillStyle = colour(cells[k]) + "3d";
      context.fillRect(k % N, Math.floor(k / N), 1, 1);
    }
  }

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

  /* The max-margin direction of each locally optimal selection, from the origin to the edge; the shown one as well. */
  function rays({ layers }, judged, shown, colour) {
    const kept = judged.filter((s) => s.feasible && s.margin < Infinity && (s.optimal || s === shown));
    layers.rays.replaceChildren(
      ...kept.map((s) => {
        const ux = s.p[0] * s.margin,
          uy = s.p[1] * s.margin,
          reach = (0.96 * HALF) / Math.max(Math.abs(ux), Math.abs(uy));
        return svg("path", {
          d: `M${sx(0)} ${sy(0)}L${round(sx(reach * ux))} ${round(sy(reach * uy))}`,
          stroke: s.optimal ? colour(s.selection.join()) : GREY,
          "stroke-dasharray": s.optimal ? null : "6 5",
          "marker-end": "url(#ex-arrow)",
        });
      }),
    );
  }

  /* The margin band of each document for the shown selection: from the selected token down to its nearest rival. */
  function band({ layers }, documents, shown, colour) {
    if (!shown || !shown.feasible || shown.margin === Infinity) return layers.band.replaceChildren();
    const ux = shown.p[0] * shown.margin,
      uy = shown.p[1] * shown.margin,
      far = 4 * HALF;
    const tint = shown.optimal ? colour(shown.selection.join()) : GREY;
    const corner = (level, side) =>
      `${round(sx(level * ux - side * far * uy))} ${round(sy(level * uy + side * far * ux))}`;
    layers.band.replaceChildren(
      ...documents.map((tokens, i) => {
        const { x, y } = tokens[shown.selection[i]],
          high = x * ux + y * uy,
          low = high - shown.margin;
        return svg("path", {
          d: `M${corner(high, 1)}L${corner(high, -1)}L${corner(low, -1)}L${corner(low, 1)}Z`,
          fill: tint,
          stroke: tint,
        });
      }),
    );
  }

  /* One token, which can be dragged, focused and moved by keys. */
  function token(i, t, { x, y, score }, { rank, chosen, labelled, ...events }) {
    const place = LABEL[i],
      shape = SHAPES[i]([10, 8.5, 8][i]);
    shape.setAttribute("class", "ex-shape");
    shape.setAttribute("fill-opacity", 0.15 + 0.85 * rank);
    return svg(
      "g",
      {
        class: "ex-token" + (chosen ? " ex-chosen" : ""),
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
      labelled
        ? svg(
            "text",
            { x: place[0], y: place[1], "text-anchor": place[0] < 0 ? "end" : "start" },
            `${name(i, t)}: ${number(score, 1)}`,
          )
        : null,
    );
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

  /* A pointer's place in the plane. */
  function place({ root }, event) {
    const frame = root.getBoundingClientRect();
    return [
      ((2 * (event.clientX - frame.left)) / frame.width - 1) * HALF,
      (1 - (2 * (event.clientY - frame.top)) / frame.height) * HALF,
    ];
  }

  window.Explore.planePicture = { HALF, picture, paint, orbits, rays, band, token, path, place, name, title };
})();
