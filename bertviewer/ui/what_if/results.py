"""Results of changed values: the model, the selected row, the parts and the tensors."""

import re
from collections.abc import Mapping, Sequence

from PySide6.QtWidgets import QFrame, QScrollArea

from bertviewer.core.expressions.evaluation import all_met, names_in
from bertviewer.core.expressions.symbols import shape_text
from bertviewer.core.schema.costs import BITS, FLOPS_PER_MAC, bytes_by_dtype
from bertviewer.core.schema.count_steps import readable
from bertviewer.core.schema.module_tree import TreeRow
from bertviewer.core.what_if.scenario import Figure, Outcome
from bertviewer.ui.what_if.figures import FigureGrid, FigureLine, PartBars, PartFigure
from bertviewer.ui.what_if.texts import bytes_text, difference_text, domain_text, ratio_text
from bertviewer.ui.widgets.labels import blank_page, heading_label, muted_label, plain_label
from bertviewer.ui.widgets.layouts import STRETCH, named, vbox
from bertviewer.ui.widgets.tables import Column, Row, TableModel, make_table

_SYMBOL = re.compile(r"[^\W\d]\w*")
_CACHE_DTYPE = "float16"
_ACTIVATION_DTYPES = ("float32", "float16")
_DTYPE_NAMES = {"float16": "(b)float16"}  # bfloat16 has the same size
_MAX_ROWS = 10


