"""The order in which Tab goes through a window: region by region, as they are arranged."""

from collections.abc import Iterator, Sequence

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QWidget


def move_focus(window: QWidget, regions: Sequence[QWidget], *, is_next: bool) -> bool:
    """Give the keyboard focus to the next widget, or to the previous one.

    All widgets of a region come before those of the next region; those that are in none, such as
    a toolbar's, come first.

    Args:
        window: whose widgets are gone through.
        regions: widgets that contain the others, in the order of Tab.
        is_next: whether to go forwards.

    Returns:
        Whether there was another widget to go to.
    """

    def region(widget: QWidget) -> int:
        found = (n for n, each in enumerate(regions) if each.isAncestorOf(widget))
        return next(found, -1)

    stops = sorted(_stops(window), key=region)
    focused = window.focusWidget()
    if not stops or stops == [focused]:
        return False
    if focused in stops:
        place = stops.index(focused) + (1 if is_next else -1)
    else:
        place = 0 if is_next else -1
    reason = Qt.FocusReason.TabFocusReason if is_next else Qt.FocusReason.BacktabFocusReason
    stops[place % len(stops)].setFocus(reason)
    return True


def _stops(window: QWidget) -> Iterator[QWidget]:
    """Yield the widgets that Tab stops at, in Qt's order."""
    widget, by_tab = window.nextInFocusChain(), Qt.FocusPolicy.TabFocus
    while widget is not None and widget is not window:
        is_reached = widget.focusPolicy() & by_tab == by_tab and widget.focusProxy() is None
        if is_reached and widget.isVisible() and widget.isEnabled() and widget.window() is window:
            yield widget
        widget = widget.nextInFocusChain()
