"""How large the window's type is: a step larger or smaller, remembered."""

from collections.abc import Iterator

from PySide6.QtCore import QSettings, Qt
from PySide6.QtGui import QFont
from PySide6.QtWidgets import QApplication, QWidget

SETTING = "textSize"
SCALES = (0.85, 1.0, 1.15, 1.3, 1.5, 1.75, 2.0)
"""Of the sizes in the table of looks."""


def stored_scale() -> float:
    """Return the scale chosen in an earlier session, 1 if there is none."""
    value = QSettings().value(SETTING, 1.0)
    try:
        scale = float(value)  # type: ignore[arg-type]
    except (TypeError, ValueError):
        return 1.0
    return scale if scale in SCALES else 1.0


def next_scale(step: int) -> float:
    """Return the scale so many steps on, the last one at the end; 0 steps are the usual size."""
    if not step:
        return 1.0
    place = SCALES.index(stored_scale()) + step
    return SCALES[max(0, min(place, len(SCALES) - 1))]


def store_scale(scale: float) -> None:
    """Remember a scale."""
    QSettings().setValue(SETTING, scale)


_USUAL = "usualTextSize"


def note_sizes() -> None:
    """Note what size the widgets with one of their own would have in the usual scale.

    A new style sheet gives them back the size that they were made with: what was noted before is
    what ``apply_sizes`` goes by.
    """
    for widget in _sized_widgets():
        if widget.property(_USUAL) is None:
            widget.setProperty(_USUAL, widget.font().pixelSize() / stored_scale())


def apply_sizes() -> None:
    """Give the widgets that were noted their sizes in the scale that is stored."""
    for widget in _sized_widgets():
        usual = widget.property(_USUAL)
        if isinstance(usual, float) and usual > 0:
            font = QFont(widget.font())
            font.setPixelSize(max(1, round(usual * stored_scale())))
            widget.setFont(font)


def _sized_widgets() -> Iterator[QWidget]:
    for widget in QApplication.allWidgets():
        if widget.testAttribute(Qt.WidgetAttribute.WA_SetFont):
            yield widget
