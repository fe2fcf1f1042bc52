"""Planted errors: each of them, in a copy of the package, must turn a claim of the ledger red.

A formula that no claim would miss is a formula that nothing in the book checks. `make nightly` measures every claim for
each error and shows all that notice; otherwise only those named here, until one does.
"""

import multiprocessing
import os
import shutil
import sys
import warnings
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import NamedTuple

import pytest

PACKAGE = Path(__file__).resolve().parents[1] / "attnlib"
NIGHTLY = os.environ.get("HYPOTHESIS_PROFILE") == "nightly"
HEAVY = [
    "cvxpy",
    "mpmath",
    "scipy.integrate",
    "scipy.optimize",
    "sklearn.linear_model",
    "sklearn.svm",
    "sympy",
    "torch",
]


class Mutant(NamedTuple):
    """An error: in a file, `old` becomes `new`, and one of the claims must notice."""

    file: str
    what: str
    old: str
    new: str
    claims: str

    @property
    def name(self) -> str:
        return f"{self.file}: {self.what}"


MUTANTS = [
    # the model
    Mutant(
        "attention.py",
        "p and v exchanged",
        "for w in (p, v)]",
        "for w in (v, p)]",
        "prop-bag",
    ),
    Mutant(
        "attention.py",
        "the wrong tail of the sigmoid",
        "y * expit(-y * pooled.f) / -len(corpus)",
        "y * expit(y * pooled.f) / -len(corpus)",
        "thm-gradients",
    ),
    Mutant(
        "attention.py",
        "a gradient without 1/n",
        "y * expit(-y * pooled.f) / -len(corpus)",
        "y * expit(-y * pooled.f) / -1.0",
        "thm-exact-step thm-gradients",
    ),
    Mutant(
        "attention.py",
        "a gradient with the wrong sign",
        "y * expit(-y * pooled.f) / -len(corpus)",
        "y * expit(-y * pooled.f) / len(corpus)",
        "prop-logistic thm-gradients",
    ),
    Mutant(
        "attention.py",
        "the plane's vectors exchanged",
        "np.stack([self.v, self.p])",
        "np.stack([self.p, self.v])",
        "thm-exact-step thm-gradients",
    ),
    Mutant(
        "attention.py",
        "the gradients of p and v exchanged",
        "grad_v, grad_p = np.sum(",
        "grad_p, grad_v = np.sum(",
        "prop-conserved thm-gradients",
    ),
    Mutant(
        "attention.py",
        "a loss that is a sum",
        "-corpus.labels * self.logits(corpus)).mean()",
        "-corpus.labels * self.logits(corpus)).sum()",
        "thm-gradients",
    ),
    Mutant(
        "attention.py",
        "scores in the place of values",
        "SelectionProblem(self.E, self.gamma,",
        "SelectionProblem(self.E, self.z,",
        "cor-step",
    ),
    Mutant(
        "pooling.py",
        "omega with a plus",
        "a * self.gamma - self.e * af",
        "a * self.gamma + self.e * af",
        "thm-gradients",
    ),
    Mutant(
        "pooling.py",
        "omega without f",
        "self.W.adjoint(r, r * self.f)",
        "self.W.adjoint(r, r)",
        "prop-conserved thm-gradients",
    ),
    Mutant(
        "pooling.py",
        "one sum for all documents",
        "r = r / self.S",
        "r = r / self.S.mean()",
        "cor-rank-two thm-gradients",
    ),
    Mutant(
        "pooling.py",
        "attention by length",
        "Pooled(W, e, S, gamma, N / S)",
        "Pooled(W, e, S, gamma, N / bags.C.sum(axis=1))",
        "prop-bag",
    ),
    Mutant(
        "pooling.py", "attention without counts", "A = W.data * self.e[W.indices]", "A = self.e[W.indices]", "prop-bag"
    ),
    Mutant(
        "pooling.py",
        "no counts where scores are far apart",
        "(C.data * np.exp(scores - shift), C.indices",
        "(np.exp(scores - shift), C.indices",
        "prop-bag",
    ),
    Mutant("pooling.py", "min for max", "np.maximum.reduceat(scores", "np.minimum.reduceat(scores", "prop-bag"),
    Mutant(
        "corpus.py",
        "lengths of distinct tokens",
        "lengths = self.counts.sum(axis=1)",
        "lengths = self.counts.sign().sum(axis=1)",
        "prop-class-means",
    ),
    Mutant(
        "reference.py",
        "padding is attended to",
        "masked_fill(~mask, -torch.inf)",
        "masked_fill(~mask, 0.0)",
        "prop-bag",
    ),
    # training p alone
    Mutant(
        "problem.py",
        "a gradient over tokens, not documents",
        "self.ell.slope(y * pooled.f) / -len(y))",
        "self.ell.slope(y * pooled.f) / -len(self.values))",
        "prop-divergence",
    ),
    Mutant(
        "problem.py",
        "a loss without labels",
        "self.ell.value(self.labels * self.logits(p)).mean()",
        "self.ell.value(self.logits(p)).mean()",
        "cor-step",
    ),
    Mutant("problem.py", "keys in the wrong rows", "return cls(keys[row],", "return cls(keys,", "prop-certificate"),
    Mutant(
        "problem.py",
        "min for max",
        "return np.maximum.reduceat(x",
        "return np.minimum.reduceat(x",
        "cor-step thm-direction",
    ),
    Mutant(
        "tail.py",
        "delta added",
        "gap - spread(delta), -spread(D)",
        "gap + spread(delta), -spread(D)",
        "prop-tail-weights",
    ),
    Mutant(
        "tail.py",
        "delta of ties with the wrong sign",
        "spread(delta), -spread(D)",
        "spread(delta), spread(D)",
        "prop-tail-weights",
    ),
    Mutant(
        "tail.py", "delta of ties without its exponent", "np.where(differs, 0.0, spread(m))", "0.0", "prop-tail-weights"
    ),
    Mutant(
        "tail.py", "counts forgotten", "log_A = np.log(C.data) + z[..., u]", "log_A = z[..., u]", "prop-tail-weights"
    ),
    Mutant(
        "tail.py",
        "g at gamma_r + delta",
        "y * (gamma[best] - delta))\n    log_w",
        "y * (gamma[best] + delta))\n    log_w",
        "prop-tail-weights",
    ),
    Mutant("tail.py", "weights without 1/n", "-spread(D)) / len(y)", "-spread(D))", "prop-tail-weights"),
    Mutant(
        "tail.py",
        "a Hessian without the mean difference",
        "cross = R.T @ WK + G.T @ abar",
        "cross = R.T @ WK",
        "prop-tail-hessian",
    ),
    Mutant(
        "tail.py", "a Hessian without n", "curvature = C.shape[0] * np.exp(", "curvature = np.exp(", "prop-tail-hessian"
    ),
    Mutant(
        "tail.py",
        "an excess at -y gamma",
        "lower = np.minimum(y * self.problem",
        "lower = np.minimum(-y * self.problem",
        "thm-sharp",
    ),
    # one step
    Mutant(
        "one_step.py",
        "a frequency without 1/n",
        "(1 / corpus.lengths) / len(corpus)",
        "(1 / corpus.lengths)",
        "thm-any-start",
    ),
    Mutant(
        "one_step.py",
        "a signed frequency without 1/T",
        "(corpus.labels / corpus.lengths)",
        "corpus.labels",
        "prop-class-means",
    ),
    Mutant(
        "one_step.py",
        "ascent",
        "model.E - model.E.dtype.type(eta)",
        "model.E + model.E.dtype.type(eta)",
        "thm-exact-step",
    ),
    Mutant("one_step.py", "Delta by count", "C.multiply(1 / corpus.lengths[:, None]).tocsr()", "C", "cor-sign"),
    Mutant(
        "one_step.py",
        "half the term along p",
        "np.linalg.norm(model.p) * 2 * eps_g",
        "np.linalg.norm(model.p) * eps_g",
        "thm-any-start",
    ),
    Mutant(
        "one_step.py",
        "a bound with e^eps",
        "np.multiply(rest, np.exp(2 * eps_z)",
        "np.multiply(rest, np.exp(eps_z)",
        "thm-any-start",
    ),
    Mutant(
        "one_step.py",
        "|p| and |v| exchanged",
        "along_v = np.linalg.norm(model.v)",
        "along_v = np.linalg.norm(model.p)",
        "thm-any-start",
    ),
    # the margin
    Mutant(
        "margin.py",
        "pairs the wrong way round",
        "np.stack([P.row, P.col], axis=1)",
        "np.stack([P.col, P.row], axis=1)",
        "thm-nearest",
    ),
    Mutant(
        "margin.py",
        "every other constraint dropped",
        "pairs, b = constraints(problem, selection, relaxed)",
        "pairs, b = (x[::2] for x in constraints(problem, selection, relaxed))",
        "thm-nearest",
    ),
    Mutant("margin.py", "the norm for the margin", "float(1 / norm) if norm", "float(norm) if norm", "thm-nearest"),
    Mutant(
        "margin.py",
        "rho without the square",
        "spread.min(initial=np.inf) ** 2 / mu",
        "spread.min(initial=np.inf) / mu",
        "thm-tangent",
    ),
    Mutant("margin.py", "rho without 1/mu", "** 2 / mu), float(rest", "** 2), float(rest", "thm-tangent"),
    Mutant(
        "margin.py",
        "the angle to the opposite",
        "np.linalg.norm(a - b), np.linalg.norm(a + b)",
        "np.linalg.norm(a + b), np.linalg.norm(a - b)",
        "thm-direction",
    ),
    Mutant(
        "shortest.py",
        "sums for differences",
        "weights, m) - np.bincount",
        "weights, m) + np.bincount",
        "thm-nearest",
    ),
    Mutant(
        "shortest.py", "a gap without a half", "b @ lam + sums @ sums / 2", "b @ lam + sums @ sums", "prop-certificate"
    ),
    Mutant(
        "shortest.py",
        "violations overlooked",
        "np.flatnonzero(spare < -1e-10)",
        "np.flatnonzero(spare < -1e10)",
        "prop-cutting",
    ),
    Mutant(
        "shortest.py",
        "twice the bounds",
        "x = np.linalg.lstsq(A[on], b[on])[0]",
        "x = np.linalg.lstsq(A[on], 2 * b[on])[0]",
        "prop-certificate",
    ),
    Mutant("shortest.py", "contradictions overlooked", "if left <= 1e-9 and", "if left <= -1 and", "thm-nearest"),
    # what is selected
    Mutant(
        "optimality.py",
        "optimal without labels",
        "np.repeat(problem.labels, problem.widths) * problem.values",
        "problem.values",
        "cor-step",
    ),
    Mutant(
        "optimality.py",
        "the worst for the best",
        "_top(problem, (problem.keys @",
        "_top(problem, -(problem.keys @",
        "thm-direction",
    ),
    Mutant(
        "optimality.py",
        "neighbours at distance 2",
        "z[C.indices] - 1) <= TIGHT",
        "z[C.indices] - 2) <= TIGHT",
        "thm-direction",
    ),
    Mutant(
        "optimality.py",
        "local optimality the wrong way round",
        ".min() > (y * gamma[others]).max(initial=-np.inf)",
        ".min() < (y * gamma[others]).max(initial=-np.inf)",
        "thm-direction",
    ),
    Mutant(
        "flow.py",
        "a clock that runs with |grad L|",
        "np.diff(arclength), -np.asarray(log_norms)",
        "np.diff(arclength), np.asarray(log_norms)",
        "thm-sharp",
    ),
    Mutant(
        "flow.py", "half the bend of a step", "np.exp(4 * c * s * (1 - s))", "np.exp(2 * c * s * (1 - s))", "thm-sharp"
    ),
    Mutant(
        "flow.py",
        "a tangent that grows",
        "return H - np.outer(g, g @ H)",
        "return H + np.outer(g, g @ H)",
        "prop-tail-hessian",
    ),
    # made corpora
    Mutant(
        "sources.py",
        "the classes' important types exchanged",
        "np.where(y > 0, 0, important)",
        "np.where(y > 0, important, 0)",
        "prop-divergence",
    ),
    Mutant(
        "sources.py",
        "pairs that are not alike",
        "np.arange(n)\n    if paired:\n        y, alike = np.tile([1.0, -1.0], n // 2), alike // 2",
        "np.arange(n)\n    if paired:\n        y = np.tile([1.0, -1.0], n // 2)",
        "cor-step",
    ),
    Mutant("sources.py", "every label flipped", "rng.random(n) < noise", "rng.random(n) >= noise", "prop-divergence"),
    # max-margin token selection
    Mutant(
        "cones.py",
        "a lower bound too large",
        "least * gap / 8, 2 * most * Gamma",
        "least * gap * 8, 2 * most * Gamma",
        "lem-cone",
    ),
    Mutant(
        "cones.py",
        "a cone too wide",
        "mu = (min(0.5, delta) / D) ** 2 / 8",
        "mu = (min(5, 90 * delta) / D) ** 2 / 8",
        "lem-cone",
    ),
    Mutant(
        "optimality.py", "neighbours beyond the margin", "z[C.indices] - 1)", "z[C.indices] - 1.1)", "prop-figure-one"
    ),
    Mutant("examples.py", "values of the wrong sign", "(1 - a) / b]", "(1 + a) / b]", "thm-two-limits"),
]


