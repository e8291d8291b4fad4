"""Paints what is in sight of the map."""

from collections.abc import Mapping, Sequence

from msgspec import Struct
from PySide6.QtCore import QCoreApplication, QPointF, Qt
from PySide6.QtGui import QColor, QFont, QFontMetricsF, QImage, QPainter, QPen

from bertviewer.charts.graph.drawing import MIDDLE, DrawnNode, front_rect
from bertviewer.charts.map.part_graphs import Scope
from bertviewer.charts.theme import SMALL, Theme
from bertviewer.plots.fonts import weighted, window_font
from bertviewer.ui.map.drawing_cache import Sheets
from bertviewer.ui.map.hover import as_qt
from bertviewer.ui.map.viewport import Level

_LEAST_LETTERS = 6.0
"""Letters of fewer pixels say nothing."""
_AWAY, _RING = 2.0, 2.0
_NAME, _LEAST_NAMED = 7.0, 90.0
_NAME_UNITS, _MARGIN = 100, 9.0
_GONE = 0.35
"""A node whose name has faded so far has given its place to what is in it."""

Tiles = Mapping[tuple[Scope, str], Sequence[QImage]]
"""The heads' pictures by the part and the node that an attention is."""


class Marked(Struct, frozen=True):
    """A node with a ring around it: what is selected, where the keys are, what is pointed at."""

    part: Scope
    key: str


def paint_levels(
    painter: QPainter,
    levels: Sequence[Level],
    sheets: Sheets,
    tiles: Tiles,
    head: int | None = None,
) -> None:
    """Paint parts into the boxes that they are in, the outermost first.

    Args:
        painter: what is painted with.
        levels: the parts.
        sheets: their drawings.
        tiles: what their heads look at.
        head: the selected one.
    """
    theme = sheets.theme
    for level in levels:
        sheet = sheets.sheet(level.part)
        if sheet is None or level.opacity <= 0:
            continue
        painter.save()
        painter.setOpacity(level.opacity)
        if level.box is not None:
            _paint_cover(painter, level, theme)
        painter.translate(level.camera.x, level.camera.y)
        painter.scale(level.camera.scale, level.camera.scale)
        sheet.paint(painter, least=_LEAST_LETTERS / level.camera.scale, fading=level.fading)
        _paint_tiles(painter, level, sheets, tiles, head)
        painter.restore()


def paint_names(painter: QPainter, levels: Sequence[Level], sheets: Sheets, font: QFont) -> None:
    """Paint above what is in a box what the box is called: its own words are gone."""
    metrics = QFontMetricsF(font)
    for level in levels:
        box = level.box
        if box is None or box.width < _LEAST_NAMED or box.height < _LEAST_NAMED / 2:
            continue
        text = metrics.elidedText(
            sheets.dress.name(level.part), Qt.TextElideMode.ElideMiddle, box.width - 2 * _NAME
        )
        painter.save()
        painter.setOpacity(level.opacity)
        painter.setFont(font)
        painter.setPen(QColor(sheets.theme.muted))
        painter.drawText(QPointF(box.x + _NAME, box.y + _NAME + metrics.ascent()), text)
        painter.restore()


def paint_ring(
    painter: QPainter, placed: DrawnNode, level: Level, color: str, width: float = _RING
) -> None:
    """Paint a ring around a node."""
    if level.fading.get(placed.node.id, 1.0) < _GONE:
        return
    seen = level.camera.seen(front_rect(placed))
    radius = min(_radius(placed) * level.camera.scale + _AWAY, seen.height / 2 + _AWAY)
    painter.save()
    painter.setRenderHint(QPainter.RenderHint.Antialiasing)
    painter.setOpacity(level.opacity)
    painter.setPen(QPen(QColor(color), width))
    painter.setBrush(Qt.BrushStyle.NoBrush)
    rect = as_qt(seen).adjusted(-_AWAY, -_AWAY, _AWAY, _AWAY)
    painter.drawRoundedRect(rect, radius, radius)
    painter.restore()


def _paint_cover(painter: QPainter, level: Level, theme: Theme) -> None:
    """Paint the ground of what is inside of a box, over what stands in the box."""
    box, owner = level.box, level.owner
    assert box is not None
    assert owner is not None
    scale = box.width / front_rect(owner).width
    radius = min(_radius(owner) * scale, box.height / 2)
    painter.save()
    painter.setRenderHint(QPainter.RenderHint.Antialiasing)
    painter.setPen(QPen(QColor(theme.border(owner.part)), max(scale, 1.0)))
    painter.setBrush(QColor(theme.surface))
    painter.drawRoundedRect(as_qt(box), radius, radius)
    painter.restore()


def _paint_tiles(
    painter: QPainter, level: Level, sheets: Sheets, tiles: Tiles, head: int | None
) -> None:
    """Paint what the heads look at, once a run has told it."""
    for (part, key), images in tiles.items():
        placed = sheets.placed(part, key) if part == level.part else None
        if placed is None:
            continue
        seen = level.fading.get(key, 1.0)
        if seen <= 0:
            continue
        painter.save()
        painter.setOpacity(painter.opacity() * seen)
        for tile, image in zip(placed.tiles, images, strict=False):
            if image.hasAlphaChannel():
                from bertviewer.plots.cells import draw_hatched_ground  # and with it numpy

                draw_hatched_ground(painter, as_qt(tile), sheets.theme)
            painter.drawImage(as_qt(tile), image)
        if head is not None and head < min(len(placed.tiles), len(images)):
            _paint_head(painter, placed, head, sheets.theme)
        painter.restore()


def _paint_head(painter: QPainter, placed: DrawnNode, head: int, theme: Theme) -> None:
    """Paint the ring around the selected head, and its name beside how many there are."""
    width = 2.0
    painter.setBrush(Qt.BrushStyle.NoBrush)
    for color, away, line in ((theme.surface, 0.5, 1.0), (theme.text, 1.5, width)):
        painter.setPen(QPen(QColor(color), line))
        rect = as_qt(placed.tiles[head]).adjusted(-away, -away, away, away)
        painter.drawRoundedRect(rect, 2.0, 2.0)
    if not placed.labels:
        return
    font = weighted(window_font())
    font.setPixelSize(_NAME_UNITS)
    text = QCoreApplication.translate("map", "head {0}").format(head)
    size = SMALL / _NAME_UNITS
    right = placed.rect.right - _MARGIN
    left = right - QFontMetricsF(font).horizontalAdvance(text) * size
    painter.translate(left, placed.labels[0].y + SMALL * MIDDLE)
    painter.scale(size, size)
    painter.setFont(font)
    painter.setPen(QColor(theme.accent))
    painter.drawText(QPointF(0, 0), text)


def _radius(placed: DrawnNode) -> float:
    match placed.form:
        case "pill" | "dashed pill" | "sign" | "input":
            return placed.rect.height / 2
        case _:
            return 8.0
