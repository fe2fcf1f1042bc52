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
      note: "Paper B, Figures 1(c) and 4, keys rounded to two digits: the first token of each document scores 1, the others 0.5.",
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
    "a longer third key": {
      note: "The same for Figure 3(b): C1 is now (0.5, 1.5) and scores 1.5. With the head fixed, p goes to the direction of (5, 1). In the paper v is trained too, and p goes to (1, 0).",
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
          [0.5, 1.5, 1.5],
          [0, 0, 0],
        ],
      ],
    },
    "a loud document": {
      note: "Paper B, Figure 5 with C = 6, the score of A1. The loss decides to which side the way bends; the limit stays.",
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
    "four documents on a circle": {
      note: "A draw of our own by the rule of Paper B, Figure 9, in the plane: tokens and v on the unit circle, labels at random. The best tokens cannot all be selected; a start ends in a local limit or in none.",
      start: [0.5, 1.5],
      documents: [
        [
          [0.34, -0.94, -0.78],
          [-0.17, -0.99, -0.37],
          [0.84, 0.54, -0.45],
          [-0.39, 0.92, 0.81],
          [0.45, -0.89, -0.85],
          [0.95, -0.3, -0.97],
        ],
        [
          [-0.38, -0.92, -0.15],
          [0.98, -0.21, -0.95],
          [0.67, -0.74, -0.96],
          [0.14, -0.99, -0.63],
          [0.98, 0.22, -0.72],
          [0.63, 0.78, -0.14],
        ],
        [
          [-0.79, 0.61, 0.99],
          [0.78, -0.62, -0.99],
          [-0.75, -0.66, 0.31],
          [0.99, 0.15, -0.77],
          [0.83, 0.56, -0.42],
          [0.6, 0.8, -0.1],
        ],
        [
          [-0.19, 0.98, -0.67],
          [-0.94, -0.35, -0.62],
          [0.13, 0.99, -0.4],
          [-0.58, -0.82, -0.07],
          [-0.5, 0.86, -0.88],
          [-0.17, 0.98, -0.66],
        ],
      ],
    },
  };

  window.Explore = window.Explore || {};
  window.Explore.presets = PRESETS;
})();
