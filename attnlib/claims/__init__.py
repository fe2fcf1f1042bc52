"""The ledger: what the book claims, each tied to a measurement that can fail, and to controls that must.

One file a chapter, one function a claim; the id of a claim is the label of its statement in the book. A measuring
function takes a random generator and returns one number, the residual. Whether that is good enough is decided here.

    @claim("thm-x", "What it says.", source="proved here", rests=("lem-y",), kind="numeric", tolerance=1e-12, seeds=5)
    def x(rng):
        return residual

    @x.control("the labels are flipped", drops="separable")
    def _(rng):
        return residual  # above the tolerance for every seed, or the control has not failed
"""

import importlib
import pkgutil
from collections.abc import Callable
from dataclasses import dataclass, field
from zlib import crc32

import numpy as np

from .assumptions import ASSUMPTIONS

KINDS = {
    "exact": "symbolic or rational arithmetic, no rounding",
    "certified": "optimality conditions or enclosures verified on the answer",
    "numeric": "a residual against an independent route, below a stated tolerance",
    "statistical": "a stated share of random cases within a stated band",
    "illustrated": "looked at in a few cases only",
}
_registered: dict[str, "Claim"] = {}


@dataclass(frozen=True)
class Control:
    """The same measurement with an assumption dropped (`drops` names it) or, if None, the statement altered."""

    text: str
    drops: str | None
    measure: Callable


@dataclass(frozen=True)
class Claim:
    """A statement of the book, what it rests on, and how it is measured."""

    id: str
    statement: str
    source: str
    kind: str
    tolerance: float
    measure: Callable
    seeds: int = 5
    share: float = 1.0  # of the seeds that must be within the tolerance
    rests: tuple[str, ...] = ()
    assumes: tuple[str, ...] = ()
    covers: tuple[str, ...] = ()  # numbered equations outside the statement that the measurement checks as well
    controls: list[Control] = field(default_factory=list)

    @property
    def chapter(self) -> str:
        return self.measure.__module__.rpartition(".")[2]

    def control(self, text: str, drops: str | None = None):
        """Register the decorated function as a negative control."""
        if drops is not None and drops not in self.assumes:
            raise ValueError(f"{self.id}: a control drops {drops!r}, which the claim does not assume")

        def register(measure):
            self.controls.append(Control(text, drops, measure))
            return measure

        return register

    def residuals(self, measure: Callable, seeds: int) -> np.ndarray:
        """The residual for each seed: (seeds,)."""
        return np.array([float(measure(np.random.default_rng([crc32(self.id.encode()), k]))) for k in range(seeds)])

    def passes(self, residuals) -> bool:
        """Enough seeds within the tolerance; NaN is not within it."""
        return bool(np.mean(residuals <= self.tolerance) >= self.share)

    def refutes(self, residuals) -> bool:
        """Whether a control has failed, as it must: on every seed, or, for a share of seeds, beyond that share. NaN is
        no failure: nothing was measured."""
        if np.isnan(residuals).any():
            return False
        return not (residuals <= self.tolerance).any() if self.share == 1 else not self.passes(residuals)


def claim(id: str, statement: str, *, source: str, kind: str, tolerance: float, **details):
    """Register the decorated measuring function as a claim and return the claim."""
    if id in _registered:
        raise ValueError(f"two claims are called {id!r}")
    if kind not in KINDS:
        raise ValueError(f"{id}: kind is {kind!r}, but one of {', '.join(KINDS)} is needed")
    if kind == "exact" and tolerance != 0:
        raise ValueError(f"{id}: an exact claim has tolerance 0, not {tolerance}")
    unknown = set(details.get("assumes", ())) - set(ASSUMPTIONS)
    if unknown:
        raise ValueError(f"{id}: no assumption is called {min(unknown)!r}; add it to attnlib/claims/assumptions.py")

    def register(measure):
        _registered[id] = Claim(id, statement, source, kind, tolerance, measure, **details)
        return _registered[id]

    return register


def ledger() -> dict[str, Claim]:
    """All claims by id, chapter by chapter, each with at least one control."""
    for module in pkgutil.iter_modules(__path__):
        importlib.import_module(f"{__name__}.{module.name}")
    for entry in _registered.values():
        if not entry.controls:
            raise ValueError(f"{entry.id} has no negative control")
    return dict(_registered)
