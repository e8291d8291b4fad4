"""Texts in one piece: Qt draws each run of one font and one direction for itself."""

from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby
from math import atan2, degrees, hypot
from unicodedata import bidirectional
from xml.sax.saxutils import escape

from PySide6.QtCore import QPointF, QRectF, Qt
from PySide6.QtGui import QFont, QFontMetricsF, QPainter, QTextLayout, QTransform

from bertviewer.charts.theme import NORMAL_WEIGHT, css_family, css_weight
from bertviewer.plots.fonts import contextual, weight_of
from bertviewer.plots.svg.piece import Attributes, Piece, number, numbers
from bertviewer.plots.svg.recording import Run, record
from bertviewer.plots.svg.shapes import clip_of, matrix_text, paint_of

_ISOLATE, _END = "\u2067", "\u2069"
"""Right-to-left isolate and pop directional isolate: signs without width."""
_NEAR = 0.1
"""Pixels that do not count."""
_UNSEEN = 1.0
"""Pixels: letters are told in whole ones."""
_LEAST_STRETCH = 1e-3
"""A part of their size by which letters may be stretched unseen."""
_POINTS_PER_PIXEL = 0.75
_LETTERS = {"R": -1, "AL": -1, "L": 1}


def text_pieces(runs: Sequence[Run]) -> Iterator[Piece]:
    """Yield texts that were drawn one after the other, each whole and at its place."""
    for _, alike in groupby(runs, key=_common):
        for group in _touching(list(alike)):
            text = _whole(group)
            if text is None:
                yield from (piece for run in group for piece in _pieces(run.text, [run]))
            else:
                yield from _pieces(text, group)


def _common(run: Run) -> tuple[object, ...]:
    """Return what all runs of a text have in common."""
    look = run.look
    return run.font.key(), look.pen.color().rgba(), look.opacity, look.transform, run.y


def _touching(runs: Sequence[Run]) -> Iterator[Sequence[Run]]:
    """Yield runs that stand side by side without a gap, and were drawn one after the other."""
    order = sorted(range(len(runs)), key=lambda place: (runs[place].x, runs[place].width))
    groups: list[list[int]] = []
    for place in order:
        before = runs[groups[-1][-1]] if groups else None
        if before is not None and abs(before.x + before.width - runs[place].x) <= _NEAR:
            groups[-1].append(place)
        else:
            groups.append([place])
    for group in sorted(sorted(group) for group in groups):
        if group[-1] - group[0] + 1 == len(group):
            yield [runs[place] for place in group]
        else:
            yield from ([runs[place]] for place in group)


def _whole(runs: Sequence[Run]) -> str | None:
    """Return the text that Qt draws as these runs, ``None`` if none is found."""
    if len(runs) == 1:
        return runs[0].text
    texts = tuple(dict.fromkeys(_candidates(runs)))
    for text in texts:
        if _is_drawn(text, runs, Qt.LayoutDirection.LeftToRight):
            return text
    # A recording of the painter's, as axes have, keeps texts that begin with what runs to the left
    # as lines that run there.
    for text in texts:
        if _is_drawn(text, runs, Qt.LayoutDirection.RightToLeft):
            return f"{_ISOLATE}{text}{_END}"
    return None


def _candidates(runs: Sequence[Run]) -> Iterator[str]:
    """Yield texts that may have these runs.

    Qt draws stretches of one direction from the left to the right, and the runs of a stretch as
    they are read. So they are as they are read where all run to the right, or all to the left.
    """
    yield "".join(run.text for run in runs)
    stretches: list[list[Run]] = []
    for run in runs:
        if stretches and run.x < stretches[-1][-1].x:
            stretches[-1].append(run)
        else:
            stretches.append([run])
    # As a whole, and between words that run to the right.
    yield _text(reversed(stretches))
    parts: list[list[list[Run]]] = [[]]
    for stretch in stretches:
        if _direction(_text([stretch])) > 0:
            parts += [[stretch], []]
        else:
            parts[-1].append(stretch)
    yield "".join(_text(_turned(part)) for part in parts)


def _turned(stretches: list[list[Run]]) -> list[list[Run]]:
    """Return stretches as they are read: from the last that runs to the left to the first.

    Numbers among them run to the right, and stand in their order.
    """
    turned = [
        place
        for place, runs in enumerate(stretches)
        if any(run.is_leftward for run in runs) or _text([runs]).isdigit()
    ]
    if not turned:
        return stretches
    first, last = turned[0], turned[-1] + 1
    return [*stretches[:first], *reversed(stretches[first:last]), *stretches[last:]]


def _text(stretches: Iterable[list[Run]]) -> str:
    return "".join(run.text for stretch in stretches for run in stretch)


