"""A painter's device that keeps what is painted: shapes, pictures and texts, each as it looks.

Qt's own generator of SVGs writes pens of a fixed width as what few programs know, six digits of
each number, and after a clip within a clip the wrong one.
"""

from collections.abc import Callable, Iterable
from typing import Any

from msgspec import Struct
from PySide6.QtCore import QPointF, QRect, QRectF, Qt
from PySide6.QtGui import (
    QBrush,
    QFont,
    QImage,
    QPaintDevice,
    QPaintEngine,
    QPaintEngineState,
    QPainter,
    QPainterPath,
    QPen,
    QPixmap,
    QPolygonF,
    QTextItem,
    QTransform,
)

_DOTS_PER_INCH = 96
_MILLIMETRES_PER_INCH = 25.4
_Flag = QPaintEngine.DirtyFlag
# As numbers: Python's flags take ten times as long, and a picture has thousands of colours.
_PEN, _BRUSH, _OPACITY, _TRANSFORM = (
    each.value
    for each in (_Flag.DirtyPen, _Flag.DirtyBrush, _Flag.DirtyOpacity, _Flag.DirtyTransform)
)
_CLIP_PATH, _CLIP_REGION, _CLIP_ENABLED = (
    each.value for each in (_Flag.DirtyClipPath, _Flag.DirtyClipRegion, _Flag.DirtyClipEnabled)
)
_Metric = QPaintDevice.PaintDeviceMetric
_Mode = QPaintEngine.PolygonDrawMode

Draw = Callable[[QPainter], None]


class Look(Struct, frozen=True, eq=False):
    """How a painter was set when it drew something; ``clip`` is in the device's coordinates."""

    pen: QPen
    brush: QBrush
    opacity: float
    transform: QTransform
    clip: QPainterPath | None


class Shape(Struct, frozen=True, eq=False):
    """An outline, before it is transformed; a rectangle or an ellipse is told by its bounds."""

    look: Look
    path: QPainterPath
    kind: str = "path"


class Picture(Struct, frozen=True, eq=False):
    """A picture that fills a rectangle."""

    look: Look
    rect: QRectF
    image: QImage


class Run(Struct, frozen=True, eq=False):
    """A part of a text, in one font and one direction, from where its baseline begins."""

    look: Look
    text: str
    font: QFont
    x: float
    y: float
    width: float
    ascent: float
    descent: float
    is_leftward: bool


Recorded = Shape | Picture | Run


def record(draw: Draw, width: int, height: int) -> list[Recorded]:
    """Return all that is drawn, in its order."""
    device = _Device(width, height)
    painter = QPainter(device)
    # As on a widget: the first letter of a text does not turn its line.
    painter.setLayoutDirection(Qt.LayoutDirection.LeftToRight)
    try:
        draw(painter)
    finally:
        painter.end()
    return device.engine.kept


