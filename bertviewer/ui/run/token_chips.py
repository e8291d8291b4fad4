"""Row of the run's tokens as chips, coloured by a measure."""

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from PySide6.QtCore import QEvent, QModelIndex, QObject, QRectF, QSize, Qt
from PySide6.QtGui import (
    QAction,
    QColor,
    QFocusEvent,
    QFont,
    QFontMetrics,
    QKeySequence,
    QPainter,
    QPen,
    QResizeEvent,
)
from PySide6.QtWidgets import (
    QAbstractItemView,
    QApplication,
    QListView,
    QStyle,
    QStyledItemDelegate,
    QStyleOptionViewItem,
    QWidget,
)
from typing_extensions import override

from bertviewer.charts.labels import shortened, visible
from bertviewer.charts.selection_key import SelectionKey
from bertviewer.charts.theme import GRID, NORMAL_WEIGHT, RADIUS, ROW, STRONG, mixed
from bertviewer.charts.token_measures import TokenMeasure, no_measure
from bertviewer.core.analysis.tokens import text_starts
from bertviewer.core.schema.activation_run import Token
from bertviewer.core.util.text import isolated
from bertviewer.plots.fonts import weighted
from bertviewer.ui.run.token_table import TOKEN, TokenModel, continues_word
from bertviewer.ui.state.workspace import Workspace
from bertviewer.ui.theme.appearance import theme_of
from bertviewer.ui.widgets.labels import plain_tooltip
from bertviewer.ui.widgets.table_export import add_copy_actions
from bertviewer.ui.widgets.tables import Index

SCROLL_BAR = 6  # pixels
MAX_FITTED = 80
"""Chips that might fit without scrolling; padding is not fitted to more of them."""
MAX_LENGTH = 24  # characters of a chip
PADDING, NARROW_PADDING = 9, 5
GAP, JOIN_GAP, PAIR_GAP = 6, 2, 17  # pixels before a word, a piece of one, a second sentence
PALEST, DEEPEST = 0.06, 0.42
"""Share of its hue that a chip has, for the smallest value and for the largest."""
KIND = 0.22
PALE = 0.08
"""Chips with a smaller share are pale."""
RING = 2  # pixels


