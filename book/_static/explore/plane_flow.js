/* The flow of p in the plane, to any length, and what it settles on: attnlib/flow.py, for a page. */
(function () {
  "use strict";
  const { look, turning } = window.Explore.field;

  const LOST = 1e-6; // rounding error of the tangent at which an orbit is given up, as in attnlib/flow.py
  const SETTLED = 0.01; // radians between the tangent and a max-margin direction that count as arrival

  /* What an orbit may settle on: the max-margin direction of each locally optimal selection. */
  function limits(P, judged) {
    const table = new Map();
    for (const { selection, optimal, p, margin } of judged) {
      if (optimal && margin < Infinity)
        table.set(selection.map((t, i) => P.from[i] + t).join(), { selection, p, margin });
    }
    return table;
  }

  /* The orbit of the flow from (px, py) in arc length, dp/dtau = g(p) = -grad L / |grad L|, by Shampine's linearly
     implicit pair of orders 2 and 3 (long steps where the tangent has settled) with a local error of `tolerance` in a
     score. It ends settled when g is within SETTLED of the max-margin direction of the selection that p makes, a locally
     optimal one, over an arc on which the margin's scores grew by 4; or, with tied scores, when g has not turned by more
     over the last half of the length. `visit(x, y)` is called at every step until it returns false. */
  function follow(P, table, px, py, { tolerance = 1e-4, length = 400, longest = Infinity, visit } = {}) {
    const unit = 1 / (P.size || 1),
      d = 1 / (2 + Math.SQRT2),
      e = 6 + Math.SQRT2;
    let tau = 0,
      h = 0.05 * unit,
      since = 0,
      held = null,
      half = null,
      mark = [px, py, 0];
    const end = (ended, more) => ({ ended, x: px, y: py, tau, ...more });
    if (!look(P, px, py)) return end("stationary");
    for (let step = 0; step < 3000 && tau < length * unit; step++) {
      h = Math.min(h, longest, (length * unit) / 16);
      const fx = P.gx,
        fy = P.gy,
        [a, b, c, k] = turning(P); // g and dg/dp = [a b; c k] at (px, py)
      let error = Infinity,
        x = px,
        y = py;
      while (error > 1) {
        const A = 1 - h * d * a,
          B = -h * d * b,
          C = -h * d * c,
          K = 1 - h * d * k,
          det = A * K - B * C;
        const ux = (K * fx - B * fy) / det,
          uy = (A * fy - C * fx) / det;
        let fine = look(P, px + (h / 2) * ux, py + (h / 2) * uy);
        const mx = P.gx,
          my = P.gy;
        const vx = (K * (mx - ux) - B * (my - uy)) / det + ux,
          vy = (A * (my - uy) - C * (mx - ux)) / det + uy;
        x = px + h * vx;
        y = py + h * vy;
        fine = fine && look(P, x, y);
        const rx = P.gx - e * (vx - mx) - 2 * (ux - fx),
          ry = P.gy - e * (vy - my) - 2 * (uy - fy);
        const wx = (K * rx - B * ry) / det,
          wy = (A * ry - C * rx) / det;
        error = fine ? ((h / 6) * Math.hypot(ux - 2 * vx + wx, uy - 2 * vy + wy) * P.size) / tolerance : Infinity;
        if (!(error <= 1)) {
          h *= Math.max(0.2, 0.8 / Math.cbrt(error));
          if (h < 1e-7 * unit) return end("stationary");
          error = Infinity;
        }
      }
      px = x;
      py = y;
      tau += h;
      h *= Math.min(4, Math.max(1, 0.8 / Math.cbrt(error)));
      if (P.rounding > LOST) return end("balanced");
      const goal = table.get(P.best.join());
      const near =
        goal && P.room > 4 && Math.hypot(goal.p[0] * goal.margin - P.gx, goal.p[1] * goal.margin - P.gy) <= SETTLED;
      if (!near || goal !== held) {
        held = near ? goal : null;
        since = tau;
      }
      if (held && (tau - since) * goal.margin >= 4) return end("settled", { selection: goal.selection });
      if (tau > (length * unit) / 2) {
        if (!half || Math.hypot(half[0] - P.gx, half[1] - P.gy) > SETTLED) half = [P.gx, P.gy, tau];
      }
      if (visit && visit(x, y) === false) {
        visit = null;
        longest = Infinity;
      }
      if (step % 32 === 31) {
        // to and fro around a point with grad L = 0, where the unit tangent is no longer smooth
        if (Math.hypot(px - mark[0], py - mark[1]) < 0.25 * (tau - mark[2])) return end("stationary");
        mark = [px, py, tau];
      }
    }
    const calm = half && half[2] < 0.75 * tau && tau >= length * unit && P.room > 4;
    return calm ? end("settled", { selection: Array.from(P.best, (u, i) => u - P.from[i]) }) : end("length");
  }

  window.Explore.flow = { limits, follow };
})();