class _Engine(QPaintEngine):
    """Keeps what is painted. What this does not take, Qt makes paths of."""

    def __init__(self) -> None:
        super().__init__(QPaintEngine.PaintEngineFeature.AllFeatures)
        self.kept: list[Recorded] = []
        self._look = Look(QPen(), QBrush(), 1.0, QTransform(), None)

    def begin(self, device: QPaintDevice) -> bool:
        """Begin; Qt calls it."""
        self.setActive(True)
        return True

    def end(self) -> bool:
        """End; Qt calls it."""
        self.setActive(False)
        return True

    def type(self) -> QPaintEngine.Type:
        """Say what it is for; plots draw for paper on it."""
        return QPaintEngine.Type.SVG

    def updateState(self, state: QPaintEngineState) -> None:
        """Take the painter's settings; Qt calls it before it draws."""
        flags, before = int(state.state().value), self._look
        self._look = Look(
            QPen(state.pen()) if flags & _PEN else before.pen,
            QBrush(state.brush()) if flags & _BRUSH else before.brush,
            state.opacity() if flags & _OPACITY else before.opacity,
            QTransform(state.transform()) if flags & _TRANSFORM else before.transform,
            self._clip(state, flags),
        )

    def _clip(self, state: QPaintEngineState, flags: int) -> QPainterPath | None:
        if flags & _CLIP_PATH:
            area = QPainterPath(state.clipPath())
        elif flags & _CLIP_REGION:
            area = QPainterPath()
            area.addRegion(state.clipRegion())
        elif flags & _CLIP_ENABLED and not state.isClipEnabled():
            return None
        else:
            return self._look.clip
        if state.clipOperation() == Qt.ClipOperation.NoClip:
            return None
        area = state.transform().map(area)
        before = self._look.clip
        if state.clipOperation() == Qt.ClipOperation.IntersectClip and before is not None:
            return before.intersected(area)
        return area

    def drawPath(self, path: QPainterPath) -> None:
        """Keep an outline."""
        self.kept.append(Shape(self._look, QPainterPath(path)))

    def drawPolygon(self, points: Iterable[Any], mode: QPaintEngine.PolygonDrawMode) -> None:
        """Keep lines from point to point."""
        path = QPainterPath()
        path.addPolygon(QPolygonF([QPointF(point) for point in points]))
        if mode == _Mode.PolylineMode:
            self._keep_line(path)
            return
        path.closeSubpath()
        self.drawPath(path)

    def drawLines(self, lines: Iterable[Any]) -> None:
        """Keep lines."""
        for line in lines:
            path = QPainterPath(QPointF(line.p1()))
            path.lineTo(QPointF(line.p2()))
            self._keep_line(path)

    def _keep_line(self, path: QPainterPath) -> None:
        self.kept.append(Shape(self._look, path, "line"))

    def drawRects(self, rects: Iterable[Any]) -> None:
        """Keep rectangles."""
        for rect in rects:
            path = QPainterPath()
            path.addRect(QRectF(rect))
            self.kept.append(Shape(self._look, path, "rect"))

    def drawEllipse(self, rect: QRectF | QRect) -> None:
        """Keep an ellipse."""
        path = QPainterPath()
        path.addEllipse(QRectF(rect))
        self.kept.append(Shape(self._look, path, "ellipse"))

    def drawImage(
        self,
        rect: QRectF | QRect,
        image: QImage,
        part: QRectF | QRect,
        /,
        flags: Qt.ImageConversionFlag = Qt.ImageConversionFlag.AutoColor,
    ) -> None:
        """Keep a part of a picture."""
        kept = image.copy(QRectF(part).toAlignedRect())
        self.kept.append(Picture(self._look, QRectF(rect), kept))

    def drawPixmap(
        self, rect: QRectF | QRect, pixmap: QPixmap | QImage, part: QRectF | QRect
    ) -> None:
        """Keep a part of a picture."""
        self.drawImage(rect, QPixmap(pixmap).toImage(), part)

    def drawTextItem(self, place: Any, item: QTextItem) -> None:
        """Keep a part of a text: Qt may take back the item."""
        sizes = item.width(), item.ascent(), item.descent()
        is_leftward = bool(item.renderFlags() & QTextItem.RenderFlag.RightToLeft)
        text, font = item.text(), QFont(item.font())
        self.kept.append(Run(self._look, text, font, place.x(), place.y(), *sizes, is_leftward))


class _Device(QPaintDevice):
    """What a painter draws on to be recorded."""

    def __init__(self, width: int, height: int) -> None:
        super().__init__()
        self._width, self._height = width, height
        self.engine = _Engine()

    def paintEngine(self) -> QPaintEngine:
        """Return what keeps it; Qt calls it."""
        return self.engine

    def metric(self, metric: QPaintDevice.PaintDeviceMetric) -> int:
        """Return a size; Qt calls it."""
        dots, pixels = (
            _DOTS_PER_INCH,
            {_Metric.PdmWidth: self._width, _Metric.PdmHeight: self._height},
        )
        known = {
            **pixels,
            _Metric.PdmWidthMM: round(self._width * _MILLIMETRES_PER_INCH / dots),
            _Metric.PdmHeightMM: round(self._height * _MILLIMETRES_PER_INCH / dots),
            _Metric.PdmDpiX: dots,
            _Metric.PdmDpiY: dots,
            _Metric.PdmPhysicalDpiX: dots,
            _Metric.PdmPhysicalDpiY: dots,
            _Metric.PdmDepth: 32,
            _Metric.PdmNumColors: 2**31 - 1,
            _Metric.PdmDevicePixelRatio: 1,
        }
        return known[metric] if metric in known else super().metric(metric)
