"""Choice of a slice of a tensor: a head, a token, or indices of leading dimensions."""

from PySide6.QtCore import QSignalBlocker, Qt, Signal
from PySide6.QtWidgets import QComboBox, QSpinBox, QWidget

from bertviewer.charts.labels import MAX_TOKEN, shortened, visible
from bertviewer.core.analysis.heads import HeadLayout
from bertviewer.core.checkpoints.reading import Span
from bertviewer.core.tensors.axes import Axis
from bertviewer.core.tensors.matrix import Matrix
from bertviewer.core.tensors.values import TensorValues
from bertviewer.ui.views.choice_box import offer
from bertviewer.ui.widgets.layouts import hbox, named, number_field

ALL = -1
HEAD_DIMENSION = 1
"""The dimension of the heads, of four."""


class TokenChoice(QComboBox):
    """The tokens of a run that a tensor's rows belong to; hidden if they belong to none.

    ``changed`` when the choice changes; ``token_chosen`` has the token that the user chose. A
    single token follows the selection of the window, all tokens do not.
    """

    changed = Signal()
    token_chosen = Signal(int)

    def __init__(self) -> None:
        super().__init__()
        tooltip = self.tr("A single token’s row is shown as a column")
        named(self, "tokenChoice", accessible_name=self.tr("Token"), tooltip=tooltip)
        self.currentIndexChanged.connect(self._on_index)
        self.show_rows(Axis())

    @property
    def span(self) -> Span | None:
        """The chosen row, ``None`` for all."""
        row = self.currentIndex() - 1
        return (row, row + 1) if row >= 0 else None

    def show_rows(self, rows: Axis) -> None:
        """Offer the rows of a tensor; the same token stays chosen."""
        places = rows.positions if rows.kind == "token" and len(rows.positions) > 1 else ()
        self.setVisible(bool(places))
        names = (shortened(visible(name), MAX_TOKEN) for name in rows.names.names) if places else ()
        tokens = ((f"{n}  {name}", n) for n, name in zip(places, names, strict=True))
        offer(self, ((self.tr("all tokens"), None), *tokens))

    def choose(self, token: int | None) -> None:
        """Choose a token of the run, if it has a row; emits nothing."""
        if token is not None and (row := self.findData(token)) >= 0:
            with QSignalBlocker(self):
                self.setCurrentIndex(row)

    def follow(self, token: int | None) -> bool:
        """Choose the selected token unless all are chosen; return whether the choice changed."""
        before = self.currentIndex()
        if before > 0:
            self.choose(token)
        return self.currentIndex() != before

    def show_row(self, row: int) -> None:
        """Choose a row unless all are chosen."""
        if self.currentIndex() > 0:
            self.setCurrentIndex(row + 1)

    def _on_index(self, index: int) -> None:
        if index > 0:
            self.token_chosen.emit(self.currentData())
        self.changed.emit()


