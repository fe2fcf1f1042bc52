"""SelectionProblem: one class for both papers, and a direction that is right at any norm of p."""

from itertools import combinations

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from mpmath import mp, mpf, workdps
from scipy import sparse
from strategies import arrays, cases, corpora, floats, grid, models, one_row_per_occurrence, problems, token_lists

from attnlib import Attention, Corpus, SelectionProblem

EPS = np.finfo(float).eps


def softmax_terms(problem, p):
    """For each document, g_i y_i / n and (A_iu, gamma_u, K_u) for its tokens, all in mpmath numbers."""
    C = problem.counts.toarray()
    K = [[mpf(x) for x in row] for row in problem.keys.tolist()]
    gamma = [mpf(x) for x in problem.values.tolist()]
    z = [mp.fdot(row, [mpf(x) for x in p.tolist()]) for row in K]
    for row, y in zip(C, problem.labels):
        tokens = np.flatnonzero(row)
        weights = [mpf(int(row[u])) * mp.exp(z[u]) for u in tokens]
        A = [w / mp.fsum(weights) for w in weights]
        f = mp.fdot(A, [gamma[u] for u in tokens])
        yield y / (1 + mp.exp(int(y) * f)) / len(C), f, [(A_u, gamma[u], K[u]) for A_u, u in zip(A, tokens)]


def by_definition(problem, p):
    """-grad L = (1/n) sum_i g_i y_i sum_u A_iu (gamma_u - f_i) K_u."""
    G = [mpf(0)] * len(p)
    for weight, f, tokens in softmax_terms(problem, p):
        for A, gamma, key in tokens:
            G = [total + weight * A * (gamma - f) * k for total, k in zip(G, key)]
    return G


def by_pairs(problem, p):
    """-grad L = (1/n) sum_i g_i y_i sum_{s<t} A_is A_it (gamma_s - gamma_t)(K_s - K_t), and the sum of the sizes of
    its terms: nothing cancels within a term, so 60 digits are enough where the definition would need half a million.
    """
    G, sizes = [mpf(0)] * len(p), mpf(0)
    for weight, _, tokens in softmax_terms(problem, p):
        for (A_s, gamma_s, K_s), (A_t, gamma_t, K_t) in combinations(tokens, 2):
            if K_s != K_t:
                term = weight * A_s * A_t * (gamma_s - gamma_t)
                G = [total + term * (a - b) for total, a, b in zip(G, K_s, K_t)]
                sizes += abs(term)
    return G, sizes


def check_direction(problem, p) -> bool:
    """Direction and log norm of the gradient against mpmath; False if there was nothing to compare.

    The score of a token rounds by at most d eps |K||p|, its logarithmic weights, sums of a few numbers of that size,
    by a few times as much, and a weight is wrong by that relative to itself; the last product rounds by eps |K|. The
    sum of the terms over their total says how much of it the total inherits. An instance whose total is all
    cancellation between terms has no digits to compare.
    """
    with workdps(60):
        G, sizes = by_pairs(problem, p)
        if sizes == 0:
            with pytest.raises(ValueError, match="grad L is 0"):
                problem.direction(p)
            return True
        norm = mp.norm(G)
        largest = np.linalg.norm(problem.keys, axis=1).max()
        condition = sizes * largest / norm if norm else mp.inf
        tolerance = 16 * EPS * len(p) * (1 + largest * np.linalg.norm(p)) * condition
        if tolerance > 1e-3:
            return False
        wanted, log_norm = np.array([float(x / norm) for x in G]), float(mp.log(norm))
    direction, got = problem.log_gradient(p)
    np.testing.assert_array_equal(problem.direction(p), direction)
    assert np.linalg.norm(direction) == pytest.approx(1, rel=1e-14)
    np.testing.assert_allclose(direction, wanted, rtol=0, atol=float(tolerance))
    assert got == pytest.approx(log_norm, rel=4 * EPS, abs=float(tolerance))
    return True


@given(problems())
def test_direction_and_log_norm_equal_mpmath(case):
    assume(check_direction(*case))


