"""Keyboard focus in a window of panes: the order of Tab, and the focus of panes that are hidden.

Nothing here calls ``nextInFocusChain`` or ``focusProxy``: PySide takes the widget that they return
for a child of the one they are called on. Once the chain has come round, the window itself is such
a child, and is invalidated with it.
"""

from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise

from PySide6.QtCore import QObject, Qt, QTimer
from PySide6.QtWidgets import QApplication, QTabBar, QTabWidget, QWidget
from shiboken6 import isValid


class TabOrder(QObject):
    """Keeps the order of Tab by region while widgets are added to a window.

    Qt appends a widget that is created later to the end of the order, wherever it is. So the order
    is set again after each change of the focus.

    Args:
        window: the window.
        regions: returns the widgets that contain the others, in the order of Tab.
    """

    def __init__(self, window: QWidget, regions: Callable[[], Sequence[QWidget]]) -> None:
        super().__init__(window)
        self._regions = regions
        # Not at once: the focus also moves while Qt deletes widgets or changes their style.
        self._timer = QTimer(self, singleShot=True, interval=0)
        self._timer.timeout.connect(self._set_order)
        application = QApplication.instance()
        assert isinstance(application, QApplication)
        application.focusChanged.connect(self._on_focus)

    def _on_focus(self, _old: QWidget | None, _new: QWidget | None) -> None:
        if not self._timer.isActive():
            self._timer.start()

    def _set_order(self) -> None:
        stops = [
            stop for each in self._regions() if not each.isWindow() for stop in tab_stops(each)
        ]
        for first, second in pairwise(stops):
            QWidget.setTabOrder(first, second)


class FocusKeeper:
    """Moves the focus into what is visible when a pane is hidden, and back when it is shown again.

    Qt itself would give it to the next widget, wherever that is. If the user has moved the focus
    meanwhile, it stays.
    """

    def __init__(self) -> None:
        self._owner: QWidget | None = None
        self._substitute: QWidget | None = None

    def update(self, focused: QWidget | None, visible: QWidget) -> None:
        """Move the focus after panes were shown or hidden.

        Args:
            focused: what had the focus before that.
            visible: what is visible now.
        """
        if focused is not None and not focused.isVisible():
            self._owner, self._substitute = focused, focus_first(visible)
        elif self._owner is not None and isValid(self._owner) and self._owner.isVisible():
            if focused is self._substitute:
                self._owner.setFocus(Qt.FocusReason.OtherFocusReason)
            self._owner = self._substitute = None


def focus_first(place: QWidget) -> QWidget | None:
    """Focus the first control in a widget; return what has the focus then."""
    stops = (stop for stop in tab_stops(place) if stop.isVisible() and stop.isEnabled())
    if (control := next(stops, None)) is None:
        return None
    control.setFocus(Qt.FocusReason.OtherFocusReason)
    return control.window().focusWidget()  # the control may have a focus proxy


def focused_widget(window: QWidget) -> QWidget | None:
    """Return what has the focus, or will have it when the window is active again."""
    return QApplication.focusWidget() or window.focusWidget()


def tab_stops(place: QWidget) -> Iterator[QWidget]:
    """Yield the widgets in ``place`` that accept the focus by Tab, hidden ones too.

    A tab bar comes before its pages.
    """
    direct = Qt.FindChildOption.FindDirectChildrenOnly
    children = place.findChildren(QWidget, options=direct)
    if isinstance(place, QTabWidget):
        children.sort(key=lambda child: not isinstance(child, QTabBar))
    for child in children:
        if child.isWindow():
            continue
        if child.focusPolicy() & Qt.FocusPolicy.TabFocus == Qt.FocusPolicy.TabFocus:
            yield child
        yield from tab_stops(child)