class PartChoice(QWidget):
    """The choices that a tensor has; ``changed`` when one of them changes.

    ``head_chosen`` has the head that the user chose. After "all heads", tensors are shown whole
    until another head is selected in the window.
    """

    changed = Signal()
    head_chosen = Signal(int)

    def __init__(self) -> None:
        super().__init__()
        self._layout: HeadLayout | None = None
        self._selected_head: int | None = None  # shown of every tensor that has it
        self._group_size = 1  # attention heads per head of the tensor
        self._sizes: tuple[int, ...] = ()  # of the leading dimensions
        self._leading: dict[int, QSpinBox] = {}
        self._part = named(
            QComboBox(), "partOfHeads", accessible_name=self.tr("Query, key or value")
        )
        self._head = named(QComboBox(), "headChoice", accessible_name=self.tr("Head"))
        self.tokens = TokenChoice()
        title = self.tr("Given, recomputed or difference")
        self._compared = named(QComboBox(), "comparedChoice", accessible_name=title)
        self._boxes = self._part, self._head, self.tokens, self._compared
        self._row = hbox(*self._boxes, parent=self, spacing=6)
        self._part.currentIndexChanged.connect(self._on_part)
        self._head.currentIndexChanged.connect(self._on_head)
        self.tokens.changed.connect(self.changed)
        self._compared.currentIndexChanged.connect(self.changed)
        self.show_choices((), None)
        self.show_compared(())

    @property
    def count(self) -> int:
        """Number of visible choices."""
        return sum(not box.isHidden() for box in (*self._boxes, *self._leading.values()))

    @property
    def compared(self) -> str:
        """Title of the chosen one of several compared tensors, "" if there is only one."""
        return self._compared.currentData() or ""

    def show_choices(
        self, shape: tuple[int, ...], layout: HeadLayout | None, group_size: int = 1
    ) -> None:
        """Offer the choices of a tensor.

        Args:
            shape: the tensor's.
            layout: how heads are laid out in it.
            group_size: number of attention heads per head of the tensor, in grouped-query
                attention.
        """
        self._show_leading(shape[:-2] if len(shape) > 2 else (), layout)
        if (layout, group_size) == (self._layout, self._group_size) and self._head.count():
            return
        self._layout, self._group_size = layout, group_size
        self._offer_heads(layout)
        self._part.setVisible(layout is not None and len(layout.parts) > 1)
        self._head.setVisible(layout is not None)
        self._enable()

    def show_compared(self, titles: tuple[str, ...]) -> None:
        """Offer several compared tensors; the last one is the default."""
        offer(self._compared, ((title, title) for title in titles), len(titles) - 1)
        self._compared.setVisible(len(titles) > 1)

    def show_head(self, head: int | None) -> bool:
        """Choose a head for this tensor and others; return whether the slice changed."""
        self._selected_head = head
        before = self._head.currentIndex()
        self._choose_selected_head()
        return self._head.isEnabled() and self._head.currentIndex() != before

    def show_index(self, index: tuple[int, ...]) -> None:
        """Choose the slice that contains an element of the tensor."""
        if self._layout is not None and self._layout.axis == "matrices":
            self._head.setCurrentIndex(self._head.findData(index[HEAD_DIMENSION]))
        elif self._layout is not None:
            self._part.setCurrentIndex(max(0, self._part.findData(ALL)))
            if (every := self._head.findData(ALL)) >= 0:
                self._head.setCurrentIndex(every)
        for axis, box in self._leading.items():
            box.setValue(index[axis])
        if len(index) > 1:
            self.tokens.show_row(index[-2])

    def matrix(self, values: TensorValues) -> Matrix:
        """Return the chosen slice."""
        rows, columns = self.tokens.span, None
        leading = [0] * len(self._sizes)
        for axis, box in self._leading.items():
            leading[axis] = box.value()
        layout = self._layout
        span = self._head_span()
        if layout is not None and layout.axis == "matrices":
            leading[HEAD_DIMENSION] = self._head.currentData()
        elif layout is not None and span is not None:
            rows, columns = (span, None) if layout.axis == "rows" else (rows, span)
        return Matrix(values, tuple(leading), rows, columns)

    def _head_span(self) -> tuple[int, int] | None:
        """Return the rows or columns of the chosen head or part, ``None`` for all."""
        layout = self._layout
        if layout is None or layout.axis == "matrices":
            return None
        part, head = self._part.currentData(), self._head.currentData()
        if part == ALL:
            return None
        if head != ALL:
            return layout.span(part, head)
        if len(layout.parts) == 1:
            return None
        return layout.span(part, 0)[0], layout.span(part, layout.heads - 1)[1]

    def _offer_heads(self, layout: HeadLayout | None) -> None:
        parts = () if layout is None else layout.parts
        whole = ((self.tr("all parts"), ALL),) if len(parts) > 1 else ()
        offer(self._part, (*whole, *((part, number) for number, part in enumerate(parts))))
        # The rows of one part in all heads are not contiguous.
        has_all = layout is not None and layout.axis != "matrices" and not layout.is_by_head
        every = ((self.tr("all heads"), ALL),) if has_all else ()
        heads = range(0 if layout is None else layout.heads)
        offer(self._head, (*every, *((self.tr("head {0}").format(head), head) for head in heads)))
        if layout is not None and layout.axis != "matrices":
            for head in heads:
                first, stop = layout.span(0, head)
                tip = f"{layout.axis} {first}–{stop - 1}"
                self._head.setItemData(len(every) + head, tip, Qt.ItemDataRole.ToolTipRole)
        self._choose_selected_head()

    def _choose_selected_head(self) -> None:
        """Choose the selected head; emits nothing."""
        if self._layout is not None:
            head = ALL if self._selected_head is None else self._selected_head // self._group_size
            index = self._head.findData(head if head < self._layout.heads else ALL)
            with QSignalBlocker(self._head):
                self._head.setCurrentIndex(max(0, index))  # matrices have no "all heads"

    def _show_leading(self, sizes: tuple[int, ...], layout: HeadLayout | None) -> None:
        """Offer a field for each leading dimension but the heads' and those of size 1."""
        by_head = layout is not None and layout.axis == "matrices"
        self._sizes = sizes
        needed = {
            axis: size
            for axis, size in enumerate(sizes)
            if size != 1 and not (by_head and axis == HEAD_DIMENSION)
        }
        if {axis: box.maximum() + 1 for axis, box in self._leading.items()} == needed:
            return
        for box in self._leading.values():
            self._row.removeWidget(box)
            box.deleteLater()
        self._leading = {}
        for axis, size in needed.items():
            title = self.tr("Index in dimension {0}").format(axis)
            box = number_field(f"leadingIndex{axis}", title)
            box.setRange(0, max(0, size - 1))
            box.valueChanged.connect(self.changed)
            self._row.insertWidget(len(self._leading), box)
            self._leading[axis] = box

    def _on_head(self) -> None:
        head = self._head.currentData()
        if head == ALL:
            self._selected_head = None
        elif self._selected_head is None or self._selected_head // self._group_size != head:
            self._selected_head = head * self._group_size  # the first of the group
            self.head_chosen.emit(self._selected_head)
        self.changed.emit()

    def _on_part(self) -> None:
        self._enable()
        self.changed.emit()

    def _enable(self) -> None:
        self._head.setEnabled(self._part.currentData() != ALL)
