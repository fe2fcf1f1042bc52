/* What a trained model attends to in a text: attnlib/explain.py, with the scores z = E p of a p made longer or shorter. */
(function () {
  "use strict";
  const { spans } = window.Explore.words;

  /* The stored table, {tokens: "a b c", z: [...], gamma: [...]}, ready to look words up. */
  const index = ({ tokens, z, gamma }) => ({ row: new Map(tokens.split(" ").map((token, s) => [token, s])), z, gamma });

  /* softmax(scale z) over the places of a text. */
  function softmax(z, scale) {
    let top = -Infinity;
    for (const x of z) top = Math.max(top, scale * x);
    const e = z.map((x) => Math.exp(scale * x - top)),
      total = e.reduce((sum, x) => sum + x, 0);
    return e.map((x) => x / total);
  }

  /* The known words of a text: {shown, words, known}; a known word has its z and gamma. */
  function read(text, table) {
    const { shown, words } = spans(text);
    for (const word of words) {
      const s = table.row.get(word.token);
      if (s !== undefined) Object.assign(word, { z: table.z[s], gamma: table.gamma[s] });
    }
    return { shown, words, known: words.filter((word) => word.z !== undefined) };
  }

  /* Attention of each known word and the logit f, null if no word is known; scale 1 is the trained p, 0 the average. */
  function attend({ known }, scale = 1) {
    const A = softmax(
      known.map((word) => word.z),
      scale,
    );
    return { A, f: known.length ? A.reduce((sum, a, k) => sum + a * known[k].gamma, 0) : null };
  }

  /* Token by token: how often, how much attention in all, its value; most attention first. */
  function tally({ known }, A) {
    const rows = new Map();
    known.forEach(({ token, gamma }, k) => {
      const row = rows.get(token) || { token, times: 0, attention: 0, gamma };
      row.times += 1;
      row.attention += A[k];
      rows.set(token, row);
    });
    return [...rows.values()].sort((r, s) => s.attention - r.attention);
  }

  window.Explore.reviewMath = { index, read, attend, tally };
})();
