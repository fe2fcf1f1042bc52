"""Chapter "The hard-margin reference"."""

from fractions import Fraction
from itertools import combinations

import numpy as np
import sympy
from sklearn.svm import SVC

from ..attention import Attention
from ..margin import max_margin
from ..optimality import selected
from ..problem import SelectionProblem
from ..shortest import Infeasible
from ..sources import tilted_zipf
from . import claim
from .residuals import relative, worst

DEFINES = ("eq-differences",)


def pairs_of(problem, selection) -> np.ndarray:
    """The differences E_s - E_u of every document, written out: (k, d), repeats and all."""
    rows = []
    for counts, chosen in zip(problem.counts.toarray(), selection):
        rows += [problem.keys[chosen] - problem.keys[u] for u in np.flatnonzero(counts) if u != chosen]
    return np.array(rows)


def gaussian(rng, n=6, T=8, d=20):
    """Random sequences and a random token of each: feasible, as there are more dimensions than constraints matter."""
    X, v = rng.normal(size=(n, T, d)), rng.normal(size=d)
    problem = SelectionProblem.from_sequences(X, rng.choice([-1, 1], n), v)
    return problem, T * np.arange(n) + rng.integers(0, T, n)


def contradictory(rng, n=4, T=3, d=6):
    """A selection whose last document asks for the opposite of a sum of what the first asks for."""
    X = rng.normal(size=(n, T, d))
    X[-1, 1] = X[-1, 0] + rng.uniform(1, 2) * (X[0, 0] - X[0, 1]) + rng.uniform(1, 2) * (X[0, 0] - X[0, 2])
    return SelectionProblem.from_sequences(X, np.ones(n), np.ones(d)), T * np.arange(n)


def off_nearest(p, weights, differences) -> float:
    """How far p / |p|^2 is from being the point of the hull nearest to 0, by three conditions that make it that point:
    it is a convex combination of differences, and no difference lies on this side of its plane."""
    h = p / (p @ p)
    pi, rows = weights
    return worst(
        np.linalg.norm(pi @ rows - h) / np.linalg.norm(h),
        abs(pi.sum() - 1),
        worst(0.0, -pi.min()),
        worst(0.0, 1 - (differences @ h).min() / (h @ h)),
    )


def nearest(problem, selection, asked) -> float:
    """The library's answer for one selection, against the hull of the differences of what was asked."""
    found = max_margin(problem, selection)
    rows = problem.keys[found.constraints[:, 0]] - problem.keys[found.constraints[:, 1]]
    weights = found.duals / (found.p @ found.p)
    h = found.p / (found.p @ found.p)
    off = off_nearest(found.p, (weights, rows), asked)
    return worst(off, abs(found.margin / np.linalg.norm(h) - 1), found.certificate().worst)


def refusal(problem, selection) -> float:
    """How far the weights with which a selection is refused are from a proof; 1 if it is not refused."""
    try:
        max_margin(problem, selection)
    except Infeasible as proof:
        rows = problem.keys[proof.constraints[:, 0]] - problem.keys[proof.constraints[:, 1]]
        asked = {row.tobytes() for row in pairs_of(problem, selection)}
        if not all(row.tobytes() in asked for row in rows):
            return 1.0
        left = np.linalg.norm(proof.weights @ rows) / np.linalg.norm(rows, axis=1).max()
        return worst(left, abs(proof.weights.sum() - 1), worst(0.0, -proof.weights.min()))
    return 1.0


@claim(
    "thm-nearest",
    "The max-margin solution is h/|h|^2 for the point h of the hull nearest to 0; there is none exactly if h = 0.",
    source="textbook, proved here; the program is paper B's",
    rests=("def-max-margin",),
    assumes=("pair",),
    kind="certified",
    tolerance=1e-10,
    seeds=10,
)
def hull(rng):
    problem, selection = gaussian(rng)
    return worst(nearest(problem, selection, pairs_of(problem, selection)), refusal(*contradictory(rng)))


