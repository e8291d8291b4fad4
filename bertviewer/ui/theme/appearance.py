"""Appearance of the window: theme, palette, style sheet, text size and animations."""

from collections.abc import Iterator
from contextlib import contextmanager
from string import Template

from PySide6.QtCore import QSettings, Qt
from PySide6.QtGui import QColor, QFont, QPalette
from PySide6.QtWidgets import QApplication, QStyle, QWidget

from bertviewer.charts.theme import DARK, LIGHT, RADIUS, Theme, mixed
from bertviewer.core.util.files import resources_folder
from bertviewer.plots.fonts import load_fonts, window_font
from bertviewer.ui.settings.settings import store

SYSTEM, LIGHT_NAME, DARK_NAME = "system", "light", "dark"
APPEARANCES = (SYSTEM, LIGHT_NAME, DARK_NAME)
SETTING, SCALE_SETTING = "appearance", "textSize"
STYLE = "fusion"
SCALES = (0.85, 1.0, 1.15, 1.3, 1.5, 1.75, 2.0)
"""Text sizes, relative to those of the theme."""

WARNING = QPalette.ColorRole.BrightText
"""Role of the colour for what is random or wrong: Qt does not use it."""

RIGHT = QPalette.ColorRole.LinkVisited
"""Role of the colour for what was verified, or trained."""

_Role = QPalette.ColorRole
_NORMAL_SIZE, _SCALE = "normalTextSize", "textScale"  # properties of a widget and the application


def theme_of(widget: QWidget) -> Theme:
    """Return the theme that a widget's palette was made of."""
    return DARK if widget.palette().base().color().lightness() < 128 else LIGHT


def stored_appearance() -> str:
    """Return the stored appearance, ``system`` without one."""
    value = QSettings().value(SETTING, SYSTEM)
    return value if isinstance(value, str) and value in APPEARANCES else SYSTEM


def apply_appearance(application: QApplication, appearance: str) -> Theme:
    """Give all windows an appearance and the stored text size; return the theme."""
    if appearance == SYSTEM:
        dark = application.styleHints().colorScheme() == Qt.ColorScheme.Dark
    else:
        dark = appearance == DARK_NAME
    theme = DARK if dark else LIGHT
    load_fonts()
    focused = application.focusWidget()
    with _fonts_kept(application):
        # Replacing a style sheet takes Qt five times as long as setting one.
        application.setStyleSheet("")
        application.setFont(window_font(stored_scale()))
        application.setPalette(palette_of(theme))
        if application.style().name() != STYLE:
            application.setStyle(STYLE)
        application.setStyleSheet(style_sheet(theme))
    # A dialog lays its buttons out again, and the first one gets the focus.
    if focused is not None and application.focusWidget() is not focused:
        focused.setFocus(Qt.FocusReason.OtherFocusReason)
    return theme


def palette_of(theme: Theme) -> QPalette:
    """Return the palette of a theme."""
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


def style_sheet(theme: Theme) -> str:
    """Return the style sheet of a theme, from ``resources/look/controls.qss``.

    Raises:
        OSError: the installation is incomplete.
    """
    icons = (resources_folder() / "icons" / "lines").as_posix()
    values = {
        "icons": icons,
        "check": f"{icons}/check-{'dark' if theme is DARK else 'light'}.svg",
        "radius": str(RADIUS),
        "handle": mixed(theme.text, theme.surface, 0.18),
        "handle_hover": mixed(theme.text, theme.surface, 0.35),
        "pressed": mixed(theme.text, theme.surface, 0.10),
        "accent_hover": mixed(theme.accent, theme.text, 0.88),
    }
    sheet = Template((resources_folder() / "look" / "controls.qss").read_text("utf-8"))
    of_theme = set(sheet.get_identifiers()) - values.keys()
    return sheet.substitute(values, **{name: getattr(theme, name) for name in of_theme})


def has_motion() -> bool:
    """Return whether the system allows animations."""
    hint = QApplication.style().styleHint(QStyle.StyleHint.SH_Widget_Animation_Duration)
    return hint > 0 and QApplication.isEffectEnabled(Qt.UIEffect.UI_General)


def stored_scale() -> float:
    """Return the stored text size, 1 without one."""
    value = QSettings().value(SCALE_SETTING, 1.0)
    try:
        scale = float(value)  # type: ignore[arg-type]
    except (TypeError, ValueError):
        return 1.0
    return scale if scale in SCALES else 1.0


def store_next_scale(step: int) -> None:
    """Store a text size so many steps larger or smaller, or the normal one for 0."""
    scale = 1.0
    if step:
        index = SCALES.index(stored_scale()) + step
        scale = SCALES[max(0, min(index, len(SCALES) - 1))]
    store(SCALE_SETTING, scale)


@contextmanager
def _fonts_kept(application: QApplication) -> Iterator[None]:
    """Keep the fonts of widgets, in the stored text size, while the style changes.

    Qt's style sheets restore an earlier font: of widgets with their own font the first one, of
    others, such as hidden ones, that of the size before.
    """
    scale = stored_scale()
    before = application.property(_SCALE) or scale
    fonts = {widget: _scaled_font(widget, before, scale) for widget in application.allWidgets()}
    yield
    for widget, font in fonts.items():
        # A font without attributes is resolved from the parent's.
        widget.setFont(font)
    application.setProperty(_SCALE, scale)


def _scaled_font(widget: QWidget, before: float, scale: float) -> QFont:
    """Return a widget's own font in another text size, or one without attributes.

    Its normal size is stored, as steps up and down would change it by rounding.
    """
    if not widget.testAttribute(Qt.WidgetAttribute.WA_SetFont):
        return QFont()
    font = QFont(widget.font())
    if before != scale and font.pixelSize() > 0:
        normal = widget.property(_NORMAL_SIZE)
        if normal is None:
            normal = font.pixelSize() / before
            widget.setProperty(_NORMAL_SIZE, normal)
        font.setPixelSize(max(1, round(normal * scale)))
    return font
