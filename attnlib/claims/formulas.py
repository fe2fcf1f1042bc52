"""Formulas as objects: what the book typesets is rendered from them, and what the library computes is compared to them.

A label of the book stands for one or more equations `name = right`, where `name` is the LaTeX of the quantity and `right`
a sympy expression, whose letters are those of the text.
"""

from typing import NamedTuple

import numpy as np
import sympy as sp
from sympy.printing.latex import LatexPrinter

A, C, E, E0, a, f, g, gamma, omega, T, y, alpha, tilde, q = (
    sp.IndexedBase(name)
    for name in (*"ACE", "E^0", *"afg", r"\gamma", r"\omega", "T", "y", r"\alpha", r"\tilde\alpha", "q")
)
i, s, t, u, m, n, r = sp.symbols("i s t u m n r_i", integer=True, nonnegative=True)
h, p, v, eta = sp.symbols(r"h p v \eta")


class norm(sp.Function):
    """The Euclidean norm of a vector."""


def times(*factors):
    """A product kept in the order in which it is written."""
    return sp.Mul(*factors, evaluate=False)


def plus(*terms):
    return sp.Add(*terms, evaluate=False)


def minus(x, y):
    return plus(x, times(-1, y))


def over(x, y):
    return times(x, sp.Pow(y, -1, evaluate=False))


def mean(term):
    """(1/n) sum_i."""
    return times(over(1, n), sp.Sum(term, (i, 0, n - 1)))


class Equation(NamedTuple):
    name: str
    right: sp.Expr


FORMULAS = {
    "eq-a-omega": (
        Equation("a_s", mean(times(g[i], y[i], A[i, s]))),
        Equation(r"\omega_s", mean(times(g[i], y[i], A[i, s], minus(gamma[s], f[i])))),
    ),
    "eq-gradients": (
        Equation(r"-\nabla_{E_s} \loss", plus(times(a[s], v), times(omega[s], p))),
        Equation(r"-\nabla_p \loss", sp.Sum(times(omega[s], E[s]), (s, 0, m - 1))),
        Equation(r"-\nabla_v \loss", sp.Sum(times(a[s], E[s]), (s, 0, m - 1))),
    ),
    "eq-pairwise": (
        Equation(r"G_i", sp.Sum(times(A[i, s], minus(gamma[s], f[i]), E[s]), (s, 0, m - 1))),
        Equation(
            r"G_i",
            sp.Sum(
                times(A[i, s], A[i, t], minus(gamma[s], gamma[t]), minus(E[s], E[t])), (t, s + 1, m - 1), (s, 0, m - 1)
            ),
        ),
        Equation(r"G_i", sp.Sum(times(A[i, u], minus(f[i], gamma[u]), minus(E[r], E[u])), (u, 0, m - 1))),
    ),
    "eq-statistics": (
        Equation("q_s", mean(over(C[i, s], T[i]))),
        Equation(r"\alpha_s", mean(times(y[i], over(C[i, s], T[i])))),
        Equation(r"\Delta_s", over(alpha[s], q[s])),
    ),
    "eq-exact-step": (
        Equation("E^1_s", plus(E0[s], times(over(eta, 2), tilde[s], v))),
        Equation(r"\tilde\alpha_s", mean(times(y[i], A[i, s]))),
    ),
    "eq-nearest": (
        Equation(r"\hat p", over(h, norm(h) ** 2)),
        Equation(r"\mu", norm(h)),
        Equation(r"\hat u", over(h, norm(h))),
    ),
}


class Printer(LatexPrinter):
    """LaTeX in the book's hand: factors as written, indices side by side, sums without their ends."""

    def _print_Indexed(self, x):
        base, indices = self._print(x.base), "".join(map(self._print, x.indices))
        return f"{base}_{indices}" if len(indices) == 1 else f"{base}_{{{indices}}}"

    def _print_IndexedBase(self, x):
        return str(x)

    def _print_Sum(self, x):
        (inner, low, _), *outer = x.limits
        below = inner if low == 0 else f"{{{low - 1} < {inner}}}"
        return rf"\sum_{below} {self._print(x.function)}"

    def _print_Mul(self, x):
        numerator, denominator = sp.fraction(x) if len(x.args) == 2 else (x, 1)
        if denominator != 1:
            return rf"\frac{{{self._print(numerator)}}}{{{self._print(denominator)}}}"
        return r"\, ".join(
            rf"\left({self._print(factor)}\right)" if factor.is_Add else self._print(factor) for factor in x.args
        )

    def _print_Add(self, x):
        first, *rest = x.args
        signed = [
            f" - {self._print(k.args[1])}" if k.args and k.args[0] == -1 else f" + {self._print(k)}" for k in rest
        ]
        return self._print(first) + "".join(signed)

    def _print_norm(self, x, exp=None):
        inside = rf"\norm{{{self._print(x.args[0])}}}"
        return inside if exp is None else f"{inside}^{exp}"


def latex(label: str) -> str:
    """The equations of a label, aligned, as the book typesets them."""
    lines, last = [], None
    for name, right in FORMULAS[label]:
        lines.append(f"{'' if name == last else name} &= {Printer().doprint(right)}")
        last = name
    return "\\begin{aligned}\n" + " \\\\\n".join(lines) + "\n\\end{aligned}"


def value(label: str, equation: int, **letters):
    """The right side of an equation of a label, for arrays, sizes and indices named by the letters of this file.

    >>> C, T, y = np.array([[1, 1], [2, 0]]), np.array([2, 2]), np.array([1, 1])
    >>> print(value("eq-statistics", 1, C=C, T=T, y=y, n=2, s=0))
    0.75
    """
    symbols = [globals()[letter] for letter in letters]
    compiled = sp.lambdify(symbols, FORMULAS[label][equation].right, modules=[{"norm": np.linalg.norm}, "numpy"])
    return compiled(*letters.values())