class ChipModel(TokenModel):
    """Tokens with tooltips that contain the measure."""

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self.measure: TokenMeasure = no_measure()

    @override
    def data(self, index: Index, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        is_tip = role == Qt.ItemDataRole.ToolTipRole
        if not is_tip and role != Qt.ItemDataRole.AccessibleTextRole:
            return super().data(index, role)
        if not index.isValid():
            return None
        parts = (self.tooltip(index.row()), self.measure.text(index.row()))
        text = "\n".join(filter(None, parts))
        return plain_tooltip(text) if is_tip else text


class TokenChips(QListView):
    """A row that scrolls horizontally; a click or the arrow keys select a token for all views."""

    def __init__(self, workspace: Workspace) -> None:
        super().__init__()
        self._workspace = workspace
        self._model = ChipModel(self)
        self._delegate = ChipDelegate(self)
        self.setObjectName("tokenChips")
        self.setAccessibleName(self.tr("Tokens of the sentence"))
        self.setModel(self._model)
        self.setModelColumn(TOKEN)
        self.setItemDelegate(self._delegate)
        self.setFlow(QListView.Flow.LeftToRight)
        self.setWrapping(False)
        self.setHorizontalScrollMode(QAbstractItemView.ScrollMode.ScrollPerPixel)
        self.setVerticalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setEditTriggers(QAbstractItemView.EditTrigger.NoEditTriggers)
        self.setTabKeyNavigation(False)
        self.setMouseTracking(True)
        self.horizontalScrollBar().setStyleSheet(f"QScrollBar {{ height: {SCROLL_BAR}px; }}")
        self.setFixedHeight(ROW + SCROLL_BAR + GRID)
        for text, keys, is_all in (
            (self.tr("Copy token"), QKeySequence(QKeySequence.StandardKey.Copy), False),
            (self.tr("Copy all tokens"), QKeySequence("Ctrl+Shift+C"), True),
        ):
            action = QAction(text, self)
            action.setShortcut(keys)
            action.setShortcutContext(Qt.ShortcutContext.WidgetShortcut)
            action.triggered.connect(lambda _=False, is_all=is_all: self._copy(is_all))
            self.addAction(action)
        add_copy_actions(self, ("copyAllCsv", "copyAllMarkdown"))
        self.selectionModel().currentChanged.connect(self._on_current)
        workspace.selection.token_changed.connect(self.follow)

    def show_run(self) -> None:
        """Show the tokens of the current run."""
        run = self._workspace.runs.run
        self._delegate.set_tokens(() if run is None else run.tokens)
        self._model.set_run(run)
        self._fit()
        self.scrollToTop()
        self.horizontalScrollBar().setValue(0)
        self.follow()

    def show_measure(self, measure: TokenMeasure) -> None:
        """Colour the chips by a measure."""
        self._model.measure = self._delegate.measure = measure
        self.viewport().update()

    def follow(self) -> None:
        """Mark the selected token and scroll to it."""
        token = self._workspace.selection.token
        if token is None or not 0 <= token < self._model.rowCount():
            self.setCurrentIndex(QModelIndex())
        elif self.currentIndex().row() != token:
            self.setCurrentIndex(self._model.index(token, TOKEN))

    @override
    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._fit()

    @override
    def focusInEvent(self, event: QFocusEvent) -> None:
        super().focusInEvent(event)
        self.viewport().update()  # the ring around the current chip

    @override
    def changeEvent(self, event: QEvent) -> None:
        super().changeEvent(event)
        if event.type() in (QEvent.Type.FontChange, QEvent.Type.StyleChange):
            self.scheduleDelayedItemsLayout()

    def _fit(self) -> None:
        """Reduce the padding if that makes all chips visible."""
        if self._model.rowCount() > MAX_FITTED:
            return
        indices = [self._model.index(row, TOKEN) for row in range(self._model.rowCount())]

        def width() -> int:
            return sum(self.sizeHintForIndex(index).width() for index in indices)

        if self._delegate.fit(width, self.viewport().width()):
            self.scheduleDelayedItemsLayout()

    def _copy(self, is_all: bool) -> None:
        current = self.currentIndex()
        rows: Iterable[int] = range(self._model.rowCount())
        if not is_all:
            rows = (current.row(),) if current.isValid() else ()
        QApplication.clipboard().setText("\n".join(map(self._model.text, rows)))

    def _on_current(self, current: QModelIndex) -> None:
        if current.isValid() and current.row() != self._workspace.selection.token:
            self._workspace.selection.go(SelectionKey(token=current.row()))


class ChipDelegate(QStyledItemDelegate):
    """Draws a token as a chip, after a gap; widths of texts are measured once."""

    def __init__(self, view: QWidget) -> None:
        super().__init__(view)
        self._view = view
        self.measure: TokenMeasure = no_measure()
        self._tokens: Sequence[Token] = ()
        self._starts: frozenset[int] = frozenset()  # positions of further texts
        self._gaps: list[int] = []  # pixels before each chip
        self._padding = PADDING
        self._base_font = QFont()
        self._fonts: dict[tuple[bool, bool], QFont] = {}
        self._widths: dict[tuple[str, bool], int] = {}

    def set_tokens(self, tokens: Sequence[Token]) -> None:
        """Set the tokens, one for each row."""
        self._tokens = tokens
        self._starts = frozenset(text_starts(tokens))
        self._gaps = [
            PAIR_GAP if place in self._starts else JOIN_GAP if is_joined else GAP
            for place, is_joined in enumerate(continues_word(tokens))
        ]
        self._gaps[:1] = [0] * bool(tokens)

    @override
    def sizeHint(self, option: QStyleOptionViewItem, index: Index) -> QSize:
        self._set_font(option.font)
        token = self._tokens[index.row()]
        key = token.text, token.is_special
        if key not in self._widths:
            # In the font of a selected chip, so that nothing moves when it is selected.
            metrics = QFontMetrics(self._font(token, is_selected=True))
            self._widths[key] = metrics.horizontalAdvance(_chip_text(token))
        width = max(self._widths[key] + 2 * self._padding, ROW)
        return QSize(width + self._gaps[index.row()], ROW + GRID)

    def fit(self, width: Callable[[], int], room: int) -> bool:
        """Use narrow padding if all chips fit with it and not without; return if it changed.

        Args:
            width: returns the chips' total width.
            room: pixels that they may take.
        """
        before, self._padding = self._padding, PADDING
        if width() > room:
            self._padding = NARROW_PADDING
            if width() > room:
                self._padding = PADDING
        return self._padding != before

    @override
    def paint(self, painter: QPainter, option: QStyleOptionViewItem, index: Index) -> None:
        self._set_font(option.font)
        row = index.row()
        theme, token, gap = theme_of(self._view), self._tokens[row], self._gaps[row]
        is_selected = bool(option.state & QStyle.StateFlag.State_Selected)
        # The option's rectangle is as high as the view.
        left, top = option.rect.left() + gap, option.rect.top() + GRID / 2
        box = QRectF(left, top, option.rect.width() - gap, ROW)
        painter.save()
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        if row in self._starts:
            x = option.rect.left() + (gap + GAP) / 2 - RING
            painter.setPen(QPen(QColor(theme.faint), 1))
            painter.drawLine(round(x), round(box.top()), round(x), round(box.bottom()))
        painter.setBrush(QColor(self._fill(row)))
        if token.is_unknown:
            painter.setPen(QPen(QColor(theme.warning), 1))
        elif option.state & QStyle.StateFlag.State_MouseOver:
            painter.setPen(QPen(QColor(theme.border("attention")), 1))
        else:
            painter.setPen(Qt.PenStyle.NoPen)
        painter.drawRoundedRect(box.adjusted(0.5, 0.5, -0.5, -0.5), RADIUS, RADIUS)
        if is_selected:
            has_focus = option.widget is not None and option.widget.hasFocus()
            painter.setBrush(Qt.BrushStyle.NoBrush)
            painter.setPen(QPen(QColor(theme.text if has_focus else theme.accent), RING))
            painter.drawRoundedRect(box.adjusted(1, 1, -1, -1), RADIUS, RADIUS)
        painter.setFont(self._font(token, is_selected))
        # Muted text is legible on a pale chip only.
        is_pale = (self.measure.share(row) or 0.0) < PALE
        painter.setPen(QColor(theme.muted if token.is_special and is_pale else theme.text))
        painter.drawText(box, int(Qt.AlignmentFlag.AlignCenter), _chip_text(token))
        painter.restore()

    def _fill(self, token: int) -> str:
        theme, share = theme_of(self._view), self.measure.share(token)
        if share is None:
            return theme.field
        if self.measure.are_kinds:
            hue = theme.series[int(self.measure.values[token] or 0) % len(theme.series)]
            return mixed(hue, theme.surface, KIND)
        return mixed(theme.accent, theme.surface, PALEST + share * (DEEPEST - PALEST))

    def _set_font(self, font: QFont) -> None:
        if font != self._base_font:
            self._base_font = QFont(font)
            self._fonts.clear()
            self._widths.clear()

    def _font(self, token: Token, is_selected: bool) -> QFont:
        key = token.is_special, is_selected
        if key not in self._fonts:
            font = weighted(self._base_font, STRONG if is_selected else NORMAL_WEIGHT)
            font.setItalic(token.is_special)
            self._fonts[key] = font
        return self._fonts[key]


def _chip_text(token: Token) -> str:
    return isolated(shortened(visible(token.text), MAX_LENGTH))