NAMED = {
    "plain": ([[1, 0], [0, 1], [-1, 0.5]], [1, -1, 0.5], [[1, 1, 1]], [1]),
    "values tie with the best": ([[1, 0], [0.5, 1], [0, 0]], [1, 1, -1], [[1, 1, 1]], [1]),
    "values tie below the best": ([[1, 0], [0.5, 1], [0, 0]], [1, 0, 0], [[1, 1, 1]], [1]),
    "scores tie": ([[1, 0.3], [1, -0.3], [0, 0]], [1, 0.5, 0], [[1, 1, 1]], [1]),
    "scores and values tie": ([[1, 0.3], [1, -0.3], [0, 0]], [1, 1, 0], [[1, 1, 1]], [1]),
    "keys are equal": ([[0.3, 0.1], [0.3, 0.1], [0.1, 1 / 3]], [1, 2, 3], [[1, 1, 1]], [1]),
    "keys and values are equal": ([[0.3, 0.1], [0.3, 0.1], [0.1, 1 / 3]], [2, 2, 3], [[1, 1, 1]], [1]),
    "tokens repeat": ([[1, 0], [0, 1], [-1, 0.5]], [1, -1, 0.5], [[1, 4, 9], [3, 0, 2]], [1, -1]),
    "one token only": ([[1, 0], [0, 1], [-1, 0.5]], [1, -1, 0.5], [[0, 7, 0], [1, 1, 0]], [1, -1]),
    "two labels": ([[1, 0], [0, 1], [-1, 0.5]], [1, -1, 0.5], [[1, 1, 0], [0, 1, 1]], [-1, 1]),
    "large values": ([[1, 0], [0, 1], [-1, 0.5]], [500, -900, 20], [[1, 1, 1], [1, 0, 1]], [1, -1]),
}


@pytest.mark.parametrize("size", [0.1, 1, 10, 1e2, 1e3, 1e4, 1e5, 1e6])
@pytest.mark.parametrize("name", NAMED)
def test_direction_in_named_cases(name, size):
    problem = SelectionProblem(*NAMED[name])
    assert check_direction(problem, size * np.array([1.0, 0.0]))
    assert check_direction(problem, size * np.array([0.6, -0.8]))


@given(problems())
def test_the_two_forms_of_the_gradient_agree_in_mpmath(case):
    problem, p = case
    p = p * min(1, 50 / np.linalg.norm(p))  # A is then above e^-400, and 400 digits are enough for the definition
    with workdps(400):
        for x, y in zip(by_definition(problem, p), by_pairs(problem, p)[0], strict=True):
            assert abs(x - y) < mpf(10) ** -190


def test_mpmath_forms_are_the_gradient_of_the_loss():
    problem = SelectionProblem(*NAMED["tokens repeat"])
    p = np.array([0.3, -0.4])
    with workdps(60):
        G = [float(x) for x in by_definition(problem, p)]
    np.testing.assert_allclose(problem.gradient(p), -np.array(G), rtol=1e-13)


@given(problems())
def test_gradient_is_direction_times_norm(case):
    problem, p = case
    p = p * min(1, 8 / np.linalg.norm(p))
    gradient = problem.gradient(p)
    scale = np.abs(problem.keys).max() * np.abs(problem.values).max()
    try:
        direction, log_norm = problem.log_gradient(p)
    except ValueError:
        np.testing.assert_allclose(gradient, 0, atol=1e-14 * (1 + scale))
    else:
        np.testing.assert_allclose(gradient, -np.exp(log_norm) * direction, rtol=0, atol=1e-13 * (1 + scale))


@given(cases())
def test_paper_a_the_problem_of_a_model(case):
    corpus, model = case
    problem = model.problem(corpus)
    assert problem.loss(model.p) == model.loss(corpus)
    np.testing.assert_array_equal(problem.logits(model.p), model.logits(corpus))
    np.testing.assert_allclose(
        problem.gradient(model.p), model.gradients(corpus).p, rtol=1e-12, atol=1e-13 * (1 + np.abs(model.E).max())
    )


@given(cases(), st.data())
def test_one_class_serves_both_papers(case, data):
    corpus, model = case
    types, occurrences = model.problem(corpus), one_row_per_occurrence(corpus, model)
    assert occurrences.counts.max() == 1 and occurrences.keys.shape[0] == corpus.lengths.sum()
    assert occurrences.loss(model.p) == pytest.approx(types.loss(model.p), rel=1e-12)
    np.testing.assert_allclose(occurrences.gradient(model.p), types.gradient(model.p), rtol=1e-11, atol=1e-13)


