"""Training the embeddings E, the <cls> embedding p and, if asked, the output vector v: exact, on the full batch.

A step costs O(nnz + |S| d). The gradient in E has rank two, -grad_E L = a v' + omega p' (see `Attention.gradients`), so
it is never formed: it is made, used and forgotten a few rows at a time, while they are in the processor's cache.
"""

import contextlib
import math
import signal
from dataclasses import dataclass

import numpy as np
from tqdm import tqdm

from .attention import Attention, backward, forward
from .corpus import Corpus
from .shards import ALONE, Team
from .threads import blas

ROWS = 256  # rows of E that are updated at a time


@dataclass(eq=False, repr=False)
class State:
    """What the next step depends on: the parameters and, for Adam, their averaged gradients and squared gradients."""

    parameters: dict[str, np.ndarray]
    moments: dict[str, tuple[np.ndarray, np.ndarray]]
    step: int = 0

    def copy(self) -> "State":
        moments = {name: (m.copy(), s.copy()) for name, (m, s) in self.moments.items()}
        return State({name: x.copy() for name, x in self.parameters.items()}, moments, self.step)


@dataclass(frozen=True, eq=False, repr=False)
class Training:
    """What `train` returns.

    `model` is the best model by validation accuracy, the first of equals, or the last one without validation.
    `history` has one entry for the start and one after each step: "loss", "norm_p" and, with validation, "accuracy".
    `stopped` says why training ended: "steps", "patience" or "interrupt". `last` is the model after the last step.
    """

    model: Attention
    history: dict[str, np.ndarray]
    stopped: str
    method: str
    train_v: bool
    state: State

    def __repr__(self) -> str:
        last = ", ".join(f"{name} {values[-1]:.4f}" for name, values in self.history.items())
        return f"Training({self.state.step} steps by {self.method}, ended by {self.stopped}: {last})"

    @property
    def last(self) -> Attention:
        return Attention(**self.state.parameters)


def train(
    corpus: Corpus,
    d: int = 128,
    steps: int = 100,
    rate: float = 0.01,
    seed: int = 0,
    validation: Corpus | None = None,
    progress: bool = True,
    method: str = "adam",
    train_v: bool = False,
    patience: int | None = None,
    start: "Attention | Training | None" = None,
    dtype=np.float32,
    team: Team = ALONE,
) -> Training:
    """Minimise the loss over (E, p), and over v if `train_v`, by `steps` steps of "adam" or "gd" (plain descent).

    The rows of E and p start as N(0, 0.1^2/d I), and v as a random unit vector, all from `seed`; or `start` is a model
    to begin with, or a training to go on with, exactly as if it had not ended (`d`, `seed` and `dtype` are then its
    own). With `patience`, training ends after so many steps without a better accuracy on `validation`. An interrupt
    ends it after the step that is being done, and what there is by then is returned. In a `team` of several processes
    (shards.py) `corpus` and `validation` are this one's shards, and all return the same.

    >>> from attnlib.sources import important_tokens
    >>> corpus = important_tokens(n=40, T=5, important=2, irrelevant=6, seed=0)
    >>> training = train(corpus, d=8, steps=200, progress=False)
    >>> training.history["loss"][[0, -1]].round(1).tolist()
    [0.7, 0.0]
    """
    _check(corpus, d, steps, rate, validation, method, patience)
    if isinstance(start, Training):
        if start.method != method:
            raise ValueError(f"start was trained by method={start.method!r}, but method is {method!r}")
        if start.train_v != train_v:
            raise ValueError(f"start was trained with train_v={start.train_v}, but train_v is {train_v}")
        if ("accuracy" in start.history) != (validation is not None):
            raise ValueError("start was trained with validation and none is given, or the other way round")
        state, history = start.state.copy(), {name: values.tolist() for name, values in start.history.items()}
        best = start.model
    else:
        state, history, best = State(_start(start, corpus, d, seed, dtype), {}), {}, None
    E = state.parameters["E"]
    if E.shape[0] != corpus.counts.shape[1]:
        raise ValueError(f"start has {E.shape[0]} tokens, but the corpus has {corpus.counts.shape[1]}")
    moving = ("E", "p", "v") if train_v else ("E", "p")
    if method == "adam" and not state.moments:
        state.moments = {name: tuple(np.zeros((2, *state.parameters[name].shape), E.dtype)) for name in moving}
    team.agree("vocabularies", "\n".join(corpus.vocabulary).encode("utf-8", "surrogatepass"))
    team.agree("parameters", *state.parameters.values())
    sizes = [len(corpus), 0 if validation is None else len(validation)]
    n, judged = team.sum(np.array(sizes, dtype=np.float64))
    end, stopped = state.step + steps, "steps"
    bar = tqdm(total=steps, desc="training", disable=not progress, unit=" steps")
    with bar, blas().limit(limits=1), _interrupts() as interrupted:
        while True:
            f, coefficients = backward(**state.parameters, corpus=corpus)
            loss, right, pressed = team.sum(_look(f, corpus, state, validation, interrupted))
            if len(history.get("loss", ())) <= state.step:  # or this state was the last one of `start`
                best = _record(history, state, loss / n, None if validation is None else right / judged, best)
                bar.set_postfix({name: f"{values[-1]:.4f}" for name, values in history.items()}, refresh=False)
            if pressed:
                stopped = "interrupt"
            elif patience is not None and state.step - int(np.argmax(history["accuracy"])) >= patience:
                stopped = "patience"
            if stopped != "steps" or state.step == end:
                break
            coefficients = team.sum(coefficients * (len(corpus) / n)).astype(E.dtype)
            _advance(state, coefficients, moving, method, rate)
            bar.update()
    model = Attention(**state.parameters) if validation is None else best
    history = {name: np.array(values) for name, values in history.items()}
    return Training(model, history, stopped, method, train_v, state)


