/* Where the flow goes from every start of a grid: coarse at once, then finer in the background, in short slices. */
(function () {
  "use strict";
  const { flow } = window.Explore;

  const COARSE = 11; // starts a side while something moves
  const FINE = 33; // at rest: the shares are counted on this grid
  const SUB = 4; // then each cell next to another basin is cut into SUB x SUB

  /* The start in the middle of cell k of N along an axis of the window [-half, half]. */
  const middle = (k, N, half) => half * ((2 * k + 1) / N - 1);

  /* The selection reached from a start, as "0,1", or "" if none is. */
  function limit(P, table, x, y, tolerance) {
    const end = flow.follow(P, table, x, y, { tolerance });
    return end.ended === "settled" ? end.selection.join() : "";
  }

  /* All cells of an N x N grid, rows from above; yields after each start. `old` is a coarser grid to copy from. */
  function* grid(P, table, half, N, tolerance, old) {
    const cells = new Array(N * N);
    for (let row = 0; row < N; row++) {
      for (let column = 0; column < N; column++) {
        const known = old && same(old, Math.floor(row / SUB), Math.floor(column / SUB));
        if (known === null || known === undefined) {
          cells[row * N + column] = limit(P, table, middle(column, N, half), -middle(row, N, half), tolerance);
          yield;
        } else cells[row * N + column] = known;
      }
    }
    return { N, cells };
  }

  /* The basin that a cell shares with all its neighbours, or null. */
  function same({ N, cells }, row, column) {
    const own = cells[row * N + column];
    for (let r = Math.max(row - 1, 0); r <= Math.min(row + 1, N - 1); r++) {
      for (let c = Math.max(column - 1, 0); c <= Math.min(column + 1, N - 1); c++) {
        if (cells[r * N + c] !== own) return null;
      }
    }
    return own;
  }

  /* The share of the starts of a grid that reach each selection. */
  function shares({ N, cells }) {
    const found = {};
    for (const key of cells) found[key] = (found[key] || 0) + 1 / (N * N);
    return found;
  }

  function* levels(P, table, half) {
    const first = yield* grid(P, table, half, FINE, 1e-3);
    yield { picture: first, shares: shares(first) };
    const second = yield* grid(P, table, half, FINE * SUB, 1e-3, first);
    yield { picture: second, shares: shares(first), last: true };
  }

  /* The coarse grid, at once. */
  function glance(P, table, half) {
    const work = grid(P, table, half, COARSE, 1e-2);
    for (;;) {
      const { value, done } = work.next();
      if (done) return { picture: value, shares: shares(value) };
    }
  }

  /* The finer grids, 12 ms at a time; `report` gets each. Returns a function that stops the work. */
  function study(P, table, half, report) {
    const work = levels(P, table, half);
    let timer = setTimeout(slice, 0);
    function slice() {
      const until = performance.now() + 12;
      while (performance.now() < until) {
        const { value, done } = work.next();
        if (done) return;
        if (value) report(value);
      }
      timer = setTimeout(slice, 0);
    }
    return () => clearTimeout(timer);
  }

  window.Explore.basins = { COARSE, FINE, middle, glance, study };
})();
