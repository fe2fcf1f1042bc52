"""The assumptions that claims name, each in a line. A control that drops one fills a cell of the ledger's matrix."""

ASSUMPTIONS = {
    "logistic": "the loss is log(1 + e^{-u})",
    "orthogonal differences": "one pair a document, and their differences are orthogonal to each other",
    "D": "paper B's Assumption D: less wasted attention means less loss",
    "slope": "the slope of the loss does not vanish where all attention is on optimal tokens",
    "lower line": "the margin of a document falls at most in proportion to the wasted attention",
    "optimal sets": "the sets hold all tokens of the best label-score, and no other",
    "peaks at a token": "over mixtures of a document's tokens the head is largest at one token",
    "saturated": "the attention outside the selected token is below the unit roundoff",
}
