"""The assumptions that claims name, each in a line. A control that drops one fills a cell of the ledger's matrix."""

ASSUMPTIONS = {
    "logistic": "the loss is log(1 + e^{-u})",
    "orthonormal": "the keys of all tokens are orthonormal",
    "silent p": "p starts at 0",
    "strict optimum": "every document has one token of best label-score, y_i gamma",
    "slope": "the loss has a slope below 0 at the best label-scores",
    "feasible": "some p ranks the selected token of every document first",
    "strict complementarity": "some multipliers of the max-margin solution are positive on every tight constraint",
    "local optimality": "every selected token has a better label-score than its neighbours",
    "general position": "the differences that are tight in a direction are linearly independent",
    "label margin": "the label margin falls when attention leaves the selected tokens (Assumption C)",
    "ratio": "the radii of v and p keep a ratio r/R in the limit",
}
