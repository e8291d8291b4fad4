"""Which of the tables of colours a widget is shown in, for those that draw themselves."""

from PySide6.QtGui import QPalette

from bertviewer.charts.theme import DARK, LIGHT, Theme

_MIDDLE = 128  # of 255


def shown_theme(palette: QPalette) -> Theme:
    """Return the theme that a widget's palette was made of."""
    return DARK if palette.base().color().lightness() < _MIDDLE else LIGHT
