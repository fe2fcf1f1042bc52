"""Every public name: at least one property test calls it, and numbers that are no numbers are refused by name."""

import ast
import warnings
from pathlib import Path

import numpy as np
import pytest

import attnlib
from attnlib import (
    Attention,
    Corpus,
    Infeasible,
    Joint,
    SelectionProblem,
    cone_constants,
    descend,
    gradient_flow,
    important_tokens,
    is_locally_optimal,
    label_margin,
    max_margin,
    max_margin_any,
    neighbours,
    one_step,
    optimal_tokens,
    plane_path,
    posterior_difference,
    published_constants,
    regularization_path,
    remainder_bound,
    selected,
    signed_frequency,
    train,
)
from attnlib.explain import explain
from attnlib.reference import autograd_gradients

HERE = Path(__file__).parent
METHODS = (
    *("Corpus.from_tokens", "Corpus.from_texts", "Corpus.lengths"),
    *("Attention.logits", "Attention.loss", "Attention.attention", "Attention.gradients", "Attention.problem"),
    *("SelectionProblem.from_sequences", "SelectionProblem.loss", "SelectionProblem.gradient"),
    *("SelectionProblem.direction", "SelectionProblem.log_gradient"),
)


def functions(path):
    """The functions of a file by name, at any depth of classes."""
    return {node.name: node for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, ast.FunctionDef)}


def is_property(function):
    calls = [node.func for node in function.decorator_list if isinstance(node, ast.Call)]
    return any(isinstance(call, ast.Name) and call.id == "given" for call in calls)


def used(function, helpers, seen=()):
    """The names and attributes that a function uses, itself or by the helpers it calls."""
    found = {node.id for node in ast.walk(function) if isinstance(node, ast.Name)}
    found |= {node.attr for node in ast.walk(function) if isinstance(node, ast.Attribute)}
    for name in found & helpers.keys() - set(seen):
        found = found | used(helpers[name], helpers, (*seen, name))
    return found


def property_tests():
    """For each public name and method the property tests that use it, as file::test."""
    table = {name: [] for name in (*attnlib.__all__, *METHODS)}
    shared = functions(HERE / "strategies.py")
    for path in sorted(HERE.glob("test_*.py")):
        here = functions(path)
        for name, function in here.items():
            if is_property(function):
                names = used(function, shared | here)
                for public, tests in table.items():
                    if public.rpartition(".")[2] in names:
                        tests.append(f"{path.name}::{name}")
    return table


def test_every_public_name_has_a_property_test(record_property):
    table = property_tests()
    record_property("property tests", {name: len(tests) for name, tests in table.items()})
    assert [name for name, tests in table.items() if not tests] == []


def problem(**change):
    good = {"keys": np.eye(3, 2), "values": [1.0, 0.0, -1.0], "counts": np.ones((2, 3)), "labels": [1, -1]}
    return SelectionProblem(**(good | change))


def model(**change):
    return Attention(**({"E": np.eye(3, 2), "p": np.ones(2), "v": np.ones(2)} | change))


def corpus(**change):
    return Corpus(**({"counts": np.ones((2, 3)), "labels": [1, -1], "vocabulary": list("abc")} | change))


def made(**change):
    return important_tokens(**({"n": 4, "T": 4, "important": 1, "irrelevant": 2, "seed": 0} | change))


