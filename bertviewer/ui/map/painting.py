"""Painting of the map: nested drawings, images of heads, names of parts, and rings."""

from collections.abc import Mapping, Sequence

from PySide6.QtCore import QCoreApplication, QPointF, Qt
from PySide6.QtGui import QColor, QFont, QFontMetricsF, QImage, QPainter, QPen

from bertviewer.charts.graph.drawing import MIDDLE, DrawnNode, front_rect
from bertviewer.charts.map.part_graphs import Scope
from bertviewer.charts.theme import SMALL, Theme
from bertviewer.plots.fonts import weighted, window_font
from bertviewer.ui.map.drawing_cache import DrawingCache
from bertviewer.ui.map.hover import as_qt
from bertviewer.ui.map.viewport import Level

_MIN_FONT = 6.0
"""Pixels below which text is not painted."""
_RING_DISTANCE = 2.0
_NAME_PADDING, _MIN_NAMED_WIDTH = 7.0, 90.0
_FONT_UNITS, _HEAD_MARGIN = 100, 9.0
_MIN_RING_OPACITY = 0.35
"""A node whose text has faded below this opacity has no ring: its inside has replaced it."""

HeadImages = Mapping[tuple[Scope, str], Sequence[QImage]]
"""The images of heads, by the part and the id of an attention node."""


def paint_levels(
    painter: QPainter,
    levels: Sequence[Level],
    cache: DrawingCache,
    images: HeadImages,
    head: int | None = None,
) -> None:
    """Paint nested parts.

    Args:
        painter: in coordinates of the window.
        levels: the parts, the outermost one first.
        cache: their drawings.
        images: of attention heads.
        head: the selected head.
    """
    for level in levels:
        drawing = cache.painting(level.scope)
        if drawing is None or level.opacity <= 0:
            continue
        painter.save()
        painter.setOpacity(level.opacity)
        if level.box is not None:
            _paint_background(painter, level, cache.theme)
        painter.translate(level.camera.x, level.camera.y)
        painter.scale(level.camera.scale, level.camera.scale)
        drawing.paint(painter, least=_MIN_FONT / level.camera.scale, fading=level.fading)
        _paint_heads(painter, level, cache, images, head)
        painter.restore()


def paint_names(
    painter: QPainter, levels: Sequence[Level], cache: DrawingCache, font: QFont
) -> None:
    """Paint the names of nested parts at the upper left of their nodes, whose text has faded."""
    metrics, padding = QFontMetricsF(font), _NAME_PADDING
    for level in levels:
        box = level.box
        if box is None or box.width < _MIN_NAMED_WIDTH or box.height < _MIN_NAMED_WIDTH / 2:
            continue
        name, width = cache.style.name(level.scope), box.width - 2 * padding
        painter.save()
        painter.setOpacity(level.opacity)
        painter.setFont(font)
        painter.setPen(QColor(cache.theme.muted))
        text = metrics.elidedText(name, Qt.TextElideMode.ElideMiddle, width)
        painter.drawText(QPointF(box.x + padding, box.y + padding + metrics.ascent()), text)
        painter.restore()


def paint_ring(painter: QPainter, node: DrawnNode, level: Level, color: str, width: float) -> None:
    """Paint a ring around a node; it does not fade with the node's text."""
    if level.fading.get(node.node.id, 1.0) < _MIN_RING_OPACITY:
        return
    seen, distance = level.camera.seen(front_rect(node)), _RING_DISTANCE
    radius = min(_radius(node) * level.camera.scale, seen.height / 2) + distance
    painter.save()
    painter.setRenderHint(QPainter.RenderHint.Antialiasing)
    painter.setOpacity(level.opacity)
    painter.setPen(QPen(QColor(color), width))
    painter.setBrush(Qt.BrushStyle.NoBrush)
    rect = as_qt(seen).adjusted(-distance, -distance, distance, distance)
    painter.drawRoundedRect(rect, radius, radius)
    painter.restore()


def _paint_background(painter: QPainter, level: Level, theme: Theme) -> None:
    """Paint the background of a nested part over its node."""
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


def _paint_heads(
    painter: QPainter, level: Level, cache: DrawingCache, images: HeadImages, head: int | None
) -> None:
    """Paint the attention of the last run into the tiles of heads."""
    for (scope, key), head_images in images.items():
        node = cache.placed(scope, key) if scope == level.scope else None
        opacity = level.fading.get(key, 1.0)
        if node is None or opacity <= 0:
            continue
        painter.save()
        painter.setOpacity(painter.opacity() * opacity)
        for tile, image in zip(node.tiles, head_images, strict=False):
            if image.hasAlphaChannel():
                from bertviewer.plots.cells import draw_hatched_ground  # imports numpy

                draw_hatched_ground(painter, as_qt(tile), cache.theme)
            painter.drawImage(as_qt(tile), image)
        if head is not None and head < min(len(node.tiles), len(head_images)):
            _paint_selected_head(painter, node, head, cache.theme)
        painter.restore()


def _paint_selected_head(painter: QPainter, node: DrawnNode, head: int, theme: Theme) -> None:
    """Paint a ring around a head's tile, and its name at the right of the node's title."""
    painter.setBrush(Qt.BrushStyle.NoBrush)
    for color, distance, width in ((theme.surface, 0.5, 1.0), (theme.text, 1.5, 2.0)):
        painter.setPen(QPen(QColor(color), width))
        rect = as_qt(node.tiles[head]).adjusted(-distance, -distance, distance, distance)
        painter.drawRoundedRect(rect, 2.0, 2.0)
    if not node.labels:
        return
    font = weighted(window_font())
    font.setPixelSize(_FONT_UNITS)
    text = QCoreApplication.translate("map", "head {0}").format(head)
    scale = SMALL / _FONT_UNITS
    width = QFontMetricsF(font).horizontalAdvance(text) * scale
    left = node.rect.right - _HEAD_MARGIN - width
    painter.translate(left, node.labels[0].y + SMALL * MIDDLE)
    painter.scale(scale, scale)
    painter.setFont(font)
    painter.setPen(QColor(theme.accent))
    painter.drawText(QPointF(0, 0), text)


def _radius(node: DrawnNode) -> float:
    is_round = node.form in ("pill", "dashed pill", "sign", "input")
    return node.rect.height / 2 if is_round else 8.0
