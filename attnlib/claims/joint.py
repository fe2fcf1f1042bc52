"""Chapter "Training v and p together"."""

import numpy as np

from ..joint import Joint, label_margin_dominates, ratio_direction, slack_margins
from ..margin import angle, max_margin
from . import claim

CHOSEN = [1, 3, 5]


def figure3(rng, third):
    """Paper B's Figure 3, the third document with another token: all three support the label margin if its second
    coordinate is 1."""
    X = [[[0, 0], [1, 1]], [[0, 0], [1, -1]], [[0, 0], [rng.uniform(0.3, 0.7), third]]]
    return Joint(np.array(X, float), [1, -1, 1])


@claim(
    "thm-joint-head",
    "If the label margin falls when attention leaves the chosen tokens, the joint path saturates and v is max-margin.",
    source="paper B Theorem 5 for v, with a bound here",
    rests=("ass-label-margin", "thm-nearest"),
    assumes=("label-margin",),
    kind="numeric",
    tolerance=0.02,
    seeds=4,
)
def joint_head(rng):
    return head_error(figure3(rng, 1.0))


@joint_head.control("the other tokens give a larger label margin", drops="label-margin")
def _(rng):
    X = figure3(rng, 1.0).X
    return head_error(Joint(np.stack([2 * X[:, 1], X[:, 1]], axis=1), [1, -1, 1]))


def head_error(joint, r=150.0, R=150.0):
    """The angle of v to the label SVM's, or the attention off the selected tokens in units of its bound, if larger."""
    v, p = joint.path(r, R, *(x[-1] for x in joint.descend([0.1, 1.0], [0.5, 0.1], 200, 0.1)))
    A = np.exp(joint.at(v).tail(p).log_A)[CHOSEN]
    nu = label_margin_dominates(joint, CHOSEN, samples=50)
    nu = nu if nu > 0 else 0.1  # for the control, where there is none
    return max(angle(v, slack_margins(joint, CHOSEN)[0]), (1 - A).max() > 1.01 * np.log(6) / (nu * r))


@claim(
    "thm-joint-ratio",
    "With r/R -> c the p of the joint path goes to the maximiser of min(a.u + c delta): relaxed only for large c.",
    source="proved here; paper B Theorem 6 is c = infinity",
    rests=("thm-joint-head",),
    assumes=("ratio",),
    kind="numeric",
    tolerance=0.01,
    seeds=4,
)
def joint_ratio(rng):
    return ratio_error(rng, c=0.5, predicted=0.5)


@joint_ratio.control("the relaxed direction, whatever the ratio", drops="ratio")
def _(rng):
    return ratio_error(rng, c=0.5, predicted=np.inf)


@joint_ratio.control("the unrelaxed direction, whatever the ratio", drops="ratio")
def _(rng):
    return ratio_error(rng, c=0.5, predicted=0.0)


def ratio_error(rng, c, predicted, R=300.0):
    joint = figure3(rng, rng.uniform(1.3, 1.5))
    _, p = joint.path(c * R, R, np.array([0.0, 1.0]), np.array([1.0, 0.1]))
    return angle(p, ratio_direction(joint, CHOSEN, predicted))


@claim(
    "cor-joint",
    "Where every document supports the label margin, p goes to the max-margin direction however r and R grow.",
    source="paper B Theorem 5",
    rests=("thm-joint-head", "thm-joint-ratio", "thm-path-global"),
    assumes=("label-margin",),
    kind="numeric",
    tolerance=0.01,
    seeds=3,
)
def corollary(rng):
    return max(distance(figure3(rng, 1.0), r) for r in (30.0, 300.0))


@corollary.control("one document does not support the label margin", drops="label-margin")
def _(rng):
    return distance(figure3(rng, 1.5), 600.0)


def distance(joint, r, R=300.0):
    _, p = joint.path(r, R, np.array([0.0, 1.0]), np.array([1.0, 0.1]))
    return angle(p, max_margin(joint.base, CHOSEN).p)
