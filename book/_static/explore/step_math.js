/* One gradient step on the embeddings of a small corpus: attnlib/one_step.py and attention.py, for a page. */
(function () {
  "use strict";
  const { tokenize, compare } = window.Explore.words;

  /* Texts with at least one word, counted: {vocabulary, documents, labels}, a document a Map from word number to count. */
  function corpus(texts, labels) {
    const bags = texts.map(tokenize),
      kept = bags.map((words) => words.length > 0);
    const vocabulary = [...new Set(bags.flat())].sort(compare);
    const number = new Map(vocabulary.map((word, s) => [word, s]));
    const documents = bags
      .filter((_, i) => kept[i])
      .map((words) => {
        const counts = new Map();
        for (const word of words) counts.set(number.get(word), (counts.get(number.get(word)) || 0) + 1);
        return { counts, length: words.length };
      });
    return { vocabulary, documents, labels: labels.filter((_, i) => kept[i]) };
  }

  /* q, alpha and Delta = alpha / q of every word. */
  function statistics({ vocabulary, documents, labels }) {
    const q = vocabulary.map(() => 0),
      alpha = vocabulary.map(() => 0),
      n = documents.length;
    documents.forEach(({ counts, length }, i) =>
      counts.forEach((count, s) => {
        q[s] += count / length / n;
        alpha[s] += (labels[i] * count) / length / n;
      }),
    );
    return { q, alpha, delta: alpha.map((a, s) => a / q[s]) };
  }

  /* Gaussian numbers for a word, the same whatever else is in the corpus: mulberry32 from a hash, then Box and Muller. */
  function gaussians(word, seed, d) {
    let state = 2166136261 ^ seed;
    for (const x of word) state = Math.imul(state ^ x.codePointAt(0), 16777619);
    const uniform = () => {
      state = (state + 0x6d2b79f5) | 0;
      let t = Math.imul(state ^ (state >>> 15), 1 | state);
      t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
      return ((t ^ (t >>> 14)) >>> 0) / 4294967296;
    };
    uniform();
    return Array.from({ length: d }, () => Math.sqrt(-2 * Math.log(1 - uniform())) * Math.cos(2 * Math.PI * uniform()));
  }

  /* The start: rows of E are N(0, scale^2 I); v is the first unit vector, p a multiple of the second. */
  function start({ vocabulary }, { scale, size, seed, d = 16 }) {
    const unit = (k, x) => Array.from({ length: d }, (_, j) => (j === k ? x : 0));
    return {
      E: vocabulary.map((word) => gaussians(word, seed, d).map((x) => scale * x)),
      v: unit(0, 1),
      p: unit(1, size),
    };
  }

  const dot = (x, y) => x.reduce((sum, xk, k) => sum + xk * y[k], 0);
  const largest = (list) => list.reduce((x, y) => Math.max(x, y), -Infinity); // of any length, unlike Math.max(...list)
  const sigmoid = (x) => (x < 0 ? Math.exp(x) / (1 + Math.exp(x)) : 1 / (1 + Math.exp(-x)));

  /* E - eta grad_E L = E + eta (a v' + omega p'), with g_i = sigmoid(-y_i f_i), a_s = (1/n) sum g_i y_i A_is and
     omega_s = (1/n) sum g_i y_i A_is (gamma_s - f_i). */
  function oneStep({ documents, labels }, { E, p, v }, eta) {
    const z = E.map((row) => dot(row, p)),
      gamma = E.map((row) => dot(row, v));
    const a = E.map(() => 0),
      omega = E.map(() => 0),
      n = documents.length;
    documents.forEach(({ counts }, i) => {
      const top = largest(Array.from(counts.keys(), (s) => z[s]));
      const mass = Array.from(counts, ([s, count]) => [s, count * Math.exp(z[s] - top)]);
      const total = mass.reduce((sum, [, m]) => sum + m, 0);
      const f = mass.reduce((sum, [s, m]) => sum + (m / total) * gamma[s], 0);
      const pull = (labels[i] * sigmoid(-labels[i] * f)) / n;
      for (const [s, m] of mass) {
        a[s] += (pull * m) / total;
        omega[s] += ((pull * m) / total) * (gamma[s] - f);
      }
    });
    const after = E.map((row, s) => row.map((x, k) => x + eta * (a[s] * v[k] + omega[s] * p[k])));
    return { E: after, before: gamma, gamma: after.map((row) => dot(row, v)), z };
  }

  /* The bound of the theorem on |R_s| in E1_s = E0_s + (eta/2) alpha_s v + eta R_s. */
  function remainderBound(words, { E, p, v }) {
    const size = (x) => largest(E.map((row) => Math.abs(dot(row, x))));
    const z = size(p),
      g = size(v),
      norm = (x) => Math.sqrt(dot(x, x)),
      grown = Math.exp(2 * z);
    const B = norm(v) * (Math.expm1(2 * z) / 2 + (grown * g) / 4) + norm(p) * grown * 2 * g * (0.5 + g / 4);
    return statistics(words).q.map((q) => q * B);
  }

  window.Explore.stepMath = { corpus, statistics, gaussians, start, oneStep, remainderBound };
})();
