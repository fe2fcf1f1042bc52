"""The formulas that the book typesets, as objects: evaluated as they stand, they are what the library computes."""

import numpy as np
import pytest
import sympy as sp
from attnlib import Attention, SelectionProblem, max_margin, one_step, posterior_difference, signed_frequency
from attnlib.claims.formulas import FORMULAS, latex, value
from attnlib.one_step import frequency
from attnlib.reference import autograd_gradients
from attnlib.sources import tilted_zipf
from scipy.special import expit


@pytest.fixture(params=range(3))
def letters(request):
    """The letters of the text for a random corpus and model."""
    rng = np.random.default_rng(request.param)
    corpus = tilted_zipf(n=7, size=6, length=5, seed=request.param)
    model = Attention(rng.normal(size=(6, 3)), rng.normal(size=3), rng.normal(size=3))
    f, y = model.logits(corpus), corpus.labels
    given = {"A": model.attention(corpus).toarray(), "gamma": model.gamma, "f": f, "g": expit(-y * f), "y": y}
    return corpus, model, given | {"n": len(corpus), "m": 6, "E": model.E, "p": model.p, "v": model.v}


def each(label, equation, m, **given):
    """The equation for every type s."""
    return np.array([value(label, equation, s=s, **given) for s in range(m)])


def only(given, names):
    return {name: given[name] for name in names.split()}


def test_gradients(letters):
    corpus, model, given = letters
    a, omega = (each("eq-a-omega", k, 6, **only(given, "A gamma f g y n")) for k in (0, 1))
    exact = autograd_gradients(model, corpus)
    np.testing.assert_allclose(-each("eq-gradients", 0, 6, a=a, omega=omega, **only(given, "p v")), exact.E, atol=1e-14)
    np.testing.assert_allclose(-value("eq-gradients", 1, omega=omega, **only(given, "E m")), exact.p, atol=1e-14)
    np.testing.assert_allclose(-value("eq-gradients", 2, a=a, **only(given, "E m")), exact.v, atol=1e-14)
    for ours, theirs in zip(model.gradients(corpus), exact):
        np.testing.assert_allclose(ours, theirs, atol=1e-14)


def test_pairwise_forms(letters):
    corpus, model, given = letters
    weight, exact = given["g"] * given["y"] / given["n"], -autograd_gradients(model, corpus).p
    best = given["A"].argmax(axis=1)
    for k, names in enumerate(("A gamma f E m", "A gamma E m", "A gamma f E m")):
        pull = [value("eq-pairwise", k, i=i, r=best[i], **only(given, names)) for i in range(given["n"])]
        np.testing.assert_allclose(weight @ pull, exact, atol=1e-14)
    np.testing.assert_allclose(-model.problem(corpus).gradient(model.p), exact, atol=1e-14)


def test_statistics(letters):
    corpus, _, given = letters
    counted = {"C": corpus.counts.toarray(), "T": corpus.lengths, "n": len(corpus)}
    q = each("eq-statistics", 0, 6, **counted)
    alpha = each("eq-statistics", 1, 6, y=given["y"], **counted)
    np.testing.assert_allclose(frequency(corpus), q, atol=1e-15)
    np.testing.assert_allclose(signed_frequency(corpus), alpha, atol=1e-15)
    stands = q > 0
    Delta = each("eq-statistics", 2, 6, alpha=alpha, q=np.where(stands, q, 1))
    np.testing.assert_allclose(posterior_difference(corpus)[stands], Delta[stands], atol=1e-14)


def test_one_step(letters):
    corpus, model, given = letters
    v = model.v
    silent = Attention(model.E - np.outer(model.E @ v, v) / (v @ v), model.p, v)
    A = silent.attention(corpus).toarray()
    tilde = each("eq-exact-step", 1, 6, A=A, **only(given, "y n"))
    expected = each("eq-exact-step", 0, 6, E0=silent.E, eta=0.7, tilde=tilde, v=v)
    np.testing.assert_allclose(one_step(silent, corpus, eta=0.7).E, expected, atol=1e-14)


def test_nearest_point():
    rng = np.random.default_rng(0)
    problem = SelectionProblem.from_sequences(rng.normal(size=(3, 4, 9)), [1, -1, 1], rng.normal(size=9))
    solution = max_margin(problem, [0, 5, 10])
    s, u = solution.constraints.T
    h = (solution.duals / solution.duals.sum()) @ (problem.keys[s] - problem.keys[u])  # a point of the hull
    np.testing.assert_allclose(value("eq-nearest", 0, h=h), solution.p, atol=1e-12)
    assert value("eq-nearest", 1, h=h) == pytest.approx(solution.margin, abs=1e-12)
    np.testing.assert_allclose(value("eq-nearest", 2, h=h), solution.p * solution.margin, atol=1e-12)


def test_what_is_typeset_names_every_letter_of_the_object():
    for label, equations in FORMULAS.items():
        text = latex(label)
        for name, right in equations:
            assert name in text
            for base in right.atoms(sp.IndexedBase):
                assert f"{base}_" in text


def test_the_printer_keeps_order_signs_and_brackets():
    assert latex("eq-a-omega").splitlines()[2] == (
        r"\omega_s &= \frac{1}{n}\, \sum_i g_i\, y_i\, A_{is}\, \left(\gamma_s - f_i\right)"
    )
