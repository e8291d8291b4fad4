"""The table of colours that a palette was made of: for widgets that paint more than Qt has."""

from PySide6.QtGui import QPalette

from bertviewer.charts.theme import DARK, LIGHT, Theme


def theme_of(palette: QPalette) -> Theme:
    """Return the theme whose palette this is; of a strange one, the light one."""
    name = palette.color(QPalette.ColorRole.Window).name()
    return DARK if name == DARK.background else LIGHT