def accuracy(f: np.ndarray, labels: np.ndarray) -> float:
    """The share of documents whose logit has the sign of the label; a logit of 0 counts as wrong."""
    return float((f * labels > 0).mean())


def _look(f, corpus, state, validation, interrupted):
    """What this process's documents add to the sums over all: loss, documents of validation judged right, interrupts."""
    loss, right = np.logaddexp(0, -corpus.labels * f).sum(), 0
    if validation is not None:
        right = (forward(**state.parameters, corpus=validation).f * validation.labels > 0).sum()
    return np.array([loss, right, len(interrupted)], dtype=np.float64)


def _record(history, state, loss, right, best):
    """Add the present state to the history; return the best model so far, if there is a way to tell."""
    if not np.isfinite(loss):
        raise ValueError(f"the loss is {loss} after step {state.step}: a smaller rate is needed")
    now = {"loss": float(loss), "norm_p": float(np.linalg.norm(state.parameters["p"]))}
    if right is not None:
        now["accuracy"] = float(right)
        if now["accuracy"] > max(history.get("accuracy", ()), default=-1.0):
            best = Attention(**state.parameters)
    for name, value in now.items():
        history.setdefault(name, []).append(value)
    return best


def _advance(state, coefficients, moving, method, rate):
    """One step, in place."""
    E, p, v = (state.parameters[name] for name in ("E", "p", "v"))
    state.step += 1
    directions = np.stack([v, p])
    grad_v, grad_p = (c @ E for c in coefficients)
    whole = {"p": grad_p, "v": grad_v}

    def update(name, gradient, rows=slice(None)):
        x = state.parameters[name][rows]
        if method == "gd":
            gradient *= x.dtype.type(rate)
            x -= gradient
        else:
            _adam(x, gradient, *(moment[rows] for moment in state.moments[name]), state.step, rate)

    for name in moving[1:]:
        update(name, whole[name])
    for first in range(0, len(E), ROWS):
        rows = slice(first, first + ROWS)
        update("E", coefficients[:, rows].T @ directions, rows)


def _adam(x, g, m, s, k, rate, b1=0.9, b2=0.999, eps=1e-8):
    """Step k of Adam (Kingma and Ba 2015) on x, its averages m of g and s of g^2; all in place, and g is used up."""
    m *= b1
    m += (1 - b1) * g
    s *= b2
    g *= g
    g *= 1 - b2
    s += g
    np.sqrt(s, out=g)
    g /= math.sqrt(1 - b2**k)
    g += eps
    np.divide(m, g, out=g)
    g *= rate / (1 - b1**k)
    x -= g


def _start(start, corpus, d, seed, dtype):
    if start is None:
        rng = np.random.default_rng(seed)
        E, p = 0.1 / np.sqrt(d) * rng.standard_normal((corpus.counts.shape[1], d)), rng.standard_normal(d)
        v = rng.standard_normal(d)
        start = Attention(*(x.astype(dtype) for x in (E, 0.1 / np.sqrt(d) * p, v / np.linalg.norm(v))))
    elif not isinstance(start, Attention):
        raise ValueError(f"start is of type {type(start).__name__}; an Attention or a Training is needed")
    return {"E": start.E.copy(), "p": start.p.copy(), "v": start.v.copy()}


def _check(corpus, d, steps, rate, validation, method, patience):
    for name, value, least in (("d", d, 1), ("steps", steps, 0), ("patience", patience, 1)):
        if value is not None and not least <= value < math.inf:
            raise ValueError(f"{name} is {value}, but a finite number of at least {least} is needed")
    if not (np.isfinite(rate) and rate > 0):
        raise ValueError(f"rate is {rate}, but a positive number is needed")
    if method not in ("adam", "gd"):
        raise ValueError(f"method is {method!r}, but 'adam' or 'gd' is needed")
    if validation is not None and validation.vocabulary != corpus.vocabulary:
        raise ValueError("validation has another vocabulary than the corpus: load it with vocabulary=corpus.vocabulary")
    if patience is not None and validation is None:
        raise ValueError("patience needs a validation corpus")


@contextlib.contextmanager
def _interrupts():
    """A list that an interrupt fills, so that it does not fall into the middle of a step done in place."""
    pressed = []
    try:
        before = signal.signal(signal.SIGINT, lambda *_: pressed.append(True))
    except ValueError:  # not the main thread, which alone is interrupted
        yield pressed
        return
    try:
        yield pressed
    finally:
        signal.signal(signal.SIGINT, before)
