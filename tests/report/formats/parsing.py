"""Parsers for the HTML, Markdown and LaTeX that the formats write."""

import re
from html.parser import HTMLParser

from msgspec import Struct, field

VOID = {"meta", "br", "wbr", "col", "img", "link", "hr", "input", "base"}


class Node(Struct):
    """An HTML element; its children are elements and texts."""

    name: str
    attributes: dict[str, str]
    children: list["Node | str"] = field(default_factory=list)

    @property
    def text(self) -> str:
        return "".join(child if isinstance(child, str) else child.text for child in self.children)

    def all(self, name: str) -> list["Node"]:
        inner = [child for child in self.children if isinstance(child, Node)]
        found = [child for child in inner if child.name == name]
        return found + [one for child in inner for one in child.all(name)]

    def one(self, name: str) -> "Node":
        (found,) = self.all(name)
        return found

    @property
    def everything(self) -> list["Node"]:
        inner = [child for child in self.children if isinstance(child, Node)]
        return [self, *(one for child in inner for one in child.everything)]


class _Reader(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.root = Node("", {})
        self.open = [self.root]

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        names = [name for name, _ in attrs]
        assert len(names) == len(set(names)), names
        node = Node(tag, {name: value or "" for name, value in attrs})
        self.open[-1].children.append(node)
        if tag not in VOID:
            self.open.append(node)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.handle_starttag(tag, attrs)
        self.handle_endtag(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop().name == tag

    def handle_data(self, data: str) -> None:
        self.open[-1].children.append(data)

    def handle_comment(self, data: str) -> None:
        raise AssertionError(f"a comment: {data}")

    def unknown_decl(self, data: str) -> None:
        raise AssertionError(f"a declaration: {data}")


def read_html(page: str) -> Node:
    """Return the ``html`` element of a page; elements must be closed in order."""
    reader = _Reader()
    reader.feed(page)
    reader.close()
    assert reader.open == [reader.root]
    return reader.root.one("html")


def read_markdown(text: str) -> str:
    """Return Markdown as plain text; it must not contain markup."""
    bare = re.sub(r"\\[!-/:-@\[-`{-~]", "", text)
    assert not re.search(r"[`*_\[\]<>|$&~#]", bare), text
    return re.sub(r"\\([!-/:-@\[-`{-~])", r"\1", text)


_COMMANDS = {
    "textbackslash": "\\",
    "textasciicircum": "^",
    "textasciitilde": "~",
    "textless": "<",
    "textgreater": ">",
    "textquotedbl": '"',
    "textquotesingle": "'",
    "textasciigrave": "`",
    "brk": "",
}
_LATEX = re.compile(
    r"\\(?P<sign>[{}$&#%_ ])"
    r"|\\(?P<name>[a-z]+)\{\}"
    r"|\\(?P<around>uni|fromright|code|textbf|muted)(?=\{)"
    r"|(?P<plain>[^\\{}$&#%_^~]+)"
    r"|(?P<open>\{)|(?P<close>\})"
)


def read_latex(text: str) -> str:
    """Return LaTeX as plain text; it must not contain other commands or special characters."""
    read, place, depth = "", 0, 0
    while place < len(text):
        found = _LATEX.match(text, place)
        assert found, text[place : place + 20]
        place = found.end()
        if found["sign"]:
            read += found["sign"]
        elif found["name"]:
            read += _COMMANDS[found["name"]]
        elif found["plain"]:
            read += found["plain"]
        depth += (found["open"] is not None) - (found["close"] is not None)
        assert depth >= 0
    assert depth == 0
    return read
