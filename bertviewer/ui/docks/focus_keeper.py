"""Where the keys go while the widget that had them is out of sight."""

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QApplication, QWidget
from shiboken6 import isValid

from bertviewer.ui.docks.tab_order import tab_stops


class LentKeys:
    """Lends the keys to what has the room now, and gives them back when their owner is there again.

    Qt itself would give them to the next widget of all, wherever that is. Whoever has moved on
    since then keeps them.
    """

    def __init__(self) -> None:
        self._owner: QWidget | None = None
        self._borrower: QWidget | None = None

    def follow(self, had: QWidget | None, place: QWidget) -> None:
        """Lend or give back, after panes have come or gone.

        ``had`` had the keys before that, and ``place`` is what has the room now.
        """
        if had is not None and not had.isVisible():
            self._owner, self._borrower = had, self.lend(place)
        elif self._owner is not None and isValid(self._owner) and self._owner.isVisible():
            if had is self._borrower:
                self._owner.setFocus(Qt.FocusReason.OtherFocusReason)
            self._owner = self._borrower = None

    def lend(self, place: QWidget) -> QWidget | None:
        """Have the first control in ``place`` have the keys; return what has them then."""
        if (control := first_control(place)) is None:
            return None
        control.setFocus(Qt.FocusReason.OtherFocusReason)
        # Not always the control itself: it may have another one take the keys for it.
        return control.window().focusWidget()


def focused(window: QWidget) -> QWidget | None:
    """Return what has the keys, or will have them when the window is active again."""
    return QApplication.focusWidget() or window.focusWidget()


def first_control(place: QWidget) -> QWidget | None:
    """Return the first widget in ``place`` that Tab gets to, if there is any."""
    stops = (stop for stop in tab_stops(place) if stop.isVisible() and stop.isEnabled())
    return next(stops, None)
