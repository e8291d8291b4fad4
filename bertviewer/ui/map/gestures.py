"""Mouse, wheel and touch gestures of a canvas, as signals."""

from PySide6.QtCore import QEvent, QObject, QPointF, Qt, Signal
from PySide6.QtGui import QMouseEvent, QNativeGestureEvent, QWheelEvent
from PySide6.QtWidgets import QApplication, QGestureEvent, QPinchGesture, QWidget
from typing_extensions import override

_ZOOM_PER_DEGREE = 1.0125


class Gestures(QObject):
    """Filters the events of a widget.

    Signals: ``zoomed`` (factor, fixed position), ``panned`` (pixels), ``clicked``, ``activated``
    (double click) and ``hovered`` (position), ``left`` (no position any more).
    """

    zoomed = Signal(float, QPointF)
    panned = Signal(QPointF)
    clicked = Signal(QPointF)
    activated = Signal(QPointF)
    hovered = Signal(QPointF)
    left = Signal()

    def __init__(self, widget: QWidget) -> None:
        super().__init__(widget)
        self._widget = widget
        self._pressed: QPointF | None = None
        self._last = QPointF()
        self._is_dragging = False
        widget.setMouseTracking(True)
        widget.grabGesture(Qt.GestureType.PinchGesture)
        widget.installEventFilter(self)

    @override
    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if isinstance(event, QWheelEvent):
            return self._handle_wheel(event)
        if isinstance(event, QNativeGestureEvent):
            if event.gestureType() != Qt.NativeGestureType.ZoomNativeGesture:
                return False
            self.zoomed.emit(1.0 + event.value(), event.position())
            return True
        if isinstance(event, QGestureEvent):
            pinch = event.gesture(Qt.GestureType.PinchGesture)
            if not isinstance(pinch, QPinchGesture):
                return False
            self.zoomed.emit(pinch.scaleFactor(), self._widget.mapFromGlobal(pinch.hotSpot()))
            return True
        if isinstance(event, QMouseEvent):
            return self._handle_mouse(event)
        if event.type() == QEvent.Type.Leave:
            self.left.emit()
        return False

    def _handle_wheel(self, event: QWheelEvent) -> bool:
        degrees = event.angleDelta().y() / 8
        if not degrees and event.angleDelta().x():
            self.panned.emit(QPointF(event.angleDelta().x() / 2, 0))
        elif degrees:
            self.zoomed.emit(_ZOOM_PER_DEGREE**degrees, event.position())
        event.accept()
        return True

    def _handle_mouse(self, event: QMouseEvent) -> bool:
        """Handle an event; only moves are consumed, so that presses still give the focus."""
        left, position = Qt.MouseButton.LeftButton, event.position()
        if event.type() == QEvent.Type.MouseMove:
            self._move(position)
            return True
        if event.button() not in (left, Qt.MouseButton.MiddleButton):
            return False
        match event.type():
            case QEvent.Type.MouseButtonPress:
                self._pressed = self._last = position
                self._is_dragging = False
            case QEvent.Type.MouseButtonRelease:
                is_click = self._pressed is not None and not self._is_dragging
                self._pressed = None
                self._widget.unsetCursor()
                if is_click and event.button() == left:
                    self.clicked.emit(position)
            case QEvent.Type.MouseButtonDblClick if event.button() == left:
                self.activated.emit(position)
        return False

    def _move(self, position: QPointF) -> None:
        if self._pressed is None:
            self.hovered.emit(position)
            return
        distance = (position - self._pressed).manhattanLength()
        if not self._is_dragging:
            if distance < QApplication.startDragDistance():
                return
            self._is_dragging = True
            self._widget.setCursor(Qt.CursorShape.ClosedHandCursor)
            self.left.emit()
        self.panned.emit(position - self._last)
        self._last = position
