/* Max-margin selection in the plane: the shortest p that ranks the selected tokens first by 1, and local optimality.

   A document is a list of tokens {x, y, score}: the key is (x, y), the score is the label-score y_i gamma_u. The same
   definitions as attnlib/margin.py and optimality.py, and tested against them. */
(function () {
  "use strict";

  const TIGHT = 1e-7; // slack below which a constraint counts as tight, as in attnlib/margin.py

  /* The shortest p with p.a >= 1 for all differences a = [ax, ay], or null: in the plane one or two of them are tight. */
  function shortest(differences) {
    if (!differences.length) return [0, 0];
    const angles = differences.map(([x, y]) => Math.atan2(y, x)).sort((s, t) => s - t);
    const turns = angles.map((angle, k) =>
      k ? angle - angles[k - 1] : angle + 2 * Math.PI - angles[angles.length - 1],
    );
    if (Math.max(...turns) <= Math.PI) return null; // no half-plane holds them all
    const longest = Math.max(...differences.map(([x, y]) => Math.hypot(x, y)));
    let found = null,
      least = (1e9 / longest) ** 2; // a margin below 1e-9 of the longest difference is none
    const offer = (x, y) => {
      const square = x * x + y * y;
      if (square < least && differences.every(([a, b]) => a * x + b * y >= 1 - 1e-10)) {
        found = [x, y];
        least = square;
      }
    };
    differences.forEach(([a, b], k) => {
      offer(a / (a * a + b * b), b / (a * a + b * b));
      for (const [c, d] of differences.slice(0, k)) {
        const det = a * d - b * c;
        if (Math.abs(det) > 1e-14 * longest * longest) offer((d - b) / det, (a - c) / det);
      }
    });
    return found;
  }

  /* Max-margin and local optimality of one selection, the number of the selected token in each document. */
  function judge(documents, selection) {
    const gap = (s, t) => [s.x - t.x, s.y - t.y];
    const others = documents.map((tokens, i) => tokens.filter((_, t) => t !== selection[i]));
    const chosen = documents.map((tokens, i) => tokens[selection[i]]);
    const p = shortest(others.flatMap((rest, i) => rest.map((t) => gap(chosen[i], t))));
    if (!p) return { selection, feasible: false, optimal: false };
    const norm = Math.hypot(...p),
      score = (t) => t.x * p[0] + t.y * p[1];
    const neighbours = others.map((rest, i) => rest.filter((t) => Math.abs(score(chosen[i]) - score(t) - 1) <= TIGHT));
    const optimal = neighbours.every((rest, i) => rest.every((t) => chosen[i].score > t.score));
    return { selection, feasible: true, optimal, p, margin: norm ? 1 / norm : Infinity, neighbours };
  }

  /* Every selection, judged. */
  function selections(documents) {
    let all = [[]];
    for (const tokens of documents) all = all.flatMap((head) => tokens.map((_, t) => [...head, t]));
    return all.map((selection) => judge(documents, selection));
  }

  window.Explore = window.Explore || {};
  window.Explore.margin = { selections };
})();