@hull.control("one support token is taken out of its document before solving")
def _(rng):
    problem, selection = gaussian(rng)
    found = max_margin(problem, selection)
    counts = problem.counts.toarray()
    counts[:, found.constraints[found.support[0], 1]] = 0
    fewer = SelectionProblem(problem.keys, problem.values, counts, problem.labels)
    return nearest(fewer, selection, pairs_of(problem, selection))


@hull.control("the mean of the differences in the place of their nearest point")
def _(rng):
    problem, selection = gaussian(rng)
    rows = pairs_of(problem, selection)
    mean = rows.mean(axis=0)
    return off_nearest(mean / (mean @ mean), (np.full(len(rows), 1 / len(rows)), rows), rows)


@hull.control("documents of one token: nothing to separate, and no hull", drops="pair")
def _(rng):
    problem = SelectionProblem.from_sequences(rng.normal(size=(3, 1, 4)), [1, 1, -1], rng.normal(size=4))
    found = max_margin(problem, [0, 1, 2])
    return float(not found.p.any())  # it is 0, which no h/|h|^2 is


# --- certificates, against rational arithmetic ---


def rational(rng, pairs=7, d=3):
    """Whole-number differences with positive first entry, so that some p ranks all: as fractions and as a problem."""
    a = np.c_[rng.integers(1, 5, pairs), rng.integers(-4, 5, (pairs, d - 1))]
    X = np.stack([a, np.zeros_like(a)], axis=1).astype(float)
    return a, SelectionProblem.from_sequences(X, np.ones(pairs), np.eye(d)[0])


def exact_shortest(a):
    """The shortest p with a_k.p >= 1 and its multipliers, as fractions, by trying every set of tight constraints."""
    k, d = a.shape
    for size in range(1, d + 1):
        for rows in combinations(range(k), size):
            A = sympy.Matrix(a[list(rows)].tolist())
            gram = A * A.T
            if gram.det() == 0:
                continue
            lam = gram.LUsolve(sympy.ones(size, 1))
            p = A.T * lam
            if min(lam) >= 0 and min(sympy.Matrix(a.tolist()) * p) >= 1:
                multipliers = np.array([Fraction(0)] * k)
                multipliers[list(rows)] = [Fraction(int(x.p), int(x.q)) for x in lam]
                return np.array([Fraction(int(x.p), int(x.q)) for x in p]), multipliers
    return None, None


def violated(a, p, best, lam) -> float:
    """By how much p (feasible), the solution `best` and multipliers lam break the two lines of the duality."""
    half, dual = p @ p / 2, lam.sum() - (lam @ a) @ (lam @ a) / 2
    lines = (best @ best / 2 - half, dual - best @ best / 2, (p - best) @ (p - best) - 2 * (half - dual))
    return worst(0.0, float(worst(lines)) / float(best @ best))


def feasible_point(rng, a):
    """A random p of fractions that satisfies every constraint."""
    p = np.array([Fraction(int(x), 8) for x in np.r_[rng.integers(40, 80), rng.integers(-9, 9, a.shape[1] - 1)]])
    return p / min(a @ p) if min(a @ p) > 0 else feasible_point(rng, a)


def multipliers(rng, k):
    return np.array([Fraction(int(x), 16) for x in rng.integers(0, 5, k)])


@claim(
    "prop-certificate",
    "A feasible p and any multipliers bound the distance to the solution; equality is the optimality conditions.",
    source="textbook, proved here",
    rests=("thm-nearest",),
    assumes=("primal-feasible", "dual-feasible", "complementary"),
    kind="certified",
    tolerance=1e-12,
    seeds=5,
)
def certificate(rng):
    a, problem = rational(rng)
    best, lam = exact_shortest(a)
    duality = violated(a, feasible_point(rng, a), best, multipliers(rng, len(a)))
    conditions = worst(abs(best - lam @ a).max(), abs(best @ best - lam.sum()), abs(lam * (a @ best - 1)).max())
    found = max_margin(problem, 2 * np.arange(len(a)))
    return worst(duality, conditions, relative(found.p, best.astype(float)), found.certificate().worst)


@certificate.control("p violates a constraint", drops="primal-feasible")
def _(rng):
    a, _ = rational(rng)
    best, lam = exact_shortest(a)
    return violated(a, best * Fraction(9, 10), best, lam)


