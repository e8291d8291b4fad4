"""The two font families of the program, bundled so that they are the same on every system."""

import unicodedata
from functools import cache

from PySide6.QtGui import QFont, QFontDatabase
from PySide6.QtWidgets import QApplication

from bertviewer.charts.theme import (
    CJK_FONTS,
    FONT_FILES,
    FONTS,
    LARGE,
    MONO_FONTS,
    NORMAL_WEIGHT,
    STRONG,
    font_folders,
)

_WEIGHT = QFont.Tag("wght")
_TABULAR = QFont.Tag("tnum")
# Contextual forms would show 3x3 as 3×3 and -> as an arrow, and a PDF loses the original letters.
_CONTEXTUAL = QFont.Tag("calt")


@cache
def load_fonts() -> tuple[str, ...]:
    """Add the bundled fonts to Qt, and return the names of their families.

    If one is not installed, Qt uses the next family of the list.
    """
    names: list[str] = []
    for folder in font_folders():
        for file in FONT_FILES:
            if (folder / file).exists():
                number = QFontDatabase.addApplicationFont(str(folder / file))
                names += QFontDatabase.applicationFontFamilies(number)
    return tuple(names)


def window_font(scale: float = 1.0) -> QFont:
    """Return the font of the window in ``scale`` times the size of the theme."""
    font = QFont([*FONTS[:-1], *CJK_FONTS, FONTS[-1]])
    font.setPixelSize(round(LARGE * scale))
    font.setFeature(_CONTEXTUAL, 0)
    # Rounded advance widths would leave gaps within words.
    font.setHintingPreference(QFont.HintingPreference.PreferNoHinting)
    return weighted(font, NORMAL_WEIGHT)


def weighted(font: QFont, weight: int = STRONG) -> QFont:
    """Return the font in another weight.

    To Qt a variable font has one style, which ``setBold`` would only smear.
    """
    made = QFont(font)
    made.setVariableAxis(_WEIGHT, weight)
    if made.family() not in load_fonts():
        made.setWeight(QFont.Weight(weight))
    return made


def weight_of(font: QFont) -> int:
    """Return the weight that ``weighted`` has set."""
    is_set = font.isVariableAxisSet(_WEIGHT)
    return round(font.variableAxisValue(_WEIGHT)) if is_set else int(font.weight())


def has_wide(text: str) -> bool:
    """Tell whether a text has letters as wide as high, such as Chinese ones."""
    return not text.isascii() and any(unicodedata.east_asian_width(n) in "WF" for n in text)


def families_for(text: str, font: QFont) -> list[str]:
    """Return the font families of a text, those for Chinese first where it has such letters.

    Programs that choose a font by themselves take Japanese forms.
    """
    others = [name for name in font.families() if name not in CJK_FONTS]
    return [*CJK_FONTS, *others] if has_wide(text) else others


def contextual(font: QFont) -> QFont:
    """Return the font with contextual forms, as other programs show it."""
    made = QFont(font)
    made.setFeature(_CONTEXTUAL, 1)
    return made


def tabular(font: QFont) -> QFont:
    """Return the font with tabular figures, so that columns of numbers are aligned.

    For the screen only: Qt's PDF loses the original letters of glyphs that a feature substitutes.
    """
    made = QFont(font)
    made.setFeature(_TABULAR, 1)
    return made


def sized(font: QFont, pixels: float) -> QFont:
    """Return the font in a size of the theme, scaled with the text size of the application."""
    made = QFont(font)
    made.setPixelSize(grown(pixels))
    return made


def grown(pixels: float) -> int:
    """Return a length in pixels, scaled with the text size of the application."""
    return round(pixels * type_scale())


def type_scale() -> float:
    """Return the text size of the application relative to the theme."""
    # An application that only embeds plots may have a font in points.
    shown = QApplication.font().pixelSize()
    return shown / LARGE if shown > 0 else 1.0


def monospaced(font: QFont) -> QFont:
    """Return a monospaced font of the same size, for paths and shapes."""
    made = QFont(font)
    made.setFamilies(list(MONO_FONTS))
    made.setFixedPitch(True)
    return made
