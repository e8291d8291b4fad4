"""The order in which Tab goes through a window: region by region, as they are laid out.

Nothing here calls ``nextInFocusChain`` or ``focusProxy``: PySide takes the widget that they return
for a child of the one they are called on. Once the chain has come round, the window itself is such
a child, and is invalidated with it.
"""

from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise

from PySide6.QtCore import QObject, Qt, QTimer
from PySide6.QtWidgets import QApplication, QTabBar, QTabWidget, QWidget


class TabOrder(QObject):
    """Keeps Tab's order by region while widgets are added to a window.

    Qt appends a widget that is created later to the end of the order, whatever its place is. So
    the order is set again after each change of the focus.

    Args:
        window: the window whose order is kept.
        regions: returns the widgets that contain the others, in the order of Tab.
    """

    def __init__(self, window: QWidget, regions: Callable[[], Sequence[QWidget]]) -> None:
        super().__init__(window)
        self._window = window
        self._regions = regions
        # Not at once: the focus also moves while Qt deletes widgets or changes their style.
        self._timer = QTimer(self, singleShot=True, interval=0)
        self._timer.timeout.connect(self._set)
        application = QApplication.instance()
        assert isinstance(application, QApplication)
        application.focusChanged.connect(self._on_focus)

    def _on_focus(self, _old: QWidget | None, _new: QWidget | None) -> None:
        if not self._timer.isActive():
            self._timer.start()

    def _set(self) -> None:
        stops = [
            stop for each in self._regions() if not each.isWindow() for stop in tab_stops(each)
        ]
        for first, second in pairwise(stops):
            QWidget.setTabOrder(first, second)


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
