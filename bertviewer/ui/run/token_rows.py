"""The tokens of a run as rows: what each one is, and which word it is a piece of."""

from typing import Any

from msgspec import Struct
from PySide6.QtCore import QObject, Qt
from PySide6.QtGui import QFont, QPalette
from PySide6.QtWidgets import QApplication

from bertviewer.charts.labels import shortened, visible
from bertviewer.core.analysis.tokens import word_text, words_of
from bertviewer.core.schema.activation_run import ActivationRun, Token
from bertviewer.core.util.numbers import count_text
from bertviewer.core.util.text import isolated
from bertviewer.ui.theme.appearance import WARNING
from bertviewer.ui.widgets.labels import plain_tooltip
from bertviewer.ui.widgets.tables import Column, Index, Row, TableModel

NUMBER, TOKEN, ID, SEGMENT = range(4)

JOIN_ROLE = Qt.ItemDataRole.UserRole
"""How a token is joined with its neighbours: a pair of bools, with the one above and below it."""

LONGEST = 80  # characters that are shown of a token
LONGEST_IN_TIP = 300


class _Piece(Struct, frozen=True):
    """A token as a piece: its place in its word, how many there are, and what the word says."""

    place: int
    count: int
    word: str


class TokenRows(TableModel):
    """One row a token."""

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
                Row((str(place), visible(token.text), str(token.id), str(token.segment)))
                for place, token in enumerate(self._tokens)
            ]
        )

    @property
    def has_segments(self) -> bool:
        """Whether the tokens are of several segments."""
        return len({token.segment for token in self._tokens}) > 1

    def summary(self) -> str:
        """Return how many tokens, words and unknown tokens there are."""
        words = self._word_count
        unknown = sum(token.is_unknown for token in self._tokens)
        parts = [count_text(len(self._tokens), self.tr("1 token"), self.tr("{0} tokens"))]
        if words:
            parts.append(count_text(words, self.tr("1 word"), self.tr("{0} words")))
        if unknown:
            parts.append(self.tr("{0} unknown").format(unknown))
        return ", ".join(parts)

    def digits(self) -> dict[int, int]:
        """Return how many digits the longest number of each column of numbers has."""
        columns = (NUMBER, ID, SEGMENT)
        return {c: max((len(row.cells[c]) for row in self._rows), default=1) for c in columns}

    def data(self, index: Index, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        """Return what a cell shows; Qt calls it."""
        if not index.isValid():
            return None
        token, piece = self._tokens[index.row()], self._pieces[index.row()]
        if role == Qt.ItemDataRole.DisplayRole and index.column() == TOKEN:
            return shortened(super().data(index, role), LONGEST)
        if role == Qt.ItemDataRole.ToolTipRole:
            return plain_tooltip(self.tip(index.row()))
        if role == JOIN_ROLE:
            return piece.place > 0, piece.place < piece.count - 1
        if role == Qt.ItemDataRole.ForegroundRole and (token.is_unknown or token.is_special):
            palette_role = WARNING
            if not token.is_unknown:
                palette_role = QPalette.ColorRole.PlaceholderText
            return QApplication.palette().color(palette_role)
        if role == Qt.ItemDataRole.FontRole and token.is_special and index.column() == TOKEN:
            font = QFont()
            font.setItalic(True)
            return font
        return super().data(index, role)

    def text(self, row: int) -> str:
        """Return a token's whole text."""
        return self._rows[row].cells[TOKEN]

    def tip(self, row: int) -> str:
        """Return all that is known of a token, in words."""
        token, piece = self._tokens[row], self._pieces[row]
        parts = [
            self.tr("token {0}: {1}").format(row, _in_tip(token.text)),
            self.tr("id {0}").format(token.id),
            self.tr("segment {0}").format(token.segment),
        ]
        if token.is_special:
            parts.append(self.tr("special token"))
        if piece.count > 1:
            says = self.tr("piece {0} of {1} of the word {2}")
            parts.append(says.format(piece.place + 1, piece.count, _in_tip(piece.word)))
        tip = ", ".join(parts)
        if not token.is_unknown:
            return tip
        lack = self.tr("Not in the vocabulary: the model cannot tell it from other unknown text.")
        if token.written:
            lack = self.tr("{0} is not in the vocabulary: the model reads {1}.").format(
                _in_tip(token.written), token.text
            )
        return f"{tip}\n{lack}"


def joined(tokens: tuple[Token, ...]) -> list[bool]:
    """Return which tokens go on the word before them."""
    return [place > 0 for group in _words(tokens) for place in range(len(group))]


def _in_tip(text: str) -> str:
    return isolated(shortened(visible(text), LONGEST_IN_TIP))


def _words(tokens: tuple[Token, ...]) -> list[list[Token]]:
    """Return the tokens in groups: the pieces of one word, or a token without a word."""
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