def _direction(text: str) -> int:
    """Return where the first letter with a direction runs to: 1, -1 to the left, 0 for none."""
    return next(filter(None, (_LETTERS.get(bidirectional(letter), 0) for letter in text)), 0)


def _is_drawn(text: str, runs: Sequence[Run], direction: Qt.LayoutDirection) -> bool:
    """Tell whether Qt draws these runs for a text in a line of that direction."""
    drawn = _drawn(text, runs[0].font, direction)
    start, left = min(x for _, x in drawn), min(run.x for run in runs)
    return [each for each, _ in drawn] == [run.text for run in runs] and all(
        abs(x - start - (run.x - left)) <= _NEAR for (_, x), run in zip(drawn, runs, strict=True)
    )


def _drawn(text: str, font: QFont, direction: Qt.LayoutDirection) -> list[tuple[str, float]]:
    """Return the runs that Qt draws of a text, each with its left end."""

    def draw(painter: QPainter) -> None:
        painter.setLayoutDirection(direction)
        painter.setFont(font)
        painter.drawText(QPointF(0, 0), text)

    return [(run.text, run.x) for run in record(draw, 1, 1) if isinstance(run, Run)]


def _pieces(text: str, runs: Sequence[Run]) -> Iterator[Piece]:
    """Yield what is to be written of a text; nothing where nothing of it is seen."""
    first, look = runs[0], runs[0].look
    left, right = min(run.x for run in runs), max(run.x + run.width for run in runs)
    ascent, descent = max(run.ascent for run in runs), max(run.descent for run in runs)
    box = look.transform.mapRect(QRectF(left, first.y - ascent, right - left, ascent + descent))
    shown = text.strip(" ")
    if not shown or not (look.clip is None or look.clip.intersects(box)):
        return
    if _direction(text) >= 0:
        spaces = text[: len(text) - len(text.lstrip(" "))]
        left += QFontMetricsF(first.font).horizontalAdvance(spaces)
    steps = _steps(shown, first.font) if len(runs) == 1 else [0.0]
    place, size = _placed(QPointF(left, first.y), steps, look.transform, _size(first.font))
    weight = css_weight(weight_of(first.font))
    dress = (
        *paint_of("fill", look.pen.color(), look.opacity),
        ("font-family", escape(css_family(first.font.families()), {'"': "&quot;"})),
        ("font-size", number(size)),
        *((("font-weight", str(weight)),) if weight != NORMAL_WEIGHT else ()),
    )
    clip = None
    if look.clip is not None and not look.clip.contains(box):
        # The room for lines is larger than the letters.
        letters = QFontMetricsF(first.font).tightBoundingRect(text)
        inner = look.transform.mapRect(letters.translated(left, first.y))
        inner.adjust(_UNSEEN, _UNSEEN, -_UNSEEN, -_UNSEEN)
        clip = None if look.clip.contains(inner) else clip_of(look.clip)
    yield Piece("text", place, dress, clip, shown)


def _size(font: QFont) -> float:
    """Return a font's size in pixels."""
    return font.pixelSize() if font.pixelSize() > 0 else font.pointSizeF() / _POINTS_PER_PIXEL


def _steps(text: str, font: QFont) -> list[float]:
    """Return how far from its beginning each letter is to stand, or that of the first alone.

    Programs that do not know how to do without contextual forms would show -> as an arrow; they
    set letters apart that have a place of their own.
    """
    layouts = [_layout(text, each) for each in (font, contextual(font))]
    plain, other = ([run.glyphIndexes() for run in each.glyphRuns()] for each in layouts)
    if plain == other or not text.isascii():
        return [0.0]
    line = layouts[0].lineAt(0)
    return [line.cursorToX(place)[0] for place in range(len(text))]  # type: ignore[index]


def _layout(text: str, font: QFont) -> QTextLayout:
    layout = QTextLayout(text, font)
    layout.beginLayout()
    layout.createLine()
    layout.endLayout()
    return layout


def _placed(
    start: QPointF, steps: Sequence[float], transform: QTransform, size: float
) -> tuple[Attributes, float]:
    """Return where a text's letters begin, turned or not, and their size there."""
    scale = abs(transform.determinant()) ** 0.5
    stretch = hypot(transform.m11() - transform.m22(), transform.m12() + transform.m21())
    if stretch > _LEAST_STRETCH * scale:
        return (*_at(start, steps), ("transform", matrix_text(transform))), size
    begin = transform.map(start)
    place = _at(begin, [step * scale for step in steps])
    angle = number(degrees(atan2(transform.m12(), transform.m11())))
    if angle != "0":
        turned = f"rotate({angle} {numbers(begin.x(), begin.y())})"
        place = (*place, ("transform", turned))
    return place, size * scale


def _at(point: QPointF, steps: Sequence[float]) -> Attributes:
    return ("x", numbers(*(point.x() + step for step in steps))), ("y", number(point.y()))
