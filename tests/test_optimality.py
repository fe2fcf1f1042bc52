"""Selection, optimality and neighbours against the definitions written out."""

import warnings

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from strategies import problems, token_lists

from attnlib import Infeasible, SelectionProblem, is_locally_optimal, max_margin, neighbours, optimal_tokens, selected
from attnlib.optimality import optimal_sets, selected_sets


def bags(n, m, d, seed):
    rng = np.random.default_rng(seed)
    C = np.maximum(rng.poisson(0.5, (n, m)), np.eye(n, m))
    return SelectionProblem(rng.standard_normal((m, d)), rng.standard_normal(m), C, rng.choice([-1.0, 1.0], n))


def test_selected_and_optimal_against_loops():
    for seed in range(10):
        problem = bags(8, 9, 4, seed)
        p, C = np.random.default_rng(seed).standard_normal(4), problem.counts.toarray()
        for i in range(8):
            tokens = np.flatnonzero(C[i])
            assert selected(problem, p)[i] == max(tokens, key=lambda u: problem.keys[u] @ p)
            assert optimal_tokens(problem)[i] == max(tokens, key=lambda u: problem.labels[i] * problem.values[u])


def test_neighbours_and_local_optimality_against_the_definition():
    verdicts = set()
    for seed in range(40):
        problem = bags(4, 7, 7, seed)
        p, C = np.random.default_rng(seed + 1).standard_normal(7), problem.counts.toarray()
        selection = selected(problem, p) if seed % 2 else optimal_tokens(problem)
        try:
            solution = max_margin(problem, selection)
        except Infeasible:
            assert not is_locally_optimal(problem, selection)
            continue
        z, optimal = problem.keys @ solution.p, True
        for i, s in enumerate(selection):
            touching = [u for u in np.flatnonzero(C[i]) if abs(z[s] - z[u] - 1) < 1e-8]
            assert neighbours(problem, selection)[i].tolist() == touching
            optimal &= all(problem.labels[i] * (problem.values[s] - problem.values[u]) > 0 for u in touching)
        assert is_locally_optimal(problem, selection) == is_locally_optimal(problem, selection, solution) == optimal
        verdicts.add(optimal)
    assert verdicts == {True, False}


def test_the_published_local_and_global_solutions():
    X = [[[-0.1, 1, 1], [1, 0, 0.9], [0, 0, 0]]]
    W = np.diag([1.0, 1.0, 0.0])
    problem = SelectionProblem.from_sequences(X, [1], [0, 0, 1], W=W)
    assert optimal_tokens(problem).tolist() == [0]
    assert is_locally_optimal(problem, [0]) and is_locally_optimal(problem, [1])
    assert neighbours(problem, [1])[0].tolist() == [2]
    assert not is_locally_optimal(problem, [2])
    flat = SelectionProblem.from_sequences([[[-0.1, 1, 1], [1, 0, 0.9], [0, 0, 0.9]]], [1], [0, 0, 1], W=W)
    assert not is_locally_optimal(flat, [1])  # its neighbour has the same score: not strictly larger


def test_ties_are_reported():
    problem = SelectionProblem(np.eye(3), [1.0, 1.0, 0.0], [[1, 1, 1], [0, 1, 1]], [1, -1])
    with pytest.warns(UserWarning, match="1 of 2 documents have several best tokens by y gamma, .* document 0"):
        assert optimal_tokens(problem).tolist() == [0, 2]
    assert [s.tolist() for s in optimal_sets(problem)] == [[0, 1], [2]]
    with pytest.warns(UserWarning, match="2 of 2 documents have several best tokens by p"):
        selected(problem, np.zeros(3))
    assert [s.tolist() for s in selected_sets(problem, [1.0, 0.95, 0.0], tolerance=0.1)] == [[0, 1], [1]]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert selected(problem, [1.0, 2.0, 0.0]).tolist() == [1, 1]
    # a tied selection: both tokens above the rest, and the neighbour of the lower one
    assert [u.tolist() for u in neighbours(problem, [{0, 1}, {1}])] == [[2], [2]]
    assert is_locally_optimal(problem, [{0, 1}, {2}]) is False  # 1 above 2 and 2 above 1
    line = SelectionProblem([[3.0], [2.0], [0.0]], [1.0, 1.0, 0.0], [[1, 1, 1]], [1])
    assert neighbours(line, [{0, 1}])[0].tolist() == [2]
    one = SelectionProblem(np.eye(3), [1.0, 1.0, 0.0], [[1, 1, 1]], [1])
    assert is_locally_optimal(one, optimal_sets(one))


def test_infeasible_selections_and_lone_tokens():
    problem = SelectionProblem(np.eye(2), [1.0, 0.0], [[1, 1], [1, 1]], [1, -1])
    with pytest.raises(Infeasible):
        neighbours(problem, [0, 1])
    assert is_locally_optimal(problem, [0, 1]) is False
    lone = SelectionProblem([[1.0]], [1.0], [[1]], [1])
    assert selected(lone, [0.0]).tolist() == [0] and neighbours(lone, [0])[0].size == 0
    assert is_locally_optimal(lone, [0])
    with pytest.raises(ValueError, match="names row 1"):
        is_locally_optimal(lone, [1])


@pytest.mark.filterwarnings("ignore:.*several best tokens")
@given(problems())
def test_selected_and_optimal_by_their_definitions(case):
    problem, p = case
    z = problem.keys @ p
    for i, tokens in enumerate(token_lists(problem)):
        first = sorted(set(tokens.tolist()))
        assert selected(problem, p)[i] == max(first, key=lambda u: z[u])  # of equals `max` takes the first
        assert optimal_tokens(problem)[i] == max(first, key=lambda u: problem.labels[i] * problem.values[u])


@given(problems(), st.data())
def test_on_a_line_the_margin_and_its_neighbours_are_read_off(case, data):
    """In one dimension p = 1/a or -1/a, with a the smallest of the gaps, if all have one sign; else there is none."""
    problem, _ = case
    problem = SelectionProblem(problem.keys[:, :1], problem.values, problem.counts, problem.labels)
    documents = [sorted(set(tokens.tolist())) for tokens in token_lists(problem)]
    chosen = [data.draw(st.sampled_from(tokens)) for tokens in documents]
    gaps = [{u: problem.keys[s, 0] - problem.keys[u, 0] for u in X if u != s} for s, X in zip(chosen, documents)]
    every = [gap for document in gaps for gap in document.values()]
    if every and not (min(every) > 0 or max(every) < 0):
        with pytest.raises(Infeasible):
            max_margin(problem, chosen, solver="NNLS")
        assert not is_locally_optimal(problem, chosen)
        return
    least = min(map(abs, every), default=np.inf)
    if least < 1e-6:
        return  # by choice a margin below 1e-9 of the longest difference counts as none
    solution = max_margin(problem, chosen, solver="NNLS")
    assert solution.margin == pytest.approx(least, rel=1e-9)
    touching = [[u for u in document if abs(document[u]) <= least * (1 + 1e-9)] for document in gaps]
    assert [rows.tolist() for rows in neighbours(problem, chosen, solution)] == touching
    y, gamma = problem.labels, problem.values
    better = all(y[i] * (gamma[chosen[i]] - gamma[u]) > 0 for i, rows in enumerate(touching) for u in rows)
    assert is_locally_optimal(problem, chosen, solution) == better
