"""The assumptions that claims name, each in a line. A control that drops one fills a cell of the ledger's matrix."""

ASSUMPTIONS = {
    "logistic": "the loss is log(1 + e^{-u})",
    "one class": "all labels are +1",
    "keys see the head": "v = W' q for some q, so that the keys know the values",
    "matched start": "W_0' u = p_0",
    "scaled step": "W takes the steps of p divided by |u|^2",
    "negative slope": "l' < 0 on the interval of the label-scores",
    "short step": "eta <= 1/L, the inverse of the gradient's Lipschitz constant",
    "two levels": "in each document all tokens but the optimal one share one label-score (paper B's Assumption B)",
    "feasible": "some p ranks the selected tokens of all documents strictly first",
    "one document": "n = 1",
    "locally optimal": "every selected token scores above its neighbours",
    "start in the cone": "the start is far out and close in direction to the max-margin solution",
}
