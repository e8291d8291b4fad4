"""Draws a token as a chip: a rounded field whose colour tells a figure."""

from collections.abc import Callable, Sequence

from msgspec import Struct
from PySide6.QtCore import QModelIndex, QPersistentModelIndex, QRectF, QSize, Qt
from PySide6.QtGui import QColor, QFont, QFontMetrics, QPainter, QPen
from PySide6.QtWidgets import QStyle, QStyledItemDelegate, QStyleOptionViewItem, QWidget

from bertviewer.charts.labels import shortened, visible
from bertviewer.charts.theme import GRID, NORMAL_WEIGHT, RADIUS, ROW, STRONG, Theme, mixed
from bertviewer.charts.token_measures import TokenMeasure, no_measure
from bertviewer.core.analysis.tokens import text_starts
from bertviewer.core.schema.activation_run import Token
from bertviewer.core.util.text import isolated
from bertviewer.plots.fonts import weighted
from bertviewer.ui.theme.theme_of import theme_of

LONGEST = 24  # letters of a chip; its tip has the whole
PADDING, LEAST_PADDING = 9, 5
GAP, JOIN_GAP, PAIR_GAP = 6, 2, 17  # pixels before a word, a piece of one, a second sentence
PALEST, DEEPEST = 0.06, 0.42
"""How much of its hue a chip has, at the least figure and at the largest."""
KIND = 0.22
PALE = 0.08
"""Chips whose share is below this are pale."""
RING = 2

_NO_PEN = Qt.PenStyle.NoPen

_Index = QModelIndex | QPersistentModelIndex


class Chip(Struct, frozen=True):
    """A token as it is drawn: its text, what it is, and the gap before it."""

    text: str
    is_special: bool
    is_unknown: bool
    is_start: bool
    gap: int


def chips_of(tokens: Sequence[Token], joins: Sequence[bool]) -> tuple[Chip, ...]:
    """Return the chips of tokens; ``joins`` says which go on the word before them."""
    starts = frozenset(text_starts(tokens))
    found = []
    for place, (token, is_joined) in enumerate(zip(tokens, joins, strict=True)):
        gap = PAIR_GAP if place in starts else JOIN_GAP if is_joined else GAP
        text = isolated(shortened(visible(token.text), LONGEST))
        is_start = place in starts
        found.append(Chip(text, token.is_special, token.is_unknown, is_start, gap if place else 0))
    return tuple(found)


class ChipDelegate(QStyledItemDelegate):
    """Draws ``chips``, one for each row. Their widths are measured once: there may be many."""

    def __init__(self, view: QWidget) -> None:
        super().__init__(view)
        self._view = view
        self.measure: TokenMeasure = no_measure()
        self.chips: tuple[Chip, ...] = ()
        self._padding = PADDING
        self._of = QFont()
        self._fonts: dict[tuple[bool, bool], QFont] = {}
        self._widths: dict[tuple[str, bool], int] = {}

    @property
    def theme(self) -> Theme:
        """The colours of the window."""
        return theme_of(self._view)

    def sizeHint(self, option: QStyleOptionViewItem, index: _Index) -> QSize:
        """Return the room of a chip and of the gap before it; Qt calls it."""
        self._take_font(option.font)
        chip = self.chips[index.row()]
        key = chip.text, chip.is_special
        if key not in self._widths:
            # Wide enough for the strong type of a selected one: nothing moves when it is selected.
            metrics = QFontMetrics(self._font(chip, is_chosen=True))
            self._widths[key] = metrics.horizontalAdvance(chip.text)
        width = max(self._widths[key] + 2 * self._padding, ROW)
        return QSize(width + chip.gap, ROW + GRID)

    def fit(self, widths: Callable[[], int], room: int) -> bool:
        """Take narrower padding where all chips have room with it and not without.

        ``widths`` returns what they need together. Returns whether the padding changed.
        """
        before, self._padding = self._padding, PADDING
        if widths() > room:
            self._padding = LEAST_PADDING
            if widths() > room:
                self._padding = PADDING
        return self._padding != before

    def paint(self, painter: QPainter, option: QStyleOptionViewItem, index: _Index) -> None:
        """Draw one chip; Qt calls it."""
        self._take_font(option.font)
        theme, chip = self.theme, self.chips[index.row()]
        is_chosen = bool(option.state & QStyle.StateFlag.State_Selected)
        # The view gives a chip all the height that it has itself.
        left, top = option.rect.left() + chip.gap, option.rect.top() + GRID / 2
        box = QRectF(left, top, option.rect.width() - chip.gap, ROW)
        painter.save()
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        if chip.is_start:
            x = option.rect.left() + (chip.gap + GAP) / 2 - RING
            painter.setPen(QPen(QColor(theme.faint), 1))
            painter.drawLine(round(x), round(box.top()), round(x), round(box.bottom()))
        painter.setBrush(QColor(self._fill(index.row())))
        is_over = bool(option.state & QStyle.StateFlag.State_MouseOver)
        painter.setPen(self._border(chip, is_over))
        painter.drawRoundedRect(box.adjusted(0.5, 0.5, -0.5, -0.5), RADIUS, RADIUS)
        if is_chosen:
            self._draw_ring(painter, box, option)
        painter.setFont(self._font(chip, is_chosen))
        painter.setPen(QColor(self._text_color(chip, index.row())))
        painter.drawText(box, int(Qt.AlignmentFlag.AlignCenter), chip.text)
        painter.restore()

    def _draw_ring(self, painter: QPainter, box: QRectF, option: QStyleOptionViewItem) -> None:
        """Draw what marks the selected chip; where the keys go to it, the ring is the text's."""
        has_focus = option.widget is not None and option.widget.hasFocus()
        painter.setBrush(Qt.BrushStyle.NoBrush)
        painter.setPen(QPen(QColor(self.theme.text if has_focus else self.theme.accent), RING))
        painter.drawRoundedRect(box.adjusted(1, 1, -1, -1), RADIUS, RADIUS)

    def _fill(self, token: int) -> str:
        theme, share = self.theme, self.measure.share(token)
        if share is None:
            return theme.field
        if self.measure.are_kinds:
            hue = theme.series[int(self.measure.values[token] or 0) % len(theme.series)]
            return mixed(hue, theme.surface, KIND)
        return mixed(theme.accent, theme.surface, PALEST + share * (DEEPEST - PALEST))

    def _text_color(self, chip: Chip, token: int) -> str:
        # Quiet words are read on a pale chip only.
        is_pale = (self.measure.share(token) or 0.0) < PALE
        return self.theme.muted if chip.is_special and is_pale else self.theme.text

    def _border(self, chip: Chip, is_over: bool) -> QPen:
        """Return what is drawn around a chip: an unknown token stands out."""
        if chip.is_unknown:
            return QPen(QColor(self.theme.warning), 1)
        return QPen(QColor(self.theme.border("attention")), 1) if is_over else QPen(_NO_PEN)

    def _take_font(self, font: QFont) -> None:
        if font != self._of:
            self._of = QFont(font)
            self._fonts.clear()
            self._widths.clear()

    def _font(self, chip: Chip, is_chosen: bool) -> QFont:
        key = chip.is_special, is_chosen
        if key not in self._fonts:
            made = weighted(self._of, STRONG if is_chosen else NORMAL_WEIGHT)
            made.setItalic(chip.is_special)
            self._fonts[key] = made
        return self._fonts[key]