# By public name: where numbers enter it, as argument -> call with a bad number there. A name that takes only objects
# of ours has nothing to refuse: the objects were refused when they were made.
DOORS = {
    "Attention": {
        "E": lambda x: model(E=[[1.0, 0.0], [x, 0.0], [0.0, 0.0]]),
        "p": lambda x: model(p=[0.0, x]),
        "v": lambda x: model(v=[x, 0.0]),
    },
    "Corpus": {
        "counts": lambda x: corpus(counts=[[1, 1, 1], [1, x, 1]]),
        "labels": lambda x: corpus(labels=[1, x]),
    },
    "SelectionProblem": {
        "keys": lambda x: problem(keys=[[1.0], [x], [0.0]]),
        "values": lambda x: problem(values=[0.0, x, 1.0]),
        "counts": lambda x: problem(counts=[[1, 1, 1], [1, x, 1]]),
        "labels": lambda x: problem(labels=[x, 1]),
        "p": lambda x: problem().direction([x, 0.0]),
        "X": lambda x: SelectionProblem.from_sequences([[[x, 0.0]]], [1], [0.0, 1.0]),
        "W": lambda x: SelectionProblem.from_sequences([[[1.0, 0.0]]], [1], [0.0, 1.0], W=[[x, 0.0]]),
    },
    "descend": {
        "p": lambda x: descend(problem(), [x, 0.0], steps=1, rate=0.1),
        "rate": lambda x: descend(problem(), [0.1, 0.0], steps=1, rate=x),
    },
    "gradient_flow": {
        "p": lambda x: gradient_flow(problem(), start=[x, 0.0]),
        "length": lambda x: gradient_flow(problem(), length=x),
        "tolerance": lambda x: gradient_flow(problem(), length=1.0, tolerance=x),
        "settled": lambda x: gradient_flow(problem(), length=1.0, settled=x),
    },
    "important_tokens": {
        "n": lambda x: made(n=x),
        "T": lambda x: made(T=x),
        "important": lambda x: made(important=x),
        "repeats": lambda x: made(repeats=x),
        "positive": lambda x: made(positive=x),
        "noise": lambda x: made(noise=x),
    },
    "Joint": {
        "X": lambda x: Joint([[[x, 0.0], [0.0, 1.0]]], [1]),
        "labels": lambda x: Joint([[[1.0, 0.0], [0.0, 1.0]]], [x]),
        "v": lambda x: Joint([[[1.0, 0.0], [0.0, 1.0]]], [1]).directions([x, 0.0], [0.0, 0.0]),
        "p": lambda x: Joint([[[1.0, 0.0], [0.0, 1.0]]], [1]).directions([1.0, 0.0], [x, 0.0]),
    },
    "cone_constants": {"selection": lambda x: cone_constants(problem(), [0, x])},
    "is_locally_optimal": {"selection": lambda x: is_locally_optimal(problem(), [0, x])},
    "label_margin": {
        "X": lambda x: label_margin([[1.0], [x]], [1, -1]),
        "labels": lambda x: label_margin([[1.0], [-1.0]], [1, x]),
    },
    "max_margin_any": {"selection": lambda x: max_margin_any(problem(), [[0], [x]])},
    "plane_path": {"radii": lambda x: plane_path(problem(), [1.0, x])},
    "published_constants": {"selection": lambda x: published_constants(problem(), [0, x])},
    "max_margin": {"selection": lambda x: max_margin(problem(), [0, x])},
    "neighbours": {"selection": lambda x: neighbours(problem(), [0, x])},
    "one_step": {"eta": lambda x: one_step(model(), corpus(), x)},
    "regularization_path": {"radii": lambda x: regularization_path(problem(), [1.0, x])},
    "selected": {"p": lambda x: selected(problem(), [0.0, x])},
    "train": {
        "rate": lambda x: train(corpus(), 2, 1, rate=x, progress=False),
        "steps": lambda x: train(corpus(), 2, x, progress=False),
        "d": lambda x: train(corpus(), x, 1, progress=False),
    },
}
OBJECTS_ONLY = {"optimal_tokens", "posterior_difference", "remainder_bound", "signed_frequency", "smoothness"}
NOT_NUMERIC = {
    **dict.fromkeys(("Infeasible", "Violated"), "an error that we raise"),
    **dict.fromkeys(("CORRELATION", "EXPONENTIAL", "LOGISTIC"), "formulas that pass on what they are given"),
    "load_corpus": "names, words and files: test_reviews.py",
}


def test_every_public_name_has_its_doors_listed():
    assert set(attnlib.__all__) == DOORS.keys() | OBJECTS_ONLY | NOT_NUMERIC.keys()


