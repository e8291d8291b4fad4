"""Table of a run's tokens, linked to the selection."""

from collections.abc import Sequence
from typing import Any

from msgspec import Struct
from PySide6.QtCore import QModelIndex, QObject, QRect, Qt
from PySide6.QtGui import QFont, QPainter, QPalette, QPen
from PySide6.QtWidgets import (
    QAbstractItemView,
    QApplication,
    QHeaderView,
    QLabel,
    QStyle,
    QStyledItemDelegate,
    QStyleOptionViewItem,
    QWidget,
)
from typing_extensions import override

from bertviewer.charts.labels import shortened, visible
from bertviewer.charts.selection_key import SelectionKey
from bertviewer.core.analysis.tokens import word_text, words_of
from bertviewer.core.schema.activation_run import ActivationRun, Token
from bertviewer.core.util.numbers import count_text
from bertviewer.core.util.text import isolated
from bertviewer.ui.state.selection import Selection
from bertviewer.ui.theme.appearance import WARNING
from bertviewer.ui.widgets.labels import plain_tooltip
from bertviewer.ui.widgets.layouts import named, vbox
from bertviewer.ui.widgets.tables import Column, Index, Row, TableModel, make_table

NUMBER, TOKEN, ID, SEGMENT = range(4)

JOIN_ROLE = Qt.ItemDataRole.UserRole
"""Whether a token belongs to the same word as the one above it, and as the one below it."""

MAX_LENGTH = 80  # characters of a token in a cell
MAX_TIP_LENGTH = 300
INDENT = 10  # pixels before a token's text, where its bracket is
PADDING = 10  # pixels around a number
TICK = 3  # pixels of a bracket's ends


class _Piece(Struct, frozen=True):
    """A token's position among the pieces of its word, their count, and the word."""

    place: int
    count: int
    word: str


