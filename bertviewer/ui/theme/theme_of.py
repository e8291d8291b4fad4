"""The colours of what paints itself."""

from PySide6.QtWidgets import QWidget

from bertviewer.charts.theme import DARK, LIGHT, Theme


def theme_of(widget: QWidget) -> Theme:
    """Return the colours that a widget's palette was made of."""
    return DARK if widget.palette().base().color().lightness() < 128 else LIGHT
