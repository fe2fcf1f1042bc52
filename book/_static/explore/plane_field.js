/* Training p in the plane: the direction of -grad L in the log domain, and how it turns.

   A problem is a list of documents, a document a list of tokens {x, y, score}: the key is (x, y), the score is the
   label-score y_i gamma_u, which is all that the loss sees. The same mathematics as attnlib/tail.py and losses.py,
   and tested against them. */
(function () {
  "use strict";

  /* Of a loss ell(u) the flow needs log(-ell'), which weighs the documents, and log(ell''/ell'^2), which bends g. */
  const LOSSES = {
    logistic: { logSlope: (u) => -softplus(u), logCurvature: (u) => u },
    exponential: { logSlope: (u) => -u, logCurvature: (u) => u },
    correlation: { logSlope: () => 0, logCurvature: () => -Infinity },
  };

  const softplus = (x) => Math.max(x, 0) + Math.log1p(Math.exp(-Math.abs(x)));

  /* The problem as flat arrays: keys X, Y, scores G; document i holds the tokens from[i] to from[i + 1] - 1. */
  function compile(documents, loss = "logistic") {
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
      loss: LOSSES[loss],
      best: new Int32Array(n), // the reference token of each document at the last point looked at
      room: 0, // the smallest lead of a reference token over the next score there
      A: new Float64Array(m),
      logW: new Float64Array(m),
      W: new Float64Array(m), // W = its entry times e^top
      lift: new Float64Array(n), // y_i f_i
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
        logG = P.loss.logSlope(G[r] - delta);
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
     and abar_i = sum A_u a_u, -hess L = sum_i [ -sum_u W_u a_u a_u' + G_i abar_i' + abar_i G_i' - n (ell''/ell'^2) G_i G_i' ]. */
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
      const bend = n * Math.exp(P.loss.logCurvature(lift[i]) + P.top);
      xx += 2 * Gx * bx - bend * Gx * Gx;
      xy += Gx * by + Gy * bx - bend * Gx * Gy;
      yy += 2 * Gy * by - bend * Gy * Gy;
    }
    const { gx, gy, norm } = P,
      sx = gx * xx + gy * xy,
      sy = gx * xy + gy * yy; // g' H
    return [(xx - gx * sx) / norm, (xy - gx * sy) / norm, (xy - gy * sx) / norm, (yy - gy * sy) / norm];
  }

  window.Explore = window.Explore || {};
  window.Explore.field = { LOSSES, compile, look, turning };
})();
