"""Light and dark: which of them is in use, and the palette of the window that goes with it."""

from PySide6.QtCore import QSettings, Qt
from PySide6.QtGui import QColor, QPalette
from PySide6.QtWidgets import QApplication

from bertviewer.charts.theme import DARK, LIGHT, Theme
from bertviewer.plots.fonts import load_fonts, window_font
from bertviewer.ui.theme.style_sheet import style_sheet
from bertviewer.ui.theme.text_size import fonts_kept, stored_scale

SYSTEM, LIGHT_NAME, DARK_NAME = "system", "light", "dark"
APPEARANCES = (SYSTEM, LIGHT_NAME, DARK_NAME)
SETTING = "appearance"

WARNING = QPalette.ColorRole.BrightText
"""Where a palette has the colour of what is random or wrong: Qt gives that role no other use."""

RIGHT = QPalette.ColorRole.LinkVisited
"""Where a palette has the colour of what was checked and holds, or was trained."""

STYLE = "fusion"
_Role = QPalette.ColorRole


def stored_appearance() -> str:
    """Return the appearance chosen in an earlier session, ``system`` if there is none."""
    value = QSettings().value(SETTING, SYSTEM)
    return value if isinstance(value, str) and value in APPEARANCES else SYSTEM


def apply_appearance(application: QApplication, appearance: str) -> Theme:
    """Give the whole program an appearance, and return its colours."""
    if appearance == SYSTEM:
        dark = application.styleHints().colorScheme() == Qt.ColorScheme.Dark
    else:
        dark = appearance == DARK_NAME
    theme = DARK if dark else LIGHT
    load_fonts()
    focused = application.focusWidget()
    with fonts_kept(application):
        # In place of another one a sheet takes Qt five times as long as when there is none.
        application.setStyleSheet("")
        application.setFont(window_font(stored_scale()))
        application.setPalette(palette_of(theme))
        if application.style().name() != STYLE:
            application.setStyle(STYLE)
        application.setStyleSheet(style_sheet(theme))
    # A dialog arranges its buttons anew, and the first would have the keys.
    if focused is not None and application.focusWidget() is not focused:
        focused.setFocus(Qt.FocusReason.OtherFocusReason)
    return theme


def palette_of(theme: Theme) -> QPalette:
    """Return Qt's colours for a theme's."""
    colors = {
        _Role.Window: theme.background,
        _Role.WindowText: theme.text,
        _Role.Base: theme.surface,
        _Role.AlternateBase: theme.field,
        _Role.Text: theme.text,
        _Role.Button: theme.surface,
        _Role.ButtonText: theme.text,
        WARNING: theme.warning,
        RIGHT: theme.right,
        _Role.ToolTipBase: theme.text,
        _Role.ToolTipText: theme.surface,
        _Role.PlaceholderText: theme.muted,
        _Role.Highlight: theme.selection,
        _Role.HighlightedText: theme.text,
        _Role.Link: theme.accent,
        _Role.Accent: theme.accent,
        _Role.Mid: theme.line,
    }
    palette = QPalette(QColor(theme.surface), QColor(theme.background))
    for role, color in colors.items():
        palette.setColor(role, QColor(color))
    disabled = QColor(theme.disabled)
    for role in (_Role.Text, _Role.WindowText, _Role.ButtonText):
        palette.setColor(QPalette.ColorGroup.Disabled, role, disabled)
    return palette