@pytest.mark.parametrize("x", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("name, argument", [(name, argument) for name in DOORS for argument in DOORS[name]])
def test_numbers_that_are_none_are_refused_by_name(name, argument, x):
    with pytest.raises(ValueError, match=rf"(^|\b){argument}\b"), warnings.catch_warnings():
        warnings.simplefilter("error")
        DOORS[name][argument](x)


@pytest.mark.parametrize(
    "call",
    [
        lambda y: Corpus(np.ones((2, 3)), y, list("abc")),
        lambda y: Corpus.from_tokens([["a"], ["b"]], y),
        lambda y: Corpus.from_texts(["a", "b"], y),
        lambda y: problem(labels=y),
        lambda y: SelectionProblem.from_sequences(np.ones((2, 2, 1)), y, [1.0]),
        lambda y: label_margin([[1.0], [-1.0]], y),
    ],
)
@pytest.mark.parametrize("y", [[0, 1], [False, True], np.array([1.0, 0.0])])
def test_labels_0_and_1_are_refused_with_the_remedy(call, y):
    with pytest.raises(ValueError, match=r"labels\[\d\] is .* labels 0/1 become -1/\+1 by 2 \* labels - 1"):
        call(y)


def test_a_document_of_100_000_tokens():
    rng = np.random.default_rng(0)
    long = " ".join(f"w{k}" for k in rng.integers(0, 60_000, 100_000))
    found = Corpus.from_texts([long, "w0 w1 w1"], [1, -1])
    size = len(found.vocabulary)
    assert found.lengths.tolist() == [100_000, 3] and 40_000 < size < 60_000
    big = Attention(*(0.5 * rng.standard_normal(shape) for shape in ((size, 3), 3, 3)))
    np.testing.assert_allclose(big.attention(found).sum(axis=1), 1, rtol=1e-12)
    for ours, theirs in zip(big.gradients(found), autograd_gradients(big, found)):
        np.testing.assert_allclose(ours, theirs, rtol=0, atol=1e-12)
    table = {word: (float(z), float(gamma)) for word, z, gamma in zip(found.vocabulary, big.z, big.gamma)}
    assert explain(long, table).f == pytest.approx(big.logits(found)[0], abs=1e-10)


def test_a_vocabulary_of_one():
    """All attention is on the one token whatever p is: f = gamma, p has no gradient, and nothing is to be separated."""
    one = Corpus.from_texts(["Film film", "film!"], [1, -1])
    assert one.vocabulary == ("film",) and one.counts.toarray().tolist() == [[2], [1]]
    single = Attention([[1.0, 2.0]], [3.0, -1.0], [1.0, 1.0])
    assert single.logits(one).tolist() == [3.0, 3.0] and single.attention(one).toarray().tolist() == [[1], [1]]
    np.testing.assert_array_equal(single.gradients(one).p, 0)
    assert signed_frequency(one).tolist() == [0.0] and posterior_difference(one).tolist() == [0.0]
    assert one_step(single, one, 2.0).E.shape == (1, 2) and remainder_bound(single, one).shape == (1,)
    assert np.isfinite(train(one, d=2, steps=5, progress=False).last.E).all()
    alone = single.problem(one)
    assert selected(alone, [1.0, 1.0]).tolist() == optimal_tokens(alone).tolist() == [0, 0]
    assert max_margin(alone, [0, 0]).margin == np.inf and is_locally_optimal(alone, [0, 0])
    for follow in (gradient_flow, lambda x: descend(x, [1.0, 0.0], 1, 0.1), lambda x: regularization_path(x, [1.0])):
        with pytest.raises(ValueError, match="grad L is 0"):
            follow(alone)


def test_infeasible_is_an_error_of_value_with_its_proof():
    with pytest.raises(Infeasible) as caught:
        label_margin([[1.0, 0.0], [2.0, 0.0]], [1, -1])
    assert isinstance(caught.value, ValueError)
    np.testing.assert_allclose(caught.value.weights @ np.array([[1.0, 0.0], [-2.0, 0.0]]), 0, atol=1e-12)