@given(st.integers(1, 12), st.data())
def test_one_class_serves_both_papers_from_sequences(length, data):
    corpus = data.draw(corpora(length=length))
    model = data.draw(models(corpus.counts.shape[1], elements=floats, magnitude=20.0))
    X = np.array([model.E[tokens] for tokens in token_lists(corpus)])
    types, sequences = model.problem(corpus), SelectionProblem.from_sequences(X, corpus.labels, model.v)
    assert sequences.keys.shape == (len(corpus) * length, len(model.p))
    assert sequences.loss(model.p) == pytest.approx(types.loss(model.p), rel=1e-12)
    np.testing.assert_allclose(sequences.gradient(model.p), types.gradient(model.p), rtol=1e-11, atol=1e-13)
    try:
        wanted, log_norm = types.log_gradient(model.p)
    except ValueError:
        return
    assume(log_norm > -15)  # below, what is left of the sum may be the rounding of the scores
    np.testing.assert_allclose(sequences.direction(model.p), wanted, atol=1e-6)


@given(st.data())
def test_from_sequences_with_a_key_map(data):
    n, T, d, k = (data.draw(st.integers(1, 4)) for _ in range(4))
    X, v, W, p = (data.draw(arrays(s, grid)) for s in ((n, T, d), d, (k, d), k))
    y = data.draw(st.lists(st.sampled_from([-1, 1]), min_size=n, max_size=n))
    mapped, plain = SelectionProblem.from_sequences(X, y, v, W), SelectionProblem.from_sequences(X, y, v)
    np.testing.assert_array_equal(mapped.keys, np.einsum("itd,kd->itk", X, W).reshape(n * T, k))
    np.testing.assert_array_equal(mapped.values.reshape(n, T), X @ v)
    np.testing.assert_array_equal(mapped.counts.toarray(), np.kron(np.eye(n), np.ones(T)))
    assert mapped.loss(p) == pytest.approx(plain.loss(W.T @ p), rel=1e-13)
    np.testing.assert_allclose(mapped.gradient(p), W @ plain.gradient(W.T @ p), atol=1e-12)


@pytest.mark.parametrize("W", [None, np.random.default_rng(1).standard_normal((3, 33))])
def test_equal_tokens_of_a_sequence_stay_equal(W):
    rng = np.random.default_rng(0)
    for T in range(2, 40):  # a product of 39 equal rows of 33 numbers with a vector often rounds them in two ways
        X = np.tile(rng.standard_normal(33), (1, T, 1))
        problem = SelectionProblem.from_sequences(X, [1], rng.standard_normal(33), W)
        assert len(np.unique(problem.keys, axis=0)) == len(np.unique(problem.values)) == 1


@given(corpora(), st.data())
def test_best_token_is_the_first_of_the_largest(corpus, data):
    size = corpus.counts.shape[1]
    z = data.draw(arrays(size, st.sampled_from([-1.0, 0.0, 1.0])))
    problem = SelectionProblem(z[:, None], z, corpus.counts, corpus.labels)
    wanted = [max(np.unique(tokens), key=lambda s: (z[s], -s)) for tokens in token_lists(corpus)]
    assert problem.best_token(z).tolist() == wanted


def test_direction_is_refused_where_the_gradient_is_zero():
    one_value = SelectionProblem([[1.0], [2.0]], [3.0, 3.0], [[1, 1]], [1])
    one_token = SelectionProblem([[1.0], [2.0]], [3.0, 4.0], [[5, 0], [0, 1]], [1, -1])
    one_key = SelectionProblem([[1.0], [1.0]], [3.0, 4.0], [[5, 1]], [1])
    opposite = SelectionProblem([[0.1, 0.3], [0.7, 0.9]], [-1.0, 1.0], [[1, 1], [1, 1]], [1, -1])
    stationary = SelectionProblem([[0.1], [0.2], [0.3], [0.0]], [1.0, 1.0, -1.0, -1.0], [[1, 1, 1, 1]], [1])  # 1e-17
    for problem in (one_value, one_token, one_key, opposite, stationary):
        with pytest.raises(ValueError, match="grad L is 0"):
            problem.direction(np.zeros(problem.keys.shape[1]))
        np.testing.assert_allclose(problem.gradient(np.zeros(problem.keys.shape[1])), 0, atol=1e-16)


def test_float32_keys_are_widened():
    problem = SelectionProblem(np.ones((2, 1), np.float32), np.ones(2, np.float32), [[1, 1]], [1])
    assert {problem.keys.dtype, problem.values.dtype, problem.gradient(np.ones(1, np.float32)).dtype} == {
        np.dtype(np.float64)
    }


