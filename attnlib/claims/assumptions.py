"""The assumptions that claims name, each in a line. A control that drops one fills a cell of the ledger's matrix."""

ASSUMPTIONS = {
    "logistic": "the loss is log(1 + e^{-u})",
}
