"""The program's two families of type, the same on every system and on paper."""

from functools import cache

from PySide6.QtGui import QFont, QFontDatabase
from PySide6.QtWidgets import QApplication

from bertviewer.charts.theme import (
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
# Contextual forms would show 3x3 as 3×3 and -> as an arrow, and a PDF loses what they stand for.
_CONTEXTUAL = QFont.Tag("calt")


@cache
def load_fonts() -> tuple[str, ...]:
    """Have Qt know the families that the program brings; return their names.

    One that is not installed is left out: the next of its list is taken.
    """
    names: list[str] = []
    for folder in font_folders():
        for file in FONT_FILES:
            if (folder / file).exists():
                number = QFontDatabase.addApplicationFont(str(folder / file))
                names += QFontDatabase.applicationFontFamilies(number)
    return tuple(names)


def window_font(scale: float = 1.0) -> QFont:
    """Return the font of words, so many times as large as the table says."""
    font = QFont(list(FONTS))
    font.setPixelSize(round(LARGE * scale))
    font.setFeature(_CONTEXTUAL, 0)
    # Rounded widths of letters would leave holes in words.
    font.setHintingPreference(QFont.HintingPreference.PreferNoHinting)
    return weighted(font, NORMAL_WEIGHT)


def weighted(font: QFont, weight: int = STRONG) -> QFont:
    """Return the same font in another weight.

    A variable font has one style as Qt sees it, which ``setBold`` would only smear.
    """
    made = QFont(font)
    made.setVariableAxis(_WEIGHT, weight)
    if made.family() not in load_fonts():
        made.setWeight(QFont.Weight(weight))
    return made


def weight_of(font: QFont) -> int:
    """Return the weight in which ``weighted`` has left a font."""
    is_set = font.isVariableAxisSet(_WEIGHT)
    return round(font.variableAxisValue(_WEIGHT)) if is_set else int(font.weight())


def contextual(font: QFont) -> QFont:
    """Return the same font as programs show it that take all that it can do."""
    made = QFont(font)
    made.setFeature(_CONTEXTUAL, 1)
    return made


def tabular(font: QFont) -> QFont:
    """Return the same font with figures that are all equally wide, so that columns stand in line.

    For the screen alone: Qt's PDF loses what letters stand for that a feature exchanges.
    """
    made = QFont(font)
    made.setFeature(_TABULAR, 1)
    return made


def sized(font: QFont, pixels: float) -> QFont:
    """Return the same font in a size of the table, larger where all of the program's type is."""
    made = QFont(font)
    made.setPixelSize(grown(pixels))
    return made


def grown(pixels: float) -> int:
    """Return the room for letters, larger where all of the program's type is."""
    return round(pixels * type_scale())


def type_scale() -> float:
    """Return how many times as large as in the table all of the program's type is."""
    # A program that has only plots of ours may have a font in points.
    shown = QApplication.font().pixelSize()
    return shown / LARGE if shown > 0 else 1.0


def monospaced(font: QFont) -> QFont:
    """Return a font of the same size whose letters are equally wide, for paths and shapes."""
    made = QFont(font)
    made.setFamilies(list(MONO_FONTS))
    made.setFixedPitch(True)
    return made
