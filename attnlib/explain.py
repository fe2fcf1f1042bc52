"""What a trained model attends to in a text of the reader's own, from the stored scores z and values gamma alone.

With c_s the count of token s in the text, A_s = c_s e^{z_s} / sum_u c_u e^{z_u} and f = sum_s A_s gamma_s; words that
are not in the table are passed over, as in training. The model itself, |S| x d numbers, is not needed.
"""

import csv
import unicodedata
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np
from scipy.special import expit, softmax

from .corpus import WORD, fold

RESULTS = Path(__file__).parent.parent / "book" / "results"
COLUMNS = ("token", "q", "alpha", "delta", "z", "gamma")
BLUE, ORANGE = (195, 153, 111, 69, 27), (230, 223, 216, 214, 208)  # of the 256 terminal colours, from faint to strong
LONGEST = 2000  # words that are shown in colour


class Word(NamedTuple):
    """A word of the text, text[start:stop]; attention and gamma are None if the table does not have its token."""

    start: int
    stop: int
    token: str
    attention: float | None
    gamma: float | None


@dataclass(frozen=True)
class Explanation:
    """`text` as it is shown, its words, and the logit f, None if the table has none of them."""

    text: str
    words: tuple[Word, ...]
    f: float | None


def read_table(corpus: str) -> dict[str, tuple[float, float]]:
    """(z, gamma) of every token of the stored table of a corpus."""
    path = RESULTS / f"{corpus}_tokens.csv"
    if not path.is_file():
        raise ValueError(f"there is no table {path}: make it by `python -m attnlib replicate`")
    with path.open(encoding="utf-8", newline="") as lines:
        rows = csv.DictReader(lines)
        missing = [column for column in COLUMNS if column not in (rows.fieldnames or ())]
        if missing:
            raise ValueError(f"{path} has no column {missing[0]!r}: make it again by `python -m attnlib replicate`")
        table = {}
        for row in rows:
            try:
                table[row["token"]] = float(row["z"]), float(row["gamma"])
                if not np.isfinite(table[row["token"]]).all():
                    raise ValueError("z and gamma must be finite")
            except (TypeError, ValueError) as error:
                raise ValueError(f"{path} line {rows.line_num}: {error}") from error
    return table


def explain(text: str, table: dict[str, tuple[float, float]]) -> Explanation:
    """The attention of every word of the text, and the logit.

    >>> table = {"good": (1.0, 2.0), "bad": (1.0, -2.0), "film": (0.0, 0.0)}
    >>> found = explain("A good film", table)
    >>> [(word.token, word.attention and round(word.attention, 3)) for word in found.words], round(found.f, 3)
    ([('a', None), ('good', 0.731), ('film', 0.269)], 1.462)
    """
    folded = fold(text)
    shown = text if len(text) == len(folded) else folded  # a place in the one is the same place in the other
    spans = [(*match.span(), match.group()) for match in WORD.finditer(folded)]
    known = [k for k, (_, _, token) in enumerate(spans) if token in table]
    if not known:
        return Explanation(shown, tuple(Word(*span, None, None) for span in spans), None)
    z, gamma = np.array([table[spans[k][2]] for k in known]).T
    A = softmax(z)
    found = dict(zip(known, zip(A.tolist(), gamma.tolist())))
    words = tuple(Word(*span, *found.get(k, (None, None))) for k, span in enumerate(spans))
    return Explanation(shown, words, float(A @ gamma))


def summary(found: Explanation, top: int = 20) -> str:
    """The verdict and a table of the tokens attended to most, in plain text."""
    known = [word for word in found.words if word.attention is not None]
    size = f"{len(found.words)} words, {len(known)} known"
    if found.f is None:
        verdict = f"no verdict: {size}" if found.words else "no verdict: the text has no word"
    else:
        label = "undecided" if found.f == 0 else "positive" if found.f > 0 else "negative"
        verdict = f"f = {found.f:+.3f}: {label}, P(positive) = {expit(found.f):.3f}; {size}"
    lines = [verdict]
    if known:
        times, mass = Counter(word.token for word in known), Counter()
        for word in known:
            mass[word.token] += word.attention
        gamma = {word.token: word.gamma for word in known}
        lines += ["", f"{'token':<20} {'times':>6} {'attention':>10} {'gamma':>8}"]
        for token, share in mass.most_common(top):
            lines.append(f"{_short(token):<20} {times[token]:>6} {share:>10.4f} {gamma[token]:>+8.3f}")
        if len(mass) > top:
            lines.append(f"... and {len(mass) - top} more tokens")
    unknown = list(dict.fromkeys(word.token for word in found.words if word.attention is None))
    if unknown:
        more = f", ... and {len(unknown) - top} more" if len(unknown) > top else ""
        lines += ["", "unknown: " + ", ".join(map(_short, unknown[:top])) + more]
    return "\n".join(lines)


def _short(token):
    return token if len(token) <= 30 else token[:29] + "\u2026"


def coloured(found: Explanation) -> str:
    """The text for a terminal: blue where gamma > 0, orange where gamma < 0, the stronger the more attention; unknown
    words faint. Nothing of the text reaches the terminal but what can be printed."""
    most = max((word.attention or 0.0 for word in found.words), default=0.0)
    pieces, at = [], 0
    for word in found.words[:LONGEST]:
        before, piece = found.text[at : word.start], found.text[word.start : word.stop]
        pieces += [printable(before), _paint(printable(piece), word, most)]
        at = word.stop
    left = len(found.words) - LONGEST
    pieces.append(f" ... and {left} more words" if left > 0 else printable(found.text[at:]))
    legend = [_colour("gamma > 0", BLUE[3]), _colour("gamma < 0", ORANGE[3]), "\x1b[2munknown\x1b[0m"]
    return "".join(pieces) + "\n\n" + "  ".join(legend)


def printable(text: str) -> str:
    """`text` with line ends kept, tabs as blanks, and every other control, format or unassigned character replaced.

    >>> printable("red: \\x1b[31m\\t\\u202e")
    'red: �[31m �'
    """
    return "".join(map(_character, text.replace("\r\n", "\n").replace("\t", " ")))


def _character(x):
    unprintable = unicodedata.category(x) in ("Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp")
    return "\ufffd" if unprintable and x != "\n" else x


def _paint(piece, word, most):
    if word.attention is None:
        return f"\x1b[2m{piece}\x1b[0m"
    level = int(np.ceil(len(BLUE) * word.attention / most - 0.05)) - 1  # a twentieth of a level is left uncoloured
    return piece if level < 0 or word.gamma == 0 else _colour(piece, (BLUE if word.gamma > 0 else ORANGE)[level])


def _colour(piece, background):
    ink = 231 if background == BLUE[-1] else 16
    return f"\x1b[38;5;{ink};48;5;{background}m{piece}\x1b[0m"