def measure(folder: str, ids: list[str] | None, seeds: int | None) -> list[tuple[str, str]]:
    """The claims that notice in the package in `folder`, with what they found: the first of `ids`, or all."""
    sys.path.insert(0, folder)
    warnings.simplefilter("ignore")  # a wrong formula divides by zero and says so
    from attnlib import claims

    assert claims.__file__.startswith(folder), f"the package measured is {claims.__file__}"
    ledger, red = claims.ledger(), []
    for id in ids or ledger:
        entry = ledger[id]
        try:
            residuals = entry.residuals(entry.measure, seeds or entry.seeds)
        except Exception as error:
            red.append((id, f"{type(error).__name__}: {error}"))
        else:
            if not entry.passes(residuals):
                red.append((id, f"{residuals.max():.1e} > {entry.tolerance:.0e}"))
        if red and ids:
            break
    return red


@pytest.fixture(scope="module")
def measured(tmp_path_factory):
    """One future a mutant, each in a process of its own, forked from one that has imported all that is heavy."""
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(HEAVY)
    with ProcessPoolExecutor(2, mp_context=context, max_tasks_per_child=1) as pool:
        futures = {}
        for mutant in [*MUTANTS, None]:
            folder = tmp_path_factory.mktemp("mutant")
            shutil.copytree(PACKAGE, folder / "attnlib", ignore=shutil.ignore_patterns("__pycache__"))
            if mutant:
                path = folder / "attnlib" / mutant.file
                path.write_text(path.read_text().replace(mutant.old, mutant.new))
            ids = None if NIGHTLY else named() if mutant is None else mutant.claims.split()
            futures[mutant] = pool.submit(measure, str(folder), ids, None if NIGHTLY else 2)
        yield futures
        pool.shutdown(cancel_futures=True)


def named() -> list[str]:
    return sorted({id for mutant in MUTANTS for id in mutant.claims.split()})


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: mutant.name)
def test_the_list_is_not_stale(mutant):
    text = (PACKAGE / mutant.file).read_text()
    assert text.count(mutant.old) == 1, f"{mutant.old!r} stands {text.count(mutant.old)} times in {mutant.file}"


def test_without_an_error_no_claim_is_red(measured):
    assert measured[None].result(timeout=600) == []


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: mutant.name)
def test_the_error_is_noticed(mutant, measured, record_property):
    killers = measured[mutant].result(timeout=600)
    record_property("killed", [mutant.name, killers])
    assert killers, f"{mutant.name} survives {mutant.claims}"
