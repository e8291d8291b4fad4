"""Mouse, wheel and touch on a picture, as what is meant by them."""

from PySide6.QtCore import QEvent, QObject, QPointF, Qt, Signal
from PySide6.QtGui import QMouseEvent, QNativeGestureEvent, QWheelEvent
from PySide6.QtWidgets import QApplication, QGestureEvent, QPinchGesture, QWidget
from typing_extensions import override

_PER_DEGREE = 1.0125
"""How much closer an eighth of a notch of the wheel goes, for each of its degrees."""


class Gestures(QObject):
    """Watches a widget; the signals say what a person wants.

    ``zoomed`` has a factor and the place that stays; ``moved`` by how much; ``clicked`` and
    ``opened`` the place, ``hovered`` too, and ``left`` that the pointer is gone.
    """

    zoomed = Signal(float, QPointF)
    moved = Signal(QPointF)
    clicked = Signal(QPointF)
    opened = Signal(QPointF)
    hovered = Signal(QPointF)
    left = Signal()

    def __init__(self, widget: QWidget) -> None:
        super().__init__(widget)
        self._widget = widget
        self._pressed: QPointF | None = None
        self._last = QPointF()
        self._is_moving = False
        widget.setMouseTracking(True)
        widget.grabGesture(Qt.GestureType.PinchGesture)
        widget.installEventFilter(self)

    @override
    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        kind = event.type()
        if isinstance(event, QWheelEvent):
            return self._wheel(event)
        if isinstance(event, QNativeGestureEvent):
            return self._native(event)
        if isinstance(event, QGestureEvent):
            return self._pinch(event)
        if isinstance(event, QMouseEvent):
            return self._mouse(kind, event)
        if kind == QEvent.Type.Leave:
            self.left.emit()
        return False

    def _mouse(self, kind: QEvent.Type, event: QMouseEvent) -> bool:
        buttons = Qt.MouseButton.LeftButton, Qt.MouseButton.MiddleButton
        place = event.position()
        if kind == QEvent.Type.MouseMove:
            self._on_move(place)
            return True
        if event.button() not in buttons:
            return False
        if kind == QEvent.Type.MouseButtonPress:
            self._pressed = self._last = place
            self._is_moving = False
        elif kind == QEvent.Type.MouseButtonRelease:
            is_click = self._pressed is not None and not self._is_moving
            self._pressed = None
            self._widget.unsetCursor()
            if is_click and event.button() == Qt.MouseButton.LeftButton:
                self.clicked.emit(place)
        elif kind == QEvent.Type.MouseButtonDblClick:
            if event.button() == Qt.MouseButton.LeftButton:
                self.opened.emit(place)
        else:
            return False
        # The focus that a click gives is the widget's own affair.
        return False

    def _on_move(self, place: QPointF) -> None:
        if self._pressed is None:
            self.hovered.emit(place)
            return
        way = place - self._pressed
        if not self._is_moving and way.manhattanLength() < QApplication.startDragDistance():
            return
        if not self._is_moving:
            self._is_moving = True
            self._widget.setCursor(Qt.CursorShape.ClosedHandCursor)
            self.left.emit()
        self.moved.emit(place - self._last)
        self._last = place

    def _wheel(self, event: QWheelEvent) -> bool:
        degrees = event.angleDelta().y() / 8
        if not degrees and event.angleDelta().x():
            self.moved.emit(QPointF(event.angleDelta().x() / 2, 0))
        elif degrees:
            self.zoomed.emit(_PER_DEGREE**degrees, event.position())
        event.accept()
        return True

    def _native(self, event: QNativeGestureEvent) -> bool:
        if event.gestureType() != Qt.NativeGestureType.ZoomNativeGesture:
            return False
        self.zoomed.emit(1.0 + event.value(), event.position())
        return True

    def _pinch(self, event: QGestureEvent) -> bool:
        gesture = event.gesture(Qt.GestureType.PinchGesture)
        if not isinstance(gesture, QPinchGesture):
            return False
        place = self._widget.mapFromGlobal(gesture.hotSpot())
        self.zoomed.emit(gesture.scaleFactor(), place)
        return True
