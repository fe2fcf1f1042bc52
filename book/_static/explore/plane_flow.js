/* Training p in the plane: the direction of -grad L in the log domain, and its flow to any length.

   A problem is a list of documents, a document a list of tokens {x, y, score}: the key is (x, y), the score is the
   label-score y_i gamma_u, which is all that the loss sees. The same mathematics as attnlib/tail.py and flow.py,
   and tested against them. */
(function () {
  "use strict";

  const LOST = 1e-6; // rounding error of the tangent at which an orbit is given up, as in attnlib/flow.py
  const SETTLED = 0.01; // radians between the tangent and a max-margin direction that count as arrival

  /* The problem as flat arrays: keys X, Y, scores G; document i holds the tokens from[i] to from[i + 1] - 1. */
  function compile(documents) {
    const tokens = documents.flat();
    const from = [0];
    for (const tokens of documents) from.push(from[from.length - 1] + tokens.length);
    const column = (name) => Float64Array.from(tokens, (token) => token[name]);
    const X = column("x"),
      Y = column("y"),
      G = column("score"),
      m = tokens.length,
      n = documents.length;
    const size = Math.max(...X.map(Math.abs), ...Y.map(Math.abs), 0);
    return {
      X,
      Y,
      G,
      from,
      m,
      n,
      size,
      best: new Int32Array(n), // the reference token of each document at the last point looked at
      room: 0, // the smallest lead of a reference token over the next score there
      A: new Float64Array(m),
      logW: new Float64Array(m),
      W: new Float64Array(m), // W = its entry times e^top
      lift: new Float64Array(n),
      top: 0,
      norm: 0,
      gx: 0,
      gy: 0,
      logNorm: 0,
      rounding: 0,
    };
  }

  /* -grad L / |grad L| at (px, py) into P.gx, P.gy, with log |grad L| and what rounding may change the direction by.

     With r the best token of a document and a_u = K_r - K_u, -grad L = sum W_u a_u, W_u = (1/n) g A_u (f - gamma_u),
     f - gamma_u = (gamma_r - gamma_u) - delta, where delta = e^m D is kept apart: where gamma_u = gamma_r it is all
     there is. Every weight is a number of ordinary size times e^top. False where the gradient is 0 to rounding. */
  function look(P, px, py) {
    const { X, Y, G, from, n, A, logW, W, lift } = P;
    let top = -Infinity;
    P.room = Infinity;
    for (let i = 0; i < n; i++) {
      const a = from[i],
        b = from[i + 1];
      let r = a,
        zr = -Infinity,
        second = -Infinity;
      for (let u = a; u < b; u++) {
        const z = X[u] * px + Y[u] * py;
        logW[u] = z;
        if (z > zr) {
          second = zr;
          zr = z;
          r = u;
        } else if (z > second) second = z;
      }
      P.best[i] = r;
      P.room = Math.min(P.room, zr - second);
      let total = 0,
        m = -Infinity,
        D = 0;
      for (let u = a; u < b; u++) total += Math.exp(logW[u] - zr);
      const shift = zr + Math.log(total);
      for (let u = a; u < b; u++) {
        logW[u] -= shift;
        A[u] = Math.exp(logW[u]);
        if (G[u] !== G[r] && logW[u] > m) m = logW[u];
      }
      if (m === -Infinity) m = 0; // all tokens have one score: every gap is 0, and so is D
      for (let u = a; u < b; u++) if (G[u] !== G[r]) D += Math.exp(logW[u] - m) * (G[r] - G[u]);
      const delta = Math.exp(m) * D,
        logG = -softplus(G[r] - delta);
      lift[i] = G[r] - delta;
      for (let u = a; u < b; u++) {
        const differs = G[u] !== G[r];
        W[u] = (differs ? G[r] - G[u] - delta : -D) / n;
        logW[u] += logG + (differs ? 0 : m);
        if (X[u] === X[r] && Y[u] === Y[r]) W[u] = 0; // K_r itself adds 0, and must not drown the others
        if (W[u] !== 0 && logW[u] > top) top = logW[u];
      }
    }
    let gx = 0,
      gy = 0,
      terms = 0;
    for (let i = 0; i < n; i++) {
      const r = P.best[i];
      for (let u = from[i]; u < from[i + 1]; u++) {
        if (W[u] === 0) continue;
        W[u] *= Math.exp(Math.min(logW[u] - top, 0));
        gx += W[u] * (X[r] - X[u]);
        gy += W[u] * (Y[r] - Y[u]);
        terms += Math.abs(W[u]);
      }
    }
    const norm = Math.hypot(gx, gy);
    P.rounding = norm > 0 ? (Number.EPSILON * terms * P.size) / norm : Infinity;
    P.top = top;
    P.norm = norm;
    P.gx = gx / norm;
    P.gy = gy / norm;
    P.logNorm = top + Math.log(norm);
    return P.rounding < 1;
  }

  /* dg/dp, the change of the unit tangent, at the point last looked at: [a, b, c, d] row by row. With G_i = sum W_u a_u
     and abar_i = sum A_u a_u, -hess L = sum_i [ -sum_u W_u a_u a_u' + G_i abar_i' + abar_i G_i' - n e^f G_i G_i' ]. */
  function turning(P) {
    const { X, Y, from, n, A, W, lift } = P;
    let xx = 0,
      xy = 0,
      yy = 0;
    for (let i = 0; i < n; i++) {
      const r = P.best[i];
      let Gx = 0,
        Gy = 0,
        bx = 0,
        by = 0;
      for (let u = from[i]; u < from[i + 1]; u++) {
        const ax = X[r] - X[u],
          ay = Y[r] - Y[u];
        Gx += W[u] * ax;
        Gy += W[u] * ay;
        bx += A[u] * ax;
        by += A[u] * ay;
        xx -= W[u] * ax * ax;
        xy -= W[u] * ax * ay;
        yy -= W[u] * ay * ay;
      }
      const bend = n * Math.exp(lift[i] + P.top);
      xx += 2 * Gx * bx - bend * Gx * Gx;
      xy += Gx * by + Gy * bx - bend * Gx * Gy;
      yy += 2 * Gy * by - bend * Gy * Gy;
    }
    const { gx, gy, norm } = P,
      sx = gx * xx + gy * xy,
      sy = gx * xy + gy * yy; // g' H
    return [(xx - gx * sx) / norm, (xy - gx * sy) / norm, (xy - gy * sx) / norm, (yy - gy * sy) / norm];
  }

  function softplus(x) {
    return x > 0 ? x + Math.log1p(Math.exp(-x)) : Math.log1p(Math.exp(x));
  }

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

  window.Explore = window.Explore || {};
  window.Explore.flow = { compile, look, turning, limits, follow };
})();