def test_repr():
    assert repr(SelectionProblem(*NAMED["plain"])) == "SelectionProblem(1 documents, 3 token rows, d=2)"


GOOD = {"keys": np.zeros((3, 2)), "values": np.zeros(3), "counts": np.ones((2, 3)), "labels": [1, -1]}


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"keys": np.zeros(3)}, ["keys", "(3,)"]),
        ({"keys": [[0, 0], [0, np.nan], [0, 0]]}, ["keys", "row 1"]),
        ({"values": np.zeros(4)}, ["values", "(4,)", "(3,)"]),
        ({"values": [0, 0, np.inf]}, ["values", "row 2"]),
        ({"counts": np.ones((2, 4))}, ["counts", "4 columns", "3 rows"]),
        ({"counts": [[1, 1, 1], [0, 0, 0]]}, ["counts", "row 1", "empty"]),
        ({"counts": [[1, 1, 1], [0, -1, 0]]}, ["counts", "row 1", "negative"]),
        ({"counts": [[1, 0.5, 1], [0, 1, 0]]}, ["counts", "row 0", "whole"]),
        ({"labels": [1]}, ["labels", "(1,)", "2 documents"]),
        ({"labels": [1, 0]}, ["labels[1]", "0"]),
    ],
)
def test_bad_problems_are_refused_by_name(change, words):
    with pytest.raises(ValueError) as error:
        SelectionProblem(**(GOOD | change))
    assert all(word in str(error.value) for word in words)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"X": np.zeros((2, 3))}, ["X", "(2, 3)"]),
        ({"X": np.zeros((2, 0, 3))}, ["X", "length 0"]),
        ({"X": np.zeros((0, 2, 3)), "labels": []}, ["counts", "no row"]),
        ({"X": np.full((2, 2, 3), np.nan)}, ["X", "row 0"]),
        ({"X": [[[1.0]], [[1.0], [2.0]]]}, ["X", "not a number"]),
        ({"v": np.zeros(2)}, ["v", "(2,)", "(3,)"]),
        ({"v": [0, np.inf, 0]}, ["v", "row 1"]),
        ({"W": np.zeros((4, 2))}, ["W", "(4, 2)"]),
        ({"W": np.full((4, 3), np.nan)}, ["W", "row 0"]),
        ({"labels": [1, 2]}, ["labels[1]", "2"]),
    ],
)
def test_bad_sequences_are_refused_by_name(change, words):
    good = {"X": np.zeros((2, 2, 3)), "labels": [1, -1], "v": np.zeros(3)}
    with pytest.raises(ValueError) as error:
        SelectionProblem.from_sequences(**(good | change))
    assert all(word in str(error.value) for word in words)


@pytest.mark.parametrize("ask", ["logits", "loss", "gradient", "direction", "log_gradient"])
@pytest.mark.parametrize("p", [[1.0], [1.0, np.nan], [[1.0, 2.0, 3.0]], [np.inf, 0.0], "ab", None])
def test_bad_p_is_refused_by_name(ask, p):
    with pytest.raises(ValueError, match="^p "):
        getattr(SelectionProblem(**GOOD), ask)(p)


def test_the_callers_arrays_are_neither_modified_nor_aliased():
    X, v, p = np.arange(12.0).reshape(2, 2, 3), np.ones(3), np.array([1.0, 0.5, 0.1])
    problem = SelectionProblem.from_sequences(X, [1, -1], v)
    loss = problem.loss(p)
    problem.direction(p)
    np.testing.assert_array_equal(p, [1.0, 0.5, 0.1])
    X[:], v[:] = 9, 9
    assert problem.loss(p) == loss
    K, gamma, C = np.eye(2), np.ones(2), sparse.csr_array(np.array([[2.0, 1.0]]))
    problem = SelectionProblem(K, gamma, C, [1])
    K[:], gamma[:], C.data[:] = 9, 9, 9
    np.testing.assert_array_equal(problem.keys, np.eye(2))
    np.testing.assert_array_equal(problem.values, 1)
    np.testing.assert_array_equal(problem.counts.toarray(), [[2, 1]])


def test_a_model_gives_its_problem_a_copy():
    model = Attention(np.eye(2), np.ones(2), np.ones(2))
    problem = model.problem(Corpus([[1, 1]], [1], ["a", "b"]))
    model.E[:] = 9
    np.testing.assert_array_equal(problem.keys, np.eye(2))
