"""MyST Markdown as plain Markdown, which any Jupyter shows: numbers written out, macros expanded, no directives left."""

import re
from collections import deque

import names

_fence = re.compile(r"\s*(?P<mark>`{3,}|:{3,})(?:\{(?P<name>[\w:-]+)\}\s*(?P<title>.*?))?\s*$")
_option = re.compile(r"\s*:([\w-]+):\s*(.*?)\s*$")
_dollars = re.compile(r"(.*)\$\$\s*\(([\w:-]+)\)\s*$")
ADMONITIONS = ("note", "tip", "important", "warning", "admonition", "seealso", "dropdown")
SILENT = ("solution-end", "index")  # of these nothing is shown


def markdown(source: str, book: names.Book, values: dict[str, str], macros: dict) -> str:
    """One Markdown cell of a chapter. `values` are what the chapter's code has glued, `macros` those of MathJax."""
    lines, stack, waiting = [], [], deque(source.splitlines())
    while waiting:
        line = waiting.popleft()
        fence = _fence.match(line)
        if stack and fence and not fence["name"] and len(fence["mark"]) >= len(stack[-1][0]):
            _, name, label, length = stack.pop()
            if not _known(name):
                del lines[length:]
            lines += _end(name, label, book)
        elif fence and fence["name"]:
            label, title = _label(waiting), fence["title"]
            lines += _begin(fence["name"], title, label, book)
            stack.append((fence["mark"], fence["name"], label, len(lines)))
        elif match := _dollars.match(line):
            lines += [match[1], _tag(match[2], book), "$$"]
        elif not re.match(r"\([\w-]+\)=$", line):
            lines.append(line)
    text = names.roles("\n".join(lines), lambda *role: _say(book, values, *role))
    return re.sub(r"\n{3,}", "\n\n", expand(text, macros)).strip()


def expand(text: str, macros: dict) -> str:
    r"""Write out TeX macros, given as MathJax takes them.

    >>> expand(r"\norm{x\tp y}, \norm p", {"norm": [r"\lVert #1\rVert", 1], "tp": "^T"})
    '\\lVert x^T y\\rVert, \\lVert p\\rVert'
    """
    for name, meaning in macros.items():
        body, arguments = (meaning, 0) if isinstance(meaning, str) else meaning
        pattern, position = re.compile(rf"\\{name}(?![a-zA-Z])"), 0
        while match := pattern.search(text, position):
            end, written = match.end(), body
            for k in range(arguments):
                argument, end = _argument(text, end)
                written = written.replace(f"#{k + 1}", argument)
            after = " " if written[-1].isalpha() and text[end : end + 1].isalpha() else ""
            text = text[: match.start()] + written + after + text[end:]
            position = match.start()  # an argument may hold the macro again
    return text


def _argument(text, position):
    """The argument of a macro that begins here, and where it ends."""
    while text[position].isspace():
        position += 1
    if text[position] == "\\":
        end = re.compile(r"\\([a-zA-Z]+|.)").match(text, position).end()
        return text[position:end], end
    if text[position] != "{":
        return text[position], position + 1
    depth, end = 1, position
    while depth:
        end += 1
        depth += {"{": 1, "}": -1}.get(text[end], 0) if text[end - 1] != "\\" else 0
    return text[position + 1 : end], end + 1


def _label(waiting):
    """Take the options of a directive away; its label, if it has one."""
    label = None
    while waiting and (match := _option.match(waiting[0])):
        label = match[2] if match[1] == "label" else label
        waiting.popleft()
    return label


def _known(name):
    return name.startswith("prf:") or name in (*ADMONITIONS, *SILENT, "math", "exercise", "solution-start")


def _tag(label, book):
    return rf"\tag{{{book.labels[label].text[1:-1]}}}"


def _begin(name, title, label, book):
    number = book.labels[label].text if label in book.labels else name.removeprefix("prf:").title()
    bracket = f" ({title})" if title else ""
    if name == "math":
        return ["", "$$"]
    if name == "prf:proof":
        return ["", f"*Proof{bracket}.*", ""]
    if name.startswith("prf:") or name == "exercise":
        return ["", f"**{number}{bracket}.**", ""]
    if name == "solution-start":
        return ["", f"**Solution of {book.labels[title].text if title in book.labels else title}.**", ""]
    if name in ADMONITIONS:
        return ["", f"**{title or name.title()}.**", ""]
    return [""] if _known(name) else ["", "*Here the page of the book shows what a notebook cannot.*", ""]


def _end(name, label, book):
    if name == "math":
        return [_tag(label, book)] * bool(label) + ["$$", ""]
    return ["∎", ""] if name == "prf:proof" else [""]


def _say(book, values, kind, target, text, written):
    if kind.startswith("glue"):
        return values.get(target.split(":")[0], written)
    return book.role(kind, target, text) or text or target
