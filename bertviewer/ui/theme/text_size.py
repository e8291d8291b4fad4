"""How large the window's type is: a step larger or smaller, remembered."""

from collections.abc import Iterator
from contextlib import contextmanager

from PySide6.QtCore import QSettings, Qt
from PySide6.QtGui import QFont
from PySide6.QtWidgets import QApplication, QWidget

from bertviewer.ui.settings.settings import store

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
    store(SETTING, scale)


_USUAL, _SHOWN = "usualTextSize", "textSizeShown"


@contextmanager
def fonts_kept(application: QApplication) -> Iterator[None]:
    """Have widgets their own fonts while the style is exchanged, in the scale that is stored.

    Qt's style sheets give each widget back a font that it had before: those with a font of their
    own the first one, and others, as hidden ones, that of the size before.
    """
    shown = application.property(_SHOWN) or stored_scale()
    scale = stored_scale()
    fonts = {widget: _in_scale(widget, shown, scale) for widget in application.allWidgets()}
    yield
    for widget, font in fonts.items():
        # Without attributes of its own a font is resolved again from the parent's.
        widget.setFont(font)
    application.setProperty(_SHOWN, scale)


def _in_scale(widget: QWidget, shown: float, scale: float) -> QFont:
    """Return a widget's own font, as large as in another scale; one that says nothing if none.

    What the size is usually is noted: after steps up and down it would be another by rounding.
    """
    if not widget.testAttribute(Qt.WidgetAttribute.WA_SetFont):
        return QFont()
    font = QFont(widget.font())
    if shown != scale and font.pixelSize() > 0:
        usual = widget.property(_USUAL)
        if usual is None:
            usual = font.pixelSize() / shown
            widget.setProperty(_USUAL, usual)
        font.setPixelSize(max(1, round(usual * scale)))
    return font