class ResultsView(QScrollArea):
    """Everything that follows from a scenario; disabled while the entered values are invalid."""

    def __init__(self) -> None:
        super().__init__()
        self.setObjectName("whatIfResults")
        self.setWidgetResizable(True)
        self.setFrameShape(QFrame.Shape.NoFrame)
        self._page = blank_page()
        self._heading = heading_label("")
        self._model = FigureGrid("whatIfModelFigures")
        self._row_heading = heading_label("")
        self._row = FigureGrid("whatIfRowFigures")
        self._note = named(muted_label(""), "whatIfNote")
        self._note.setContentsMargins(0, 6, 0, 0)
        self._formula = named(plain_label(""), "whatIfFormula")
        self._formula.setContentsMargins(0, 6, 0, 4)
        self._parts = PartBars()
        columns = self.tr("Name"), self.tr("In symbols"), self.tr("What if")
        self._tensors = TableModel([Column(title) for title in columns], self)
        title = self.tr("Shapes of the module’s tensors")
        self._tensor_table = make_table(self._tensors, "whatIfTensors", title)
        self._tensor_heading = heading_label(self.tr("Tensors"))
        vbox(
            self._heading,
            self._model,
            self._row_heading,
            self._row,
            self._note,
            self._formula,
            heading_label(self.tr("Parameters by part (line = current model)")),
            self._parts,
            self._tensor_heading,
            self._tensor_table,
            STRETCH,
            parent=self._page,
            margins=(16, 8, 8, 16),
            spacing=4,
        )
        self.setWidget(self._page)

    def show_outcome(
        self, outcome: Outcome, real: Outcome, row: TreeRow, is_valid: bool, is_deriving: bool
    ) -> None:
        """Show all results.

        Args:
            outcome: the results; the last valid ones if the entered values are invalid.
            real: the results for the model's own values.
            row: the selected row.
            is_valid: whether ``outcome`` belongs to the entered values.
            is_deriving: whether formulas are still being derived.
        """
        self._heading.setText(self._heading_text(outcome, is_valid))
        self._model.set_lines(self._model_lines(outcome))
        is_part = bool(row.node.path)
        self._row_heading.setVisible(is_part)
        self._row.setVisible(is_part)
        if is_part:
            self._row_heading.setText(f"{row.key} ({row.class_label})")
            self._row.set_lines(self._row_lines(outcome, real, row))
        texts = self._formula_text(outcome, row), self._note_text(outcome, row, is_deriving)
        for label, text in zip((self._formula, self._note), texts, strict=True):
            label.setText(text)
            label.setVisible(bool(text))
        self._parts.set_parts(self._parts_of(outcome))
        self._show_tensors(outcome, row.node.path)
        self._page.setEnabled(is_valid)

    def _show_tensors(self, outcome: Outcome, path: str) -> None:
        prefix = f"{path}." if path else ""
        tensors = outcome.sheet.architecture.tensors_below(path)
        rows = [
            Row(
                (
                    tensor.name.removeprefix(prefix),
                    readable(shape_text(tensor.symbolic_shape)),
                    shape_text(outcome.shape(tensor)),
                ),
                hint=tensor.name,
            )
            for tensor in tensors
            if outcome.exists(tensor.owner)
        ]
        self._tensors.set_rows(rows)
        self._tensor_heading.setVisible(bool(rows))
        self._tensor_table.setVisible(bool(rows))
        row_height = self._tensor_table.verticalHeader().defaultSectionSize()
        # The header and a scroll bar need two more rows.
        self._tensor_table.setFixedHeight(row_height * (min(len(rows), _MAX_ROWS) + 2))

    def _heading_text(self, outcome: Outcome, is_valid: bool) -> str:
        if not is_valid:
            return self.tr("Whole model, with the last valid values")
        if outcome.built is not None:
            return self.tr("Whole model, built with these values")
        if outcome.scenario.changed or outcome.scenario.kept:
            return self.tr("Whole model, from formulas")
        return self.tr("Whole model")

    def _model_lines(self, outcome: Outcome) -> list[FigureLine]:
        parameters = outcome.parameters("")
        lines = self._count_lines(parameters, outcome.macs(""))
        lines += _memory_lines(self.tr("Weights"), parameters, tuple(BITS))
        if (peak := outcome.peak()) is not None:
            lines += _memory_lines(self.tr("Activations"), peak, _ACTIVATION_DTYPES)
        if (cache := outcome.kv_cache(_CACHE_DTYPE)) is not None:
            name = f"{self.tr('KV cache')}, {_DTYPE_NAMES[_CACHE_DTYPE]}"
            before, after = bytes_text(cache.real), bytes_text(cache.value)
            lines.append(FigureLine(name, before, after, ratio_text(cache)))
        return lines

    def _row_lines(self, outcome: Outcome, real: Outcome, row: TreeRow) -> list[FigureLine]:
        parameters = outcome.row_parameters(row)
        lines = self._count_lines(parameters, outcome.row_macs(row))
        lines += _memory_lines(self.tr("Weights"), parameters, ("float32",))
        path = row.node.path
        for name, before, after in (
            (self.tr("Input"), real.input_shape(path), outcome.input_shape(path)),
            (self.tr("Output"), real.output_shape(path), outcome.output_shape(path)),
        ):
            if before is not None and after is not None:
                lines.append(FigureLine(name, shape_text(before), shape_text(after), ""))
        return lines

    def _count_lines(self, parameters: Figure, macs: Figure | None) -> list[FigureLine]:
        lines = [
            _count_line(self.tr("Parameters"), parameters, is_main=True),
            FigureLine(self.tr("Difference"), "", difference_text(parameters), ""),
        ]
        if macs is not None:
            flops = macs.times(FLOPS_PER_MAC, FLOPS_PER_MAC)
            lines.append(_count_line(self.tr("Multiply-adds"), macs))
            lines.append(_count_line(self.tr("FLOPs"), flops))
        return lines

    def _formula_text(self, outcome: Outcome, row: TreeRow) -> str:
        """Return the formulas of one module, in symbols, with numbers, and evaluated."""
        path = row.node.path
        if not outcome.exists(path) or outcome.built is not None:
            return ""
        costs = outcome.sheet.architecture.costs
        module = costs.modules.get(path) if costs and outcome.has_costs else None
        texts = []
        for name, formula in (
            (self.tr("Parameters"), row.node.count_formula),
            (self.tr("Multiply-adds"), (module and module.macs) or "0"),
        ):
            if names_in(formula):
                numbers = numbers_text(formula, outcome.scenario.values)
                result = f"{outcome.numbers[formula]:,}"
                texts.append(f"{name} = {readable(formula)}\n= {numbers}\n= {result}")
        return "\n\n".join(texts)

    def _note_text(self, outcome: Outcome, row: TreeRow, is_deriving: bool) -> str:
        notes = []
        _, count = outcome.members(row)
        if not count:
            notes.append(self.tr("This layer does not exist with these values."))
        elif row.is_folded:
            text = self.tr("{0} layers like layer {1}; the formula is for one of them.")
            notes.append(text.format(f"{count:,}", row.node.name))
        if outcome.built is not None:
            text = self.tr(
                "The formulas are not verified for these values, so the model was built with them."
            )
            return " ".join((*notes, text))
        costs = outcome.sheet.architecture.costs
        if costs is None and is_deriving:
            notes.append(self.tr("Multiply-adds: deriving…"))
        elif costs is None:
            notes.append(self.tr("No formula found for the multiply-adds."))
        elif reason := costs.reason_for(""):
            text = self.tr("No formula found for the multiply-adds: {0}.")
            notes.append(text.format(reason.removesuffix(".")))
        elif not outcome.has_costs:
            notes.append(self.tr("No formula gives the multiply-adds for these values."))
            if not all_met(costs.domain, outcome.scenario.values):
                text = self.tr("The known formulas are valid only if {0}.")
                notes.append(text.format(domain_text(costs.domain or "")))
        elif outcome.peak() is None:
            notes.append(self.tr("No formula gives the activation memory for these values."))
        return " ".join(notes)

    def _parts_of(self, outcome: Outcome) -> list[PartFigure]:
        children = outcome.sheet.architecture.children("")
        total = outcome.parameters("")
        parts = [PartFigure(child.name, outcome.parameters(child.path)) for child in children]
        own = Figure(
            total.real - sum(part.figure.real for part in parts),
            total.value - sum(part.figure.value for part in parts),
            total.is_fixed,
        )
        if own.real and not total.is_fixed:
            parts.append(PartFigure(self.tr("(own parameters)"), own))
        return [part for part in parts if part.figure.real or part.figure.value]


def numbers_text(formula: str, values: Mapping[str, int]) -> str:
    """Return a formula for display with its symbols replaced by their values."""
    return readable(_SYMBOL.sub(lambda match: str(values[match.group()]), formula))


def _count_line(name: str, figure: Figure, *, is_main: bool = False) -> FigureLine:
    real, value = f"{figure.real:,}", f"{figure.value:,}"
    return FigureLine(name, real, value, ratio_text(figure), is_main)


def _memory_lines(name: str, elements: Figure, dtypes: Sequence[str]) -> list[FigureLine]:
    real, value = bytes_by_dtype(elements.real), bytes_by_dtype(elements.value)
    return [
        FigureLine(
            f"{name}, {_DTYPE_NAMES.get(dtype, dtype)}",
            bytes_text(real[dtype]),
            bytes_text(value[dtype]),
            ratio_text(elements),
        )
        for dtype in dtypes
    ]
