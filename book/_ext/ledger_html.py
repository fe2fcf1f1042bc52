"""The ledger as HTML: the line under a statement, the table, the matrix of assumptions, the graph."""

import inspect
from html import escape
from itertools import groupby

from attnlib.claims import KINDS
from attnlib.claims.assumptions import ASSUMPTIONS
from attnlib.claims.run import tally as sentence
from pygments import highlight
from pygments.formatters import HtmlFormatter
from pygments.lexers import PythonLexer

STEP, ROW, HEIGHT, PILL, LEFT = 75, 92, 26, 70, 6  # of the graph, in pixels


def number(x) -> str:
    if x is None:
        return "none"
    if x == 0:
        return "0"
    mantissa, exponent = f"{x:.0e}".split("e")
    return f"{float(f'{x:.2g}'):g}" if 1e-3 <= x < 1e4 else f"{mantissa}e{int(exponent)}"


def badge(record, book) -> str:
    """One line: the kind of evidence, residual and tolerance, seeds, controls."""
    mark, state = ("✓", "holds") if record["ok"] else ("✗", "fails")
    failing = sum(control["ok"] for control in record["controls"])
    controls = "its control fails as it must"
    if len(record["controls"]) != 1 or not failing:
        controls = f"{failing} of {len(record['controls'])} controls fail as they must"
    text = (
        f"{record['kind']}: residual {number(record['outcome']['residual'])}, tolerance {number(record['tolerance'])}, "
        f"{record['seeds']} {'seed' if record['seeds'] == 1 else 'seeds'}; {controls}"
    )
    return (
        f'<p class="evidence {state}"><a href="{book.evidence(record["id"])}" title="{escape(record["statement"])}">'
        f'<span class="tick" aria-hidden="true">{mark}</span> {text}</a></p>'
    )


def tally(records, claims, book) -> str:
    return f'<p class="tally"><a href="{book.address("book/ledger", "the-ledger")}">{sentence(records)}</a>.</p>'


def table(records, claims, book) -> str:
    """All claims, chapter by chapter, with boxes to choose among them (ledger.js)."""
    chapters = list(dict.fromkeys(record["chapter"] for record in records))
    kinds = [kind for kind in KINDS if any(record["kind"] == kind for record in records)]
    options = {
        "chapter": [(chapter, book.title(chapter)) for chapter in chapters],
        "kind": [(kind, kind) for kind in kinds],
        "state": [("holds", "holds"), ("fails", "fails")],
    }
    boxes = "".join(
        f'<label>{name} <select data-filter="{name}"><option value="">all</option>'
        + "".join(f'<option value="{value}">{escape(text)}</option>' for value, text in values)
        + "</select></label>"
        for name, values in options.items()
    )
    search = '<label>words <input type="search" data-filter="words" placeholder="in any column"></label>'
    rows = "".join(row(record, claims[record["id"]], book) for record in records)
    head = "".join(
        f'<th scope="col">{name}</th>'
        for name in ("statement", "what it says", "evidence", "controls, which must fail")
    )
    return (
        f'<form class="ledger-filter" role="search" aria-label="Choose claims">{boxes}{search}'
        f'<output aria-live="polite">{len(records)} shown</output></form>'
        f'<table class="ledger"><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table>'
    )


def row(record, claim, book) -> str:
    state = "holds" if record["ok"] else "fails"
    outcome = record["outcome"]
    share = f", {claim.share:.0%} of them" if claim.share < 1 else ""
    evidence = (
        f"<b>{record['kind']}</b><br>residual {number(outcome['residual'])}<br>tolerance {number(record['tolerance'])}<br>"
        f"{record['seeds']} seeds{share}<br>{record['seconds']:.1f} s"
    )
    controls = "".join(
        f"<li>{escape(control['text'])}: {number(control['residual']) if control['residual'] is not None else escape(control['error'])}</li>"
        for control in record["controls"]
    )
    rests = ", ".join(f'<a href="{book.link(label)}">{book.name(label)}</a>' for label in claim.rests)
    code = highlight("".join(map(source, [claim, *claim.controls])), PythonLexer(), HtmlFormatter(cssclass="highlight"))
    said = (
        f"{escape(record['statement'])}<br><small>{escape(record['source'])}{'; rests on ' + rests if rests else ''}</small>"
        f"<details><summary>how it is measured: <code>attnlib/claims/{claim.chapter}.py</code></summary>{code}</details>"
    )
    return (
        f'<tr id="claim-{record["id"]}" data-chapter="{record["chapter"]}" data-kind="{record["kind"]}" data-state="{state}">'
        f'<th scope="row"><a href="{book.link(record["id"])}">{book.name(record["id"])}</a><br><code>{record["id"]}</code></th>'
        f'<td>{said}</td><td class="{state}">{evidence}</td><td><ul>{controls}</ul></td></tr>'
    )


def source(measured) -> str:
    return inspect.getsource(measured.measure) + "\n\n"