class TokenModel(TableModel):
    """Tokens of a run, one per row."""

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__((), parent)
        self._columns = (
            Column(self.tr("#"), is_number=True),
            Column(self.tr("Token")),
            Column(self.tr("Id"), is_number=True),
            Column(self.tr("Segment"), is_number=True),
        )
        self._tokens: tuple[Token, ...] = ()
        self._pieces: list[_Piece] = []
        self._word_count = 0

    def set_run(self, run: ActivationRun | None) -> None:
        """Show the tokens of another run."""
        self._tokens = () if run is None else run.tokens
        self._word_count = 0 if run is None else len(words_of(run))
        self._pieces = [piece for group in _words(self._tokens) for piece in _pieces(group)]
        self.set_rows(
            [
                Row(
                    (str(place), visible(token.text), str(token.id), str(token.segment)),
                    color=_color(token),
                )
                for place, token in enumerate(self._tokens)
            ]
        )

    @property
    def has_segments(self) -> bool:
        """Whether the tokens belong to several segments."""
        return len({token.segment for token in self._tokens}) > 1

    def summary(self) -> str:
        """Return the numbers of tokens, words and unknown tokens."""
        words = self._word_count
        unknown = sum(token.is_unknown for token in self._tokens)
        parts = [count_text(len(self._tokens), self.tr("1 token"), self.tr("{0} tokens"))]
        if words:
            parts.append(count_text(words, self.tr("1 word"), self.tr("{0} words")))
        if unknown:
            parts.append(self.tr("{0} unknown").format(unknown))
        return ", ".join(parts)

    def digits(self) -> dict[int, int]:
        """Return the length of the longest number in each column of numbers."""
        columns = (NUMBER, ID, SEGMENT)
        return {c: max((len(row.cells[c]) for row in self._rows), default=1) for c in columns}

    @override
    def data(self, index: Index, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        if not index.isValid():
            return None
        token, piece = self._tokens[index.row()], self._pieces[index.row()]
        if role == Qt.ItemDataRole.DisplayRole and index.column() == TOKEN:
            return shortened(super().data(index, role), MAX_LENGTH)
        if role == Qt.ItemDataRole.ToolTipRole:
            return plain_tooltip(self.tooltip(index.row()))
        if role == JOIN_ROLE:
            return piece.place > 0, piece.place < piece.count - 1
        if role == Qt.ItemDataRole.FontRole and token.is_special and index.column() == TOKEN:
            font = QFont()
            font.setItalic(True)
            return font
        return super().data(index, role)

    def text(self, row: int) -> str:
        """Return a token's whole text."""
        return self._rows[row].cells[TOKEN]

    def tooltip(self, row: int) -> str:
        """Return a description of a token."""
        token, piece = self._tokens[row], self._pieces[row]
        parts = [
            self.tr("token {0}: {1}").format(row, _tip_text(token.text)),
            self.tr("id {0}").format(token.id),
            self.tr("segment {0}").format(token.segment),
        ]
        if token.is_special:
            parts.append(self.tr("special token"))
        if piece.count > 1:
            text = self.tr("piece {0} of {1} of the word {2}")
            parts.append(text.format(piece.place + 1, piece.count, _tip_text(piece.word)))
        tip = ", ".join(parts)
        if not token.is_unknown:
            return tip
        why = self.tr("Not in the vocabulary: the model cannot tell it from other unknown text.")
        if token.written:
            why = self.tr("{0} is not in the vocabulary: the model reads {1}.").format(
                _tip_text(token.written), token.text
            )
        return f"{tip}\n{why}"


def continues_word(tokens: Sequence[Token]) -> list[bool]:
    """Return for each token whether it continues the word of the one before."""
    return [place > 0 for group in _words(tokens) for place in range(len(group))]


def _color(token: Token) -> QPalette.ColorRole | None:
    if token.is_unknown:
        return WARNING
    return QPalette.ColorRole.PlaceholderText if token.is_special else None


def _tip_text(text: str) -> str:
    return isolated(shortened(visible(text), MAX_TIP_LENGTH))


def _words(tokens: Sequence[Token]) -> list[list[Token]]:
    """Return groups of tokens: the pieces of a word, or a token that is part of none."""
    groups: list[list[Token]] = []
    before: tuple[int, int | None] = (0, None)
    for token in tokens:
        word = (token.segment, token.word)
        if token.word is None or word != before:
            groups.append([])
        groups[-1].append(token)
        before = word
    return groups


def _pieces(tokens: list[Token]) -> list[_Piece]:
    """Return one word's tokens as its pieces."""
    if any(token.is_unknown for token in tokens):
        word = "".join(token.written or token.text for token in tokens)
    else:
        word = word_text([token.text for token in tokens])
    return [_Piece(place, len(tokens), word) for place in range(len(tokens))]


class TokenTable(QWidget):
    """Position, text, id and segment of each token, below a line with their numbers.

    The segment's column is hidden if all tokens belong to the same one.
    """

    def __init__(self, selection: Selection) -> None:
        super().__init__()
        self._selection = selection
        self._run: ActivationRun | None = None
        self._model = TokenModel(self)
        self._summary = named(QLabel(), "tokenSummary")
        self._summary.setTextFormat(Qt.TextFormat.PlainText)
        self._table = make_table(self._model, "tokenTable", self.tr("Tokens of the sentence"))
        self._table.setSelectionMode(QAbstractItemView.SelectionMode.SingleSelection)
        # Otherwise it scrolls when it is shown for the first time and has no height yet.
        self._table.setAutoScroll(False)
        self._table.setItemDelegateForColumn(TOKEN, _BracketDelegate(self))
        header = self._table.horizontalHeader()
        header.setStretchLastSection(False)
        header.setSectionResizeMode(QHeaderView.ResizeMode.Fixed)
        header.setSectionResizeMode(TOKEN, QHeaderView.ResizeMode.Stretch)
        vbox(self._summary, (self._table, 1), parent=self)
        self._table.selectionModel().currentRowChanged.connect(self._on_current)
        selection.token_changed.connect(self._follow)

    def show_run(self, run: ActivationRun | None) -> None:
        """Show the tokens of a run."""
        if run is self._run:
            return
        self._run = run
        self._model.set_run(run)
        self._table.setColumnHidden(SEGMENT, not self._model.has_segments)
        self._summary.setText("" if run is None else self._model.summary())
        self._set_widths()
        self._follow()
        # The token that is selected with a run is at its beginning.
        self._table.scrollToTop()

    def _set_widths(self) -> None:
        """Fit the columns of numbers to the longest one; the tokens get the rest."""
        header, metrics = self._table.horizontalHeader(), self._table.fontMetrics()
        for column, digits in self._model.digits().items():
            width = max(metrics.horizontalAdvance("0" * digits), header.sectionSizeHint(column))
            self._table.setColumnWidth(column, width + PADDING)

    def _follow(self) -> None:
        token = self._selection.token
        if token is None or not 0 <= token < self._model.rowCount():
            self._table.clearSelection()
            self._table.setCurrentIndex(QModelIndex())
        elif self._table.currentIndex().row() != token:
            self._table.setCurrentIndex(self._model.index(token, TOKEN))

    def _on_current(self, current: QModelIndex) -> None:
        self._table.scrollTo(current)
        if current.isValid() and current.row() != self._selection.token:
            self._selection.go(SelectionKey(token=current.row()))


class _BracketDelegate(QStyledItemDelegate):
    """Draws a thin bracket left of the pieces of one word."""

    @override
    def paint(self, painter: QPainter, option: QStyleOptionViewItem, index: Index) -> None:
        self.initStyleOption(option, index)
        style = option.widget.style() if option.widget else QApplication.style()
        whole = QRect(option.rect)
        style.drawPrimitive(
            QStyle.PrimitiveElement.PE_PanelItemViewItem, option, painter, option.widget
        )
        option.rect = whole.adjusted(INDENT, 0, 0, 0)
        style.drawControl(QStyle.ControlElement.CE_ItemViewItem, option, painter, option.widget)
        above, below = index.data(JOIN_ROLE)
        if not (above or below):
            return
        x = whole.left() + INDENT - TICK
        top = whole.top() if above else whole.top() + TICK
        bottom = whole.bottom() if below else whole.bottom() - TICK
        painter.save()
        painter.setPen(QPen(option.palette.color(QPalette.ColorRole.Accent), 1))
        painter.drawLine(x, top, x, bottom)
        if not above:
            painter.drawLine(x, top, x + TICK, top)
        if not below:
            painter.drawLine(x, bottom, x + TICK, bottom)
        painter.restore()
