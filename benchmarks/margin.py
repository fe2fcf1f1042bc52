"""The max-margin p of a selection: cutting planes, cvxpy on all constraints at once, and LinearSVC on the differences,
on growing parts of a corpus the size of IMDB, and cutting planes alone on all of it."""

import resource
import time

import cvxpy as cp
import numpy as np
from corpora import imdb_size
from sklearn.svm import LinearSVC

from attnlib import Corpus, max_margin, selected, train
from attnlib.margin import angle

PARTS = (50, 200)


def all_at_once(A):
    p = cp.Variable(A.shape[1])
    cp.Problem(cp.Minimize(cp.sum_squares(p) / 2), [A @ p >= 1]).solve(solver="CLARABEL")
    return p.value


def linear_svc(A):
    """The differences as one class and their mirror images as the other, with a large C: a hard margin, nearly."""
    y = np.r_[np.ones(len(A)), -np.ones(len(A))]
    return (
        LinearSVC(C=1e4, loss="hinge", fit_intercept=False, tol=1e-8, max_iter=10_000)
        .fit(np.vstack([A, -A]), y)
        .coef_[0]
    )


def timed(f, *args, **options):
    begun = time.perf_counter()
    result = f(*args, **options)
    return time.perf_counter() - begun, result


def measure(parts=PARTS) -> dict:
    name, corpus = imdb_size()
    model = train(corpus, steps=60, progress=False).model  # what p then selects is feasible by construction
    rows = []
    for documents in (*parts, len(corpus)):
        part = Corpus(corpus.counts[:documents], corpus.labels[:documents], corpus.vocabulary)
        problem = model.problem(part)
        selection = selected(problem, model.p.astype(float))
        row = {"documents": documents}
        seconds, solution = timed(max_margin, problem, selection)
        row |= {"constraints": len(solution.constraints), "cutting planes": {"seconds": round(seconds, 3)}}
        row["cutting planes"]["residual"] = solution.certificate().worst
        seconds, other = timed(max_margin, problem, selection, solver="NNLS")
        row["without cvxpy"] = {"seconds": round(seconds, 3), "angle": angle(other.p, solution.p)}
        if documents in parts:
            s, u = solution.constraints.T
            A = problem.keys[s] - problem.keys[u]
            for route, solve in (("cvxpy, all at once", all_at_once), ("LinearSVC", linear_svc)):
                seconds, p = timed(solve, A)
                row[route] = {"seconds": round(seconds, 3), "angle": angle(p, solution.p)}
        rows.append(row)
        print(row, flush=True)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    return {"corpus": f"{name}: {corpus}", "rows": rows, "peak megabytes": round(peak)}
