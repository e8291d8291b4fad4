"""Which token's row of a tensor is looked at: all of them, or one that is read downwards."""

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QComboBox, QWidget

from bertviewer.charts.naming import LONGEST, shortened, visible
from bertviewer.core.tensors.named_values import Axis
from bertviewer.core.weights.reading import Span

ALL = 0


class TokenChoice(QComboBox):
    """Tokens of a run that a tensor's rows are; hidden where they are none.

    ``changed`` tells of a new choice, and ``token_chosen`` brings the run's token. One that is
    selected elsewhere is followed by who sees a single one.
    """

    changed = Signal()
    token_chosen = Signal(int)

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._rows = Axis()
        self.setObjectName("tokenChoice")
        self.setAccessibleName(self.tr("Token"))
        self.setToolTip(self.tr("The row of a single token is read downwards"))
        self.currentIndexChanged.connect(self._on_index)
        self.show_rows(Axis())

    @property
    def span(self) -> Span | None:
        """The row that is chosen, ``None`` for all of them."""
        row = self.currentIndex() - 1
        return (row, row + 1) if row >= 0 else None

    def show_rows(self, rows: Axis) -> None:
        """Offer what the rows of a tensor are; the same token stays chosen."""
        places = rows.places if rows.kind == "token" and len(rows.places) > 1 else ()
        chosen = self._rows.places[self.currentIndex() - 1] if self.currentIndex() > 0 else None
        is_same = (places, rows.names.names) == (self._rows.places, self._rows.names.names)
        self.setVisible(bool(places))
        if is_same and self.count():
            return
        self._rows = rows if places else Axis()
        self.blockSignals(True)
        self.clear()
        self.addItem(self.tr("all tokens"))
        names = (shortened(visible(name), LONGEST) for name in self._rows.names.names)
        self.addItems([f"{place}  {name}" for place, name in zip(places, names, strict=True)])
        self.setCurrentIndex(places.index(chosen) + 1 if chosen in places else ALL)
        self.blockSignals(False)

    def choose(self, token: int | None) -> None:
        """Choose a token of the run, if it has a row here, and tell nobody."""
        if token in self._rows.places:
            self.blockSignals(True)
            self.setCurrentIndex(self._rows.places.index(token) + 1)
            self.blockSignals(False)

    def follow(self, token: int | None) -> bool:
        """Choose a token of the run, if a single one is shown; return whether it is another."""
        before = self.currentIndex()
        if before > 0:
            self.choose(token)
        return self.currentIndex() != before

    def show_row(self, row: int) -> None:
        """Choose another row, if a single one is shown."""
        if self.currentIndex() > 0:
            self.setCurrentIndex(row + 1)

    def _on_index(self, index: int) -> None:
        if index > 0:
            self.token_chosen.emit(self._rows.places[index - 1])
        self.changed.emit()