@certificate.control("a multiplier is negative", drops="dual-feasible")
def _(rng):
    a, _ = rational(rng)
    best, lam = exact_shortest(a)
    slack = int(np.argmax(a @ best))  # a smaller multiplier than 0 on it pays, to first order
    step = Fraction(1, 100) * np.eye(len(a), dtype=int)[slack]
    return violated(a, best, best, lam - step)


@certificate.control("p = A' lam and all signs right, but lam weighs slack constraints", drops="complementary")
def _(rng):
    a, _ = rational(rng)
    best, _ = exact_shortest(a)
    lam = 1 + multipliers(rng, len(a))
    p = lam @ a
    p, lam = p / min(a @ p), lam / min(a @ p)
    return relative(p.astype(float), best.astype(float))


@certificate.control("the distance bound without its factor 2")
def _(rng):
    a, _ = rational(rng, pairs=2)
    best, lam = exact_shortest(a)
    p = best + np.cross(*a) * Fraction(1, 50)  # along both constraints: feasible, and the bound is attained
    gap = p @ p / 2 - lam.sum() + (lam @ a) @ (lam @ a) / 2
    return worst(0.0, float((p - best) @ (p - best) - gap) / float(best @ best))


# --- cutting planes ---


def cutting_planes(a, keep):
    """Lengths of the rounds in fractions, from one pair, each adding the pair violated most; the last solution."""
    work, lengths = [0], []
    while len(lengths) < 50:
        p, lam = exact_shortest(a[work])
        lengths.append(p @ p)
        spare = a @ p - 1
        worst = int(np.argmin(spare))
        if spare[worst] >= 0:
            return p, lengths
        work = [k for k, multiplier in zip(work, lam) if keep(multiplier, spare[k])] + [worst]
    return p, lengths


def off_cutting(rng, keep=lambda lam, spare: lam > 0 or spare == 0):
    """0 if the rounds end at the solution with growing lengths, in fractions."""
    a, _ = rational(rng)
    best, _ = exact_shortest(a)
    p, lengths = cutting_planes(a, keep)
    return float((p != best).any() or any(b <= a for a, b in zip(lengths, lengths[1:])))


def large(rng):
    """Thousands of pairs, more than enter the library's working set at once; feasible, as some p chose."""
    corpus = tilted_zipf(n=300, size=300, length=40, seed=int(rng.integers(2**31)))
    problem = Attention(rng.normal(size=(300, 20)), np.zeros(20), np.ones(20)).problem(corpus)
    return problem, selected(problem, rng.normal(size=20))


def torn(problem, selection):
    """The selection with one document's token exchanged, so that two documents ask for opposite things."""
    C = problem.counts.toarray() > 0
    for k, s in enumerate(selection):
        for j in np.flatnonzero((selection == s) & (np.arange(len(C)) != k)):
            both = np.setdiff1d(np.flatnonzero(C[k] & C[j]), s)
            if both.size:
                return np.where(np.arange(len(C)) == j, both[0], selection)
    return None


@claim(
    "prop-cutting",
    "Cutting planes end with the solution of all constraints, or with a working set that proves there is none.",
    source="textbook, proved here",
    rests=("prop-certificate", "thm-nearest"),
    kind="certified",
    tolerance=1e-9,
    seeds=2,
)
def cutting(rng):
    problem, selection = large(rng)
    found = nearest(problem, selection, pairs_of(problem, selection))
    return worst(off_cutting(rng), found, refusal(problem, torn(problem, selection)))


@cutting.control("the first 500 pairs alone, solved by scikit-learn's SVC on them and their mirror images")
def _(rng):
    rows = pairs_of(*large(rng))
    some, sides = rows[:500], np.repeat([1, -1], 500)
    p = SVC(kernel="linear", C=1e9, tol=1e-10).fit(np.r_[some, -some], sides).coef_[0]
    return worst(0.0, 1 - (rows @ p).min())


@cutting.control("every old pair is dropped, with a multiplier or without")
def _(rng):
    return off_cutting(rng, keep=lambda lam, spare: False)
