"""Which slice of a tensor is looked at: a head, a token, or where in more than two dimensions."""

from PySide6.QtCore import QSignalBlocker, Qt, Signal
from PySide6.QtWidgets import QComboBox, QSpinBox, QWidget

from bertviewer.core.analysis.heads import HeadLayout
from bertviewer.core.tensors.matrix import Matrix
from bertviewer.core.tensors.values import TensorValues
from bertviewer.ui.tensors.token_choice import TokenChoice
from bertviewer.ui.views.choice_box import offer
from bertviewer.ui.widgets.layouts import hbox, named, number_field

ALL = -1
HEADS_AT = 1
"""The dimension of four that counts the heads."""


class PartChoice(QWidget):
    """Choices that a tensor has, and none that it has not; ``changed`` tells of a new one.

    ``head_chosen`` brings the head that a person chose. All heads are no other head: who chose
    them sees whole tensors until another head is selected anywhere in the window. ``tokens`` has
    the choice of a token.
    """

    changed = Signal()
    head_chosen = Signal(int)

    def __init__(self) -> None:
        super().__init__()
        self._layout: HeadLayout | None = None
        self._wanted: int | None = None  # the head to show, of every tensor that has it
        self._shared = 1  # so many of the window's heads have one of the tensor's
        self._sizes: tuple[int, ...] = ()  # of the dimensions before the last two
        self._leading: dict[int, QSpinBox] = {}
        self._part = named(
            QComboBox(), "partOfHeads", accessible_name=self.tr("Query, key or value")
        )
        self._head = named(QComboBox(), "headChoice", accessible_name=self.tr("Head"))
        self.tokens = TokenChoice()
        says = self.tr("Given, recomputed or difference")
        self._beside = named(QComboBox(), "comparedChoice", accessible_name=says)
        choices = self._part, self._head, self.tokens, self._beside
        self._row = hbox(*choices, parent=self, spacing=6)
        self._part.currentIndexChanged.connect(self._on_part)
        self._head.currentIndexChanged.connect(self._on_head)
        self.tokens.changed.connect(self.changed)
        self._beside.currentIndexChanged.connect(self.changed)
        self.show_choices((), None)
        self.show_beside(())

    @property
    def count(self) -> int:
        """How many choices there are."""
        choices = (self._part, self._head, self.tokens, self._beside, *self._leading.values())
        return sum(not choice.isHidden() for choice in choices)

    @property
    def compared(self) -> str:
        """Which of several tensors is shown, "" where there is one."""
        return self._beside.currentData() or ""

    def show_choices(
        self, shape: tuple[int, ...], layout: HeadLayout | None, shared: int = 1
    ) -> None:
        """Offer what a tensor has.

        Args:
            shape: the tensor's.
            layout: how heads lie in it.
            shared: how many of the window's heads share one of these, as several heads of
                queries share one of keys.
        """
        self._show_leading(shape[:-2] if len(shape) > 2 else (), layout)
        if (layout, shared) == (self._layout, self._shared) and self._head.count():
            return
        self._layout, self._shared = layout, shared
        self._offer(layout)
        self._part.setVisible(layout is not None and len(layout.parts) > 1)
        self._head.setVisible(layout is not None)
        self._enable()

    def show_beside(self, titles: tuple[str, ...]) -> None:
        """Offer several tensors of which one is shown, the last one at first."""
        offer(self._beside, ((title, title) for title in titles), len(titles) - 1)
        self._beside.setVisible(len(titles) > 1)

    def show_head(self, head: int | None) -> bool:
        """Choose a head, of this tensor and of others; return whether that shows another slice."""
        self._wanted = head
        before = self._head.currentIndex()
        self._choose_wanted()
        return self._head.isEnabled() and self._head.currentIndex() != before

    def show_index(self, index: tuple[int, ...]) -> None:
        """Choose the slice that holds an element of the tensor; ``changed`` tells if it is new."""
        if self._layout is not None and self._layout.axis == "matrices":
            self._head.setCurrentIndex(self._head.findData(index[HEADS_AT]))
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
            leading[HEADS_AT] = self._head.currentData()
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

    def _offer(self, layout: HeadLayout | None) -> None:
        parts = () if layout is None else layout.parts
        whole = ((self.tr("all parts"), ALL),) if len(parts) > 1 else ()
        offer(self._part, (*whole, *((part, number) for number, part in enumerate(parts))))
        # A part of all heads would be rows far from one another.
        has_all = layout is not None and layout.axis != "matrices" and not layout.is_by_head
        every = ((self.tr("all heads"), ALL),) if has_all else ()
        heads = range(0 if layout is None else layout.heads)
        offer(self._head, (*every, *((self.tr("head {0}").format(head), head) for head in heads)))
        if layout is not None and layout.axis != "matrices":
            for head in heads:
                first, stop = layout.span(0, head)
                tip = f"{layout.axis} {first}–{stop - 1}"
                self._head.setItemData(len(every) + head, tip, Qt.ItemDataRole.ToolTipRole)
        self._choose_wanted()

    def _choose_wanted(self) -> None:
        """Choose the head that is wanted, and tell nobody."""
        if self._layout is not None:
            head = ALL if self._wanted is None else self._wanted // self._shared
            is_there = head < self._layout.heads
            with QSignalBlocker(self._head):
                # Of matrices one has to be chosen.
                self._head.setCurrentIndex(max(0, self._head.findData(head if is_there else ALL)))

    def _show_leading(self, sizes: tuple[int, ...], layout: HeadLayout | None) -> None:
        """Offer what is not told by a head, and is not a batch of one."""
        by_head = layout is not None and layout.axis == "matrices"
        self._sizes = sizes
        wanted = {
            axis: size
            for axis, size in enumerate(sizes)
            if size != 1 and not (by_head and axis == HEADS_AT)
        }
        if {axis: box.maximum() + 1 for axis, box in self._leading.items()} == wanted:
            return
        for box in self._leading.values():
            self._row.removeWidget(box)
            box.deleteLater()
        self._leading = {}
        for axis, size in wanted.items():
            says = self.tr("Index in dimension {0}").format(axis)
            box = number_field(f"leadingIndex{axis}", says)
            box.setRange(0, max(0, size - 1))
            box.valueChanged.connect(self.changed)
            self._row.insertWidget(len(self._leading), box)
            self._leading[axis] = box

    def _on_head(self) -> None:
        head = self._head.currentData()
        if head == ALL:
            self._wanted = None
        elif self._wanted is None or self._wanted // self._shared != head:
            # Of those that share it the first.
            self._wanted = head * self._shared
            self.head_chosen.emit(self._wanted)
        self.changed.emit()

    def _on_part(self) -> None:
        self._enable()
        self.changed.emit()

    def _enable(self) -> None:
        self._head.setEnabled(self._part.currentData() != ALL)
