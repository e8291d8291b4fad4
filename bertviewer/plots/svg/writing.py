"""An SVG from what a painter draws."""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import groupby
from xml.sax.saxutils import escape

from bertviewer.plots.svg.piece import Attributes, Clip, Piece
from bertviewer.plots.svg.recording import Draw, Picture, Recorded, Run, Shape, record
from bertviewer.plots.svg.shapes import picture_pieces, shape_pieces
from bertviewer.plots.svg.texts import text_pieces

_SPACES = (
    'xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink" '
    'xml:space="preserve"'
)


def svg_of(draw: Draw, width: int, height: int, title: str = "", description: str = "") -> str:
    """Return what a painter draws on ``width`` × ``height`` pixels as SVG.

    It has no transforms but of texts that are turned and pictures upside down, pens as wide as
    they are, and each text as one. ``title`` and ``description`` say what it is to those who do
    not see it.
    """
    pieces = list(_joined(list(_pieces(record(draw, width, height)))))
    families = Counter(dict(piece.look).get("font-family", "") for piece in pieces)
    families.pop("", None)
    family = max(families, key=lambda name: (families[name], name), default="")
    pieces = [_without(piece, ("font-family", family)) for piece in pieces]
    type_ = f' font-family="{family}"' if family else ""
    return "\n".join(
        (
            f'<svg {_SPACES} width="{width}" height="{height}" '
            f'viewBox="0 0 {width} {height}"{type_}>',
            *_named("title", title),
            *_named("desc", description),
            *_definitions(pieces),
            *_lines(pieces),
            "</svg>",
            "",
        )
    )


def _pieces(recorded: Sequence[Recorded]) -> Iterator[Piece]:
    for kind, group in groupby(recorded, key=type):
        parts = list(group)
        if kind is Run:
            yield from text_pieces([part for part in parts if isinstance(part, Run)])
            continue
        for part in parts:
            if isinstance(part, Shape):
                yield from shape_pieces(part)
            elif isinstance(part, Picture):
                yield from picture_pieces(part)


def _joined(pieces: Sequence[Piece]) -> Iterator[Piece]:
    """Yield lines that look alike and follow one another as one path."""
    for (look, clip, is_line), group in groupby(pieces, key=_line):
        parts = list(group)
        if is_line and len(parts) > 1:
            steps = "".join(dict(part.place)["d"] for part in parts)
            yield Piece("path", (("d", steps),), look, clip)
        else:
            yield from parts


_CONTROLS = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff\ufffe\uffff]")
"""What no XML may hold: texts of strangers have it."""


def _text(text: str) -> str:
    return escape(_CONTROLS.sub("\ufffd", text))


def _line(piece: Piece) -> tuple[Attributes, Clip | None, bool]:
    """Return how a piece looks, and whether it may be one with others: a line without a fill.

    Lines that let through what is behind them are darker where they cross.
    """
    look = dict(piece.look)
    is_line = piece.tag == "path" and look.get("fill") == "none" and "stroke-opacity" not in look
    return piece.look, piece.clip, is_line


def _without(piece: Piece, shared: tuple[str, str]) -> Piece:
    if shared not in piece.look:
        return piece
    look = tuple(each for each in piece.look if each != shared)
    return Piece(piece.tag, piece.place, look, piece.clip, piece.text)


def _definitions(pieces: Sequence[Piece]) -> Iterator[str]:
    clips = dict.fromkeys(piece.clip for piece in pieces if piece.clip is not None)
    for clip in clips:
        path = f'<path d="{clip.outline}" clip-rule="evenodd"/>'
        yield f'<clipPath id="{clip.name}">{path}</clipPath>'


def _lines(pieces: Sequence[Piece]) -> Iterator[str]:
    for clip, group in groupby(pieces, key=lambda piece: piece.clip):
        if clip is not None:
            yield f'<g clip-path="url(#{clip.name})">'
        for look, alike in groupby(group, key=lambda piece: piece.look):
            parts = list(alike)
            if len(parts) == 1:
                yield _element(parts[0], look)
            else:
                yield f"<g{_written(look)}>"
                yield from (_element(part, ()) for part in parts)
                yield "</g>"
        if clip is not None:
            yield "</g>"


def _element(piece: Piece, look: Attributes) -> str:
    head = f"<{piece.tag}{_written((*piece.place, *look))}"
    return f"{head}>{_text(piece.text)}</text>" if piece.text else f"{head}/>"


def _written(attributes: Attributes) -> str:
    return "".join([f' {name}="{value}"' for name, value in attributes])


def _named(tag: str, text: str) -> Iterator[str]:
    if text:
        yield f"<{tag}>{_text(text)}</{tag}>"