def matrix(records, claims, book) -> str:
    """Chapter by chapter: what the residual becomes when an assumption is dropped."""
    tables = []
    for chapter, group in groupby(records, key=lambda record: record["chapter"]):
        rows = [record for record in group if claims[record["id"]].assumes]
        names = [name for name in ASSUMPTIONS if any(name in claims[record["id"]].assumes for record in rows)]
        if not rows:
            continue
        head = "".join(f'<th scope="col" title="{escape(ASSUMPTIONS[name])}">{escape(name)}</th>' for name in names)
        body = "".join(
            f'<tr><th scope="row"><a href="{book.evidence(record["id"])}">{book.name(record["id"])}</a></th>'
            + "".join(cell(record, claims[record["id"]], name) for name in names)
            + "</tr>"
            for record in rows
        )
        meanings = "".join(f"<dt>{escape(name)}</dt><dd>{escape(ASSUMPTIONS[name])}</dd>" for name in names)
        tables.append(
            f'<h3 class="part">{escape(book.title(chapter))}</h3><div class="scroll" tabindex="0" role="region" aria-label="Assumptions of '
            f'{escape(book.title(chapter), quote=True)}"><table class="matrix"><thead><tr><td></td>{head}</tr></thead><tbody>{body}</tbody></table></div>'
            f"<details><summary>what the assumptions say</summary><dl>{meanings}</dl></details>"
        )
    return "".join(tables)


def cell(record, claim, name) -> str:
    if name not in claim.assumes:
        return "<td></td>"
    for control in record["controls"]:
        if control["drops"] == name:
            shown = number(control["residual"]) if control["residual"] is not None else "∞"
            return f'<td class="{"holds" if control["ok"] else "fails"}" title="{escape(control["text"])}">{shown}</td>'
    return '<td title="assumed; no control shows that it is needed">assumed</td>'


def graph(records, claims, book) -> str:
    """What rests on what: one row a chapter, a line from each statement to those its proof uses, a box a link."""
    by_id = {record["id"]: record for record in records}
    edges = [(label, base) for label, claim in claims.items() for base in claim.rests]
    shown = set(claims).union(base for _, base in edges)
    rows = [list(group) for _, group in groupby([label for label in book.labels if label in shown], key=book.chapter)]
    place = {label: (LEFT + j * STEP, 30 + k * ROW) for k, row in enumerate(rows) for j, label in enumerate(row)}
    width, height = max(x for x, _ in place.values()) + PILL + LEFT, len(rows) * ROW + 10
    lines = "".join(f'<path d="{curve(place[a], place[b])}" data-from="{a}" data-to="{b}"/>' for a, b in edges)
    boxes = "".join(box(label, at, by_id.get(label), book) for label, at in place.items())
    bands = "".join(
        f'<text class="band" x="{LEFT}" y="{22 + k * ROW}">{escape(book.title(book.chapter(row[0])))}</text>'
        for k, row in enumerate(rows)
    )
    told = f"{len(place)} statements of {len(rows)} chapters, {len(edges)} lines from a statement to one its proof uses"
    return (
        f'<div class="drawing graph scroll" role="group" tabindex="0" aria-label="Dependency graph: {told}">'
        f'<svg viewBox="0 0 {width} {height}" style="width:{width}px;max-width:none">'
        f'<g class="edges">{lines}</g>{bands}{boxes}</svg></div>'
    )


def box(label, at, record, book) -> str:
    x, y = at
    state = "given" if record is None else "holds" if record["ok"] else "fails"
    name = book.name(label)
    for long, short in (
        ("Proposition", "Prop."),
        ("Theorem", "Thm"),
        ("Corollary", "Cor."),
        ("Lemma", "Lem."),
        ("Definition", "Def."),
        ("Assumption", "Ass."),
    ):
        name = name.replace(long, short)
    return (
        f'<a href="{book.link(label)}" class="{state}" data-label="{label}"><title>{escape(label)}: '
        f"{escape(record['statement'] if record else 'assumed or defined')}</title>"
        f'<rect x="{x}" y="{y}" width="{PILL}" height="{HEIGHT}" rx="6"/>'
        f'<text x="{x + PILL / 2}" y="{y + HEIGHT / 2 + 4}" text-anchor="middle">{escape(name)}</text></a>'
    )


def curve(a, b) -> str:
    """From the statement a to the statement b that it uses: up to an earlier row, or over the heads of its own."""
    (x0, y0), (x1, y1) = a, b
    x0, x1 = x0 + PILL / 2, x1 + PILL / 2
    if y0 == y1:
        lift = y0 + HEIGHT + 10 + abs(x1 - x0) / 12
        return f"M{x0},{y0 + HEIGHT} C{x0},{lift} {x1},{lift} {x1},{y1 + HEIGHT}"
    start, end = (y0, y1 + HEIGHT) if y1 < y0 else (y0 + HEIGHT, y1)
    bend = (start - end) / 2
    return f"M{x0},{start} C{x0},{start - bend} {x1},{end + bend} {x1},{end}"
