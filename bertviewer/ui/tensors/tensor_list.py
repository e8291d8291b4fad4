"""List of a module's tensors: parameters, inputs and outputs in a run, steps of its check."""

from collections.abc import Sequence

from msgspec import Struct
from PySide6.QtCore import QObject, Qt
from typing_extensions import override

from bertviewer.core.expressions.symbols import shape_text
from bertviewer.core.schema.check import CheckStep
from bertviewer.core.schema.count_steps import readable
from bertviewer.core.schema.modules import TensorInfo
from bertviewer.core.schema.source_info import SourceInfo
from bertviewer.core.util.numbers import deviation_text, with_minus
from bertviewer.ui.tensors.subject import Listed
from bertviewer.ui.widgets.tables import Column, Index, Row, TableModel


class Group(Struct, frozen=True):
    """Rows under a title."""

    title: str
    listed: tuple[Listed, ...]


class TensorListModel(TableModel):
    """One row per tensor; several groups have titles, and are sorted separately."""

    def __init__(self, parent: QObject | None = None) -> None:
        columns = (
            Column(self.tr("Name")),
            Column(self.tr("Shape")),
            Column(self.tr("In symbols")),
            Column(self.tr("Elements"), is_number=True),
            Column(self.tr("Dtype")),
            Column(self.tr("Trainable")),
            Column(self.tr("Notes")),
        )
        super().__init__(columns, parent)
        self._listed: tuple[Listed | None, ...] = ()  # None for a title
        self._random: frozenset[str] = frozenset()
        self._quantized: frozenset[str] = frozenset()

    def set_groups(
        self, groups: Sequence[Group], prefix: str, source: SourceInfo | None = None
    ) -> None:
        """Show other groups; names are shown without ``prefix``.

        The notes say which tensors are random or quantized according to ``source``.
        """
        self._random = frozenset(() if source is None else source.random_tensors)
        self._quantized = frozenset(() if source is None else source.quantized_tensors)
        listed: list[Listed | None] = []
        rows = []
        for group in (group for group in groups if group.listed):
            if len(groups) > 1:
                listed.append(None)
                rows.append(Row((group.title, *[""] * (len(self._columns) - 1)), is_bold=True))
            listed += group.listed
            rows += [self._row(each, prefix) for each in group.listed]
        self._listed = tuple(listed)
        self.set_rows(rows)

    @property
    def listed(self) -> tuple[Listed | None, ...]:
        """What each row is about, as sorted; ``None`` for a title."""
        return tuple(self._listed[number] for number in self._order)

    def largest(self) -> TensorInfo | None:
        """Return the first of the largest parameters, of those stored in the checkpoint if any.

        The values of random ones would have to be drawn with all other weights.
        """
        tensors = [each for each in self._listed if isinstance(each, TensorInfo)]
        stored = [each for each in tensors if each.name not in self._random | self._quantized]
        return max(stored or tensors, key=lambda tensor: tensor.numel, default=None)

    @override
    def flags(self, index: Index) -> Qt.ItemFlag:
        # The arrow keys skip titles.
        is_title = index.isValid() and self._listed[self.number(index.row())] is None
        return Qt.ItemFlag.NoItemFlags if is_title else super().flags(index)

    @override
    def _sort(self) -> Sequence[int]:
        column, order = self._sorted
        if column < 0:
            return super()._sort()
        found: list[int] = []
        start, count = 0, len(self._rows)
        for end in [*(n for n, each in enumerate(self._listed) if each is None), count]:
            found += self._sorted_rows(range(start, end), column, order)
            found += range(end, min(end + 1, count))  # the title
            start = end + 1
        return found

    def _row(self, listed: Listed, prefix: str) -> Row:
        if isinstance(listed, TensorInfo):
            return self._parameter_row(listed, prefix)
        if isinstance(listed, CheckStep):
            return self._step_row(listed, prefix)
        note = self.tr("{0}: values not shown").format(listed.skip_reason)
        cells = (
            listed.key.name,
            shape_text(listed.shape),
            readable(shape_text(listed.symbolic_shape)),
            f"{listed.numel:,}",
            listed.dtype,
            "",
            note if listed.skip_reason else "",
        )
        return Row(cells)

    def _parameter_row(self, tensor: TensorInfo, prefix: str) -> Row:
        note = self.tr("not in the checkpoint (random)") if tensor.name in self._random else ""
        if tensor.name in self._quantized:
            note = self.tr("quantized: stored as codes")
        if tensor.tied_to is not None:
            note = self.tr("tied to {0}, counted there").format(tensor.tied_to)
        cells = (
            tensor.name.removeprefix(prefix),
            shape_text(tensor.shape),
            readable(shape_text(tensor.symbolic_shape)),
            f"{tensor.numel:,}",
            tensor.dtype,
            self.tr("yes") if tensor.trainable else self.tr("no"),
            note,
        )
        return Row(cells, tensor.name, path=tensor.name)

    def _step_row(self, step: CheckStep, prefix: str) -> Row:
        below = step.path.removeprefix(prefix)
        is_below = bool(below) and f"{step.path}." != prefix
        verdict = self.tr("✓ equal") if step.ok else self.tr("✗ different")
        figures = (with_minus(deviation_text(n)) for n in (step.max_abs_error, step.tolerance))
        note = self.tr("{0}: max |Δ| {1}, tolerance {2}").format(verdict, *figures)
        name = f"{below}: {step.step}" if is_below else step.step
        return Row((name, *[""] * 5, note), step.path, is_bold=not step.ok)
