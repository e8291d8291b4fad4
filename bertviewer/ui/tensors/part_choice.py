"""Which slice of a tensor is looked at: a head, or where in more than two dimensions."""

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QComboBox, QHBoxLayout, QSpinBox, QWidget

from bertviewer.core.tensors.heads import HeadLayout
from bertviewer.core.tensors.matrix import Matrix
from bertviewer.core.tensors.values import TensorValues

ALL = -1


class PartChoice(QWidget):
    """Choices that a tensor has, and none that it has not; ``changed`` tells of a new one.

    ``head_chosen`` brings the head that a person chose. All heads are no other head: who chose
    them sees whole tensors until another head is selected anywhere in the window.
    """

    changed = Signal()
    head_chosen = Signal(int)

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._layout: HeadLayout | None = None
        self._wanted: int | None = None  # the head to show, of every tensor that has it
        self._shared = 1  # so many of the window's heads have one of the tensor's
        self._leading: list[QSpinBox] = []
        self._part = QComboBox()
        self._part.setObjectName("partOfHeads")
        self._part.setAccessibleName(self.tr("Query, key or value"))
        self._head = QComboBox()
        self._head.setObjectName("headChoice")
        self._head.setAccessibleName(self.tr("Head"))
        self._row = QHBoxLayout(self)
        self._row.setContentsMargins(0, 0, 0, 0)
        self._row.setSpacing(6)
        self._row.addWidget(self._part)
        self._row.addWidget(self._head)
        self._part.currentIndexChanged.connect(self._on_part)
        self._head.currentIndexChanged.connect(self._on_head)
        self.show_choices((), None)

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
        self._show_leading(shape[:-2] if len(shape) > 2 else ())
        if (layout, shared) == (self._layout, self._shared) and self._head.count():
            return
        self._layout, self._shared = layout, shared
        for choice in (self._part, self._head):
            choice.blockSignals(True)
            choice.clear()
        if layout is not None:
            self._fill(layout)
        for choice in (self._part, self._head):
            choice.blockSignals(False)
        self._part.setVisible(layout is not None and len(layout.parts) > 1)
        self._head.setVisible(layout is not None)
        self._enable()

    def show_head(self, head: int | None) -> bool:
        """Choose a head, of this tensor and of others; return whether that shows another slice."""
        self._wanted = head
        before = self._head.currentIndex()
        self._head.blockSignals(True)
        self._choose_wanted()
        self._head.blockSignals(False)
        return self._head.isEnabled() and self._head.currentIndex() != before

    def matrix(self, values: TensorValues) -> Matrix:
        """Return the chosen slice."""
        leading = tuple(box.value() for box in self._leading)
        layout = self._layout
        if layout is None:
            return Matrix(values, leading)
        part, head = self._part.currentData(), self._head.currentData()
        if part == ALL:
            return Matrix(values, leading)
        if head == ALL:
            if len(layout.parts) == 1:
                return Matrix(values, leading)
            span = layout.span(part, 0)[0], layout.span(part, layout.heads - 1)[1]
        else:
            span = layout.span(part, head)
        if layout.axis == "rows":
            return Matrix(values, leading, rows=span)
        return Matrix(values, leading, columns=span)

    def _fill(self, layout: HeadLayout) -> None:
        if len(layout.parts) > 1:
            self._part.addItem(self.tr("all parts"), ALL)
        for number, part in enumerate(layout.parts):
            self._part.addItem(part, number)
        self._head.addItem(self.tr("all heads"), ALL)
        for head in range(layout.heads):
            first, stop = layout.span(0, head)
            self._head.addItem(self.tr("head {0}").format(head), head)
            self._head.setItemData(
                head + 1, f"{layout.axis} {first}–{stop - 1}", Qt.ItemDataRole.ToolTipRole
            )
        self._choose_wanted()

    def _choose_wanted(self) -> None:
        if self._layout is not None:
            head = ALL if self._wanted is None else self._wanted // self._shared
            is_there = head < self._layout.heads
            self._head.setCurrentIndex(self._head.findData(head if is_there else ALL))

    def _show_leading(self, sizes: tuple[int, ...]) -> None:
        if [box.maximum() + 1 for box in self._leading] == list(sizes):
            return
        for box in self._leading:
            self._row.removeWidget(box)
            box.deleteLater()
        self._leading = []
        for axis, size in enumerate(sizes):
            box = QSpinBox()
            box.setObjectName(f"leadingIndex{axis}")
            box.setAccessibleName(self.tr("Index in dimension {0}").format(axis))
            box.setToolTip(self.tr("Index in dimension {0}").format(axis))
            box.setRange(0, max(0, size - 1))
            box.valueChanged.connect(self.changed)
            self._row.insertWidget(axis, box)
            self._leading.append(box)

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
