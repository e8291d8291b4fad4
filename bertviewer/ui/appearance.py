"""Light and dark: the palettes of the window, and the plots' themes that go with them."""

from PySide6.QtCore import QSettings, Qt
from PySide6.QtGui import QColor, QPalette
from PySide6.QtWidgets import QApplication

from bertviewer.plots.theme import DARK, LIGHT, PlotTheme

SYSTEM, LIGHT_NAME, DARK_NAME = "system", "light", "dark"
APPEARANCES = (SYSTEM, LIGHT_NAME, DARK_NAME)
SETTING = "appearance"

_Role = QPalette.ColorRole

_LIGHT_COLORS = {
    _Role.Window: "#f4f6f8",
    _Role.WindowText: "#1f2933",
    _Role.Base: "#ffffff",
    _Role.AlternateBase: "#f7f9fb",
    _Role.Text: "#1f2933",
    _Role.Button: "#eceff3",
    _Role.ButtonText: "#1f2933",
    _Role.BrightText: "#ffffff",
    _Role.ToolTipBase: "#ffffff",
    _Role.ToolTipText: "#1f2933",
    _Role.PlaceholderText: "#66727f",
    _Role.Highlight: "#1f6fb2",
    _Role.HighlightedText: "#ffffff",
    _Role.Link: "#a84300",
    _Role.Accent: "#1f6fb2",
}
_DARK_COLORS = {
    _Role.Window: "#23282e",
    _Role.WindowText: "#e3e8ee",
    _Role.Base: "#1b1f24",
    _Role.AlternateBase: "#20252b",
    _Role.Text: "#e3e8ee",
    _Role.Button: "#2e353d",
    _Role.ButtonText: "#e3e8ee",
    _Role.BrightText: "#ffffff",
    _Role.ToolTipBase: "#2e353d",
    _Role.ToolTipText: "#e3e8ee",
    _Role.PlaceholderText: "#93a0ad",
    _Role.Highlight: "#3d8fd1",
    _Role.HighlightedText: "#ffffff",
    _Role.Link: "#f0a35e",
    _Role.Accent: "#3d8fd1",
}
# Fusion draws the frame of an empty box, and a button that is down, darker than the window: on
# dark neither can be seen.
_BOXES = f"""
QCheckBox::indicator:unchecked {{
    width: 12px; height: 12px; border-radius: 2px;
    border: 1px solid {_DARK_COLORS[_Role.PlaceholderText]};
}}
QToolButton:checked {{
    background: {_DARK_COLORS[_Role.Highlight]}; color: {_DARK_COLORS[_Role.HighlightedText]};
    border-radius: 2px;
}}
"""
_DISABLED = {
    LIGHT_NAME: "#a5afb9",
    DARK_NAME: "#5f6a75",
}


def stored_appearance() -> str:
    """Return the appearance chosen in an earlier session, ``system`` if there is none."""
    value = QSettings().value(SETTING, SYSTEM)
    return value if isinstance(value, str) and value in APPEARANCES else SYSTEM


def apply_appearance(application: QApplication, appearance: str) -> PlotTheme:
    """Give the whole program an appearance, and return the plots' theme for it."""
    if appearance == SYSTEM:
        dark = application.styleHints().colorScheme() == Qt.ColorScheme.Dark
    else:
        dark = appearance == DARK_NAME
    application.setStyle("Fusion")
    application.setPalette(_palette(dark))
    application.setStyleSheet(_BOXES if dark else "")
    return DARK if dark else LIGHT


def _palette(dark: bool) -> QPalette:
    colors = _DARK_COLORS if dark else _LIGHT_COLORS
    palette = QPalette(QColor(colors[_Role.Button]), QColor(colors[_Role.Window]))
    for role, color in colors.items():
        palette.setColor(role, QColor(color))
    disabled = QColor(_DISABLED[DARK_NAME if dark else LIGHT_NAME])
    for role in (_Role.Text, _Role.WindowText, _Role.ButtonText):
        palette.setColor(QPalette.ColorGroup.Disabled, role, disabled)
    return palette
