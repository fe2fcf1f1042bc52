/* Words as attnlib/corpus.py takes them: lower case, digits, inner apostrophes; <br /> is a blank.

   Python's \w without "_" is exactly the letters and numbers of Unicode; characters younger than Python's Unicode tables
   may differ. */
(function () {
  "use strict";

  const WORD = /[\p{L}\p{N}]+(?:'[\p{L}\p{N}]+)*/gu;

  const fold = (text) => text.toLowerCase().replaceAll("<br />", "      ").replaceAll("\u2019", "'");
  const tokenize = (text) => fold(text).match(WORD) || [];

  /* The words with their places in `shown`, which is the text itself unless lower case changes its length. */
  function spans(text) {
    const folded = fold(text);
    const words = Array.from(folded.matchAll(WORD), (match) => ({
      start: match.index,
      stop: match.index + match[0].length,
      token: match[0],
    }));
    return { shown: folded.length === text.length ? text : folded, words };
  }

  /* By code points, as Python sorts; the default goes by halves of surrogate pairs. */
  function compare(a, b) {
    const x = Array.from(a),
      y = Array.from(b);
    for (let k = 0; k < x.length && k < y.length; k++) {
      if (x[k] !== y[k]) return x[k].codePointAt(0) - y[k].codePointAt(0);
    }
    return x.length - y.length;
  }

  window.Explore = window.Explore || {};
  window.Explore.words = { tokenize, spans, compare };
})();
