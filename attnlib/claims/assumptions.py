"""The assumptions that claims name, each in a line. A control that drops one fills a cell of the ledger's matrix."""

ASSUMPTIONS = {
    # the model and its training
    "logistic": "the loss is log(1 + e^{-u})",
    "all-trained": "E, p and v all follow the gradient flow",
    "zero-p": "p = 0",
    # one step
    "silence": "every value is 0 at the start",
    "flat": "all types of a document have one score at the start",
    "gaussian": "the rows of E are Gaussian at the start",
    "independent": "the start of E does not depend on p and v",
    "small-start": "scores and values are at most 1 at the start",
    "small-remainder": "the remainder's bound B is at most |v| |Delta_s| / 4",
    "balanced": "both labels are equally frequent",
    # the margin
    "pair": "some document holds a type that is not selected",
    "primal-feasible": "p satisfies every constraint",
    "dual-feasible": "no multiplier is negative",
    "complementary": "a multiplier is 0 where its constraint is slack",
    # the flow
    "lift": "some x lifts the singled-out type of every document above all others alike",
    "best-score": "the singled-out type has the best label-score of its document",
    "diverges": "|p| grows without bound",
    "settles": "the direction of p converges",
    "strict-limit": "the limit direction ranks one type of each document strictly first",
    "tight-optimal": "the selected type has the better label-score on every tight pair",
    "strict": "some multipliers are positive on every tight constraint",
    # selection
    "important": "every document holds one important type, and it has the best label-score there",
    "one-class": "every important type stands in documents of one class only",
    "large-step": "the step is as large as the corollary asks",
    "barrier": "the loss at the start is below the barrier",
    "feasible": "some p ranks the selected tokens of all documents strictly first",
    # max-margin token selection
    "positive-labels": "all labels are +1",
    "seen-head": "v = W' q for some q, so that the keys know the values",
    "matched-start": "W_0' u = p_0",
    "scaled-step": "W takes the steps of p divided by |u|^2",
    "negative-slope": "l' < 0 on the interval of the label-scores",
    "short-step": "eta <= 1/L, the inverse of the gradient's Lipschitz constant",
    "two-levels": "in each document all tokens but the optimal one share one label-score (paper B's Assumption B)",
    "one-document": "n = 1",
    "locally-optimal": "every selected token scores above its neighbours",
    "start-in-cone": "the start is far out and close in direction to the max-margin solution",
    # losses, heads, arithmetic
    "orthogonal": "one pair a document, and their differences are orthogonal to each other",
    "assumption-d": "paper B's Assumption D: less wasted attention means less loss",
    "slope-at-top": "the slope of the loss does not vanish where all attention is on optimal tokens",
    "lower-line": "the margin of a document falls at most in proportion to the wasted attention",
    "optimal-sets": "the sets hold all tokens of the best label-score, and no other",
    "peaks-at-token": "over mixtures of a document's tokens the head is largest at one token",
    "saturated": "the attention outside the selected token is below the unit roundoff",
}
