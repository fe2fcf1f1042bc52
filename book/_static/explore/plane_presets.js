/* The problems one can start from; a token is [x, y, label-score]. Differences of keys within a document are all that
   counts, so a document may be moved as a whole. */
(function () {
  "use strict";

  const PRESETS = {
    "one document, one limit": {
      note: "Paper B, Figure 1(a). Every start goes to the best token.",
      start: [0, -1],
      documents: [
        [
          [-0.1, 1, 1],
          [1, 0, 0.9],
          [0, 0, 0.9],
        ],
      ],
    },
    "one document, two limits": {
      note: "Paper B, Figure 1(b): the third token now scores 0. The second is locally optimal: its only neighbour is the third.",
      start: [0, -1],
      documents: [
        [
          [-0.1, 1, 1],
          [1, 0, 0.9],
          [0, 0, 0],
        ],
      ],
    },
    "three documents of seven tokens": {
      note: "A draw in the manner of Paper B, Figure 1(c): Gaussian clouds, one token of each document scores 1, the others 0.5.",
      start: [-1.5, 0.5],
      documents: [
        [
          [0.77, -0.23, 1],
          [-1.09, 1.17, 0.5],
          [-1.06, 0.58, 0.5],
          [-1.25, 1.07, 0.5],
          [-0.48, -0.25, 0.5],
          [-0.55, -0.77, 0.5],
          [-0.39, -0.34, 0.5],
        ],
        [
          [0.69, -0.07, 1],
          [-0.85, 0.88, 0.5],
          [-0.96, 1.28, 0.5],
          [-0.81, 0.83, 0.5],
          [-0.49, -0.6, 0.5],
          [-0.41, -0.48, 0.5],
          [-0.41, -0.52, 0.5],
        ],
        [
          [0.94, 0.01, 1],
          [-0.54, 0.71, 0.5],
          [-1.11, 1.18, 0.5],
          [-0.74, 0.7, 0.5],
          [-0.59, -0.23, 0.5],
          [-0.61, -0.6, 0.5],
          [-0.71, -0.28, 0.5],
        ],
      ],
    },
    "two tight, one slack": {
      note: "The keys of Paper B, Figure 3(a), with the head fixed at v = (0, 1) and the second label negative, so that every first token scores 1.",
      start: [0, -1],
      documents: [
        [
          [1, 1, 1],
          [0, 0, 0],
        ],
        [
          [1, -1, 1],
          [0, 0, 0],
        ],
        [
          [0.5, 1, 1],
          [0, 0, 0],
        ],
      ],
    },
    "a loud document": {
      note: "Paper B, Figure 5 with C = 6: raise and lower the score of A1. The limit stays, the way there bends.",
      start: [-1, 0],
      documents: [
        [
          [1, 1, 6],
          [0, 0, 0],
        ],
        [
          [1, -1, 1],
          [0, 0, 0],
        ],
      ],
    },
    "two documents, two limits": {
      note: "In the manner of Paper B, Figure 8, with integers of our own: a selection that drops the better token of B is locally optimal too, for B has no neighbour there.",
      start: [2, -1],
      documents: [
        [
          [1, 0, 1],
          [0, 0, 0],
        ],
        [
          [-2, 1, 1],
          [0, 0, 0],
        ],
      ],
    },
  };

  window.Explore = window.Explore || {};
  window.Explore.presets = PRESETS;
})();
