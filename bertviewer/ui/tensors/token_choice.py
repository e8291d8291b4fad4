"""Which token's row of a tensor is looked at: all of them, or one that is read downwards."""

from PySide6.QtCore import QSignalBlocker, Signal
from PySide6.QtWidgets import QComboBox

from bertviewer.charts.labels import MAX_TOKEN, shortened, visible
from bertviewer.core.checkpoints.reading import Span
from bertviewer.core.tensors.axes import Axis
from bertviewer.ui.views.choice_box import offer
from bertviewer.ui.widgets.layouts import named


class TokenChoice(QComboBox):
    """Tokens of a run that a tensor's rows are; hidden where they are none.

    ``changed`` tells of a new choice, and ``token_chosen`` brings the run's token. One that is
    selected elsewhere is followed by who sees a single one.
    """

    changed = Signal()
    token_chosen = Signal(int)

    def __init__(self) -> None:
        super().__init__()
        tip = self.tr("A single token’s row is shown as a column")
        named(self, "tokenChoice", accessible_name=self.tr("Token"), tooltip=tip)
        self.currentIndexChanged.connect(self._on_index)
        self.show_rows(Axis())

    @property
    def span(self) -> Span | None:
        """The row that is chosen, ``None`` for all of them."""
        row = self.currentIndex() - 1
        return (row, row + 1) if row >= 0 else None

    def show_rows(self, rows: Axis) -> None:
        """Offer what the rows of a tensor are; the same token stays chosen."""
        places = rows.positions if rows.kind == "token" and len(rows.positions) > 1 else ()
        self.setVisible(bool(places))
        names = (shortened(visible(name), MAX_TOKEN) for name in rows.names.names) if places else ()
        tokens = ((f"{n}  {name}", n) for n, name in zip(places, names, strict=True))
        offer(self, ((self.tr("all tokens"), None), *tokens))

    def choose(self, token: int | None) -> None:
        """Choose a token of the run, if it has a row here, and tell nobody."""
        if token is not None and (row := self.findData(token)) >= 0:
            with QSignalBlocker(self):
                self.setCurrentIndex(row)

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
            self.token_chosen.emit(self.currentData())
        self.changed.emit()
