/* The paper of the plane: axes, basins on a canvas, above them max-margin directions and margin bands as SVG. */
(function () {
  "use strict";
  const { el, svg, number, GREY } = window.Explore;

  const HALF = 2.5; // the window is [-HALF, HALF] on both axes, for keys and for p alike
  const SIZE = 500;

  const sx = (x) => (SIZE * (x + HALF)) / (2 * HALF);
  const sy = (y) => (SIZE * (HALF - y)) / (2 * HALF);
  const round = (x) => x.toFixed(1);
  const name = (i, t) => "ABCD"[i] + (t + 1);
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
      labels: layer("ex-labels"),
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

  /* A pointer's place in the plane. */
  function place({ root }, event) {
    const frame = root.getBoundingClientRect();
    return [
      ((2 * (event.clientX - frame.left)) / frame.width - 1) * HALF,
      (1 - (2 * (event.clientY - frame.top)) / frame.height) * HALF,
    ];
  }

  window.Explore.planePicture = { HALF, picture, paint, rays, band, place, sx, sy, round, name, title };
})();
