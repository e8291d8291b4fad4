"""What the changed numbers give: figures of the model and of the selected row, parts, tensors."""

import re
from collections.abc import Mapping, Sequence

from PySide6.QtWidgets import QFrame, QScrollArea

from bertviewer.core.expressions.evaluation import all_met, names_in
from bertviewer.core.expressions.symbols import shape_text
from bertviewer.core.schema.costs import BITS, FLOPS_PER_MAC, bytes_by_dtype
from bertviewer.core.schema.count_steps import readable
from bertviewer.core.schema.module_tree import TreeRow
from bertviewer.core.what_if.scenario import Figure, Outcome
from bertviewer.ui.what_if.figures import FigureGrid, FigureLine
from bertviewer.ui.what_if.parts import Part, PartBars
from bertviewer.ui.what_if.shapes import TensorShapes
from bertviewer.ui.what_if.texts import bytes_text, difference_text, domain_text, ratio_text
from bertviewer.ui.widgets.labels import blank_page, heading_label, muted_label, plain_label
from bertviewer.ui.widgets.layouts import STRETCH, named, vbox

_LETTER = re.compile(r"[^\W\d]\w*")
_CACHE_DTYPE = "float16"
_ACTIVATION_DTYPES = ("float32", "float16")
# Both are 16 bits wide.
_DTYPE_NAMES = {"float16": "(b)float16"}


class ResultsView(QScrollArea):
    """All that follows from a scenario; greyed while the values on screen are not valid."""

    def __init__(self) -> None:
        super().__init__()
        self.setObjectName("whatIfResults")
        self.setWidgetResizable(True)
        self.setFrameShape(QFrame.Shape.NoFrame)
        page = blank_page()
        self._heading = heading_label("")
        self._model = FigureGrid(self.tr("In the model"), self.tr("What if"))
        self._model.setObjectName("whatIfModelFigures")
        self._row_heading = heading_label("")
        self._row = FigureGrid(self.tr("In the model"), self.tr("What if"))
        self._row.setObjectName("whatIfRowFigures")
        self._note = named(muted_label(""), "whatIfNote")
        self._note.setContentsMargins(0, 6, 0, 0)
        self._formula = named(plain_label(""), "whatIfFormula")
        self._formula.setContentsMargins(0, 6, 0, 4)
        self._parts = PartBars()
        self._shapes = TensorShapes()
        vbox(
            self._heading,
            self._model,
            self._row_heading,
            self._row,
            self._note,
            self._formula,
            heading_label(self.tr("Parameters by part (line = current model)")),
            self._parts,
            self._shapes,
            STRETCH,
            parent=page,
            margins=(16, 8, 8, 16),
            spacing=4,
        )
        self.setWidget(page)
        self._page = page

    def show_outcome(
        self, outcome: Outcome, real: Outcome, row: TreeRow, is_valid: bool, is_deriving: bool
    ) -> None:
        """Write all figures anew.

        Args:
            outcome: the figures, the last good ones where values on screen are not valid.
            real: those of the model's own values.
            row: the selected row.
            is_valid: whether the values on screen have these figures.
            is_deriving: whether formulas are still to come.
        """
        self._heading.setText(self._heading_text(outcome, is_valid))
        self._model.set_lines(self._model_lines(outcome))
        is_part = bool(row.node.path)
        self._row_heading.setVisible(is_part)
        self._row.setVisible(is_part)
        if is_part:
            self._row_heading.setText(f"{row.key} ({row.class_label})")
            self._row.set_lines(self._row_lines(outcome, real, row))
        formula = self._formula_text(outcome, row)
        self._formula.setText(formula)
        self._formula.setVisible(bool(formula))
        note = self._note_text(outcome, row, is_deriving)
        self._note.setText(note)
        self._note.setVisible(bool(note))
        self._parts.set_parts(self._parts_of(outcome))
        self._shapes.show_outcome(outcome, row.node.path)
        self._page.setEnabled(is_valid)

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
        lines = self._parameter_lines(parameters)
        lines += self._cost_lines(outcome.macs(""))
        lines += _memory_lines(self.tr("Weights"), parameters, tuple(BITS))
        peak = outcome.peak()
        if peak is not None:
            lines += _memory_lines(self.tr("Activations"), peak, _ACTIVATION_DTYPES)
        cache = outcome.kv_cache(_CACHE_DTYPE)
        if cache is not None:
            name = f"{self.tr('KV cache')}, {_DTYPE_NAMES[_CACHE_DTYPE]}"
            before, after = bytes_text(cache.real), bytes_text(cache.value)
            lines.append(FigureLine(name, before, after, ratio_text(cache)))
        return lines

    def _row_lines(self, outcome: Outcome, real: Outcome, row: TreeRow) -> list[FigureLine]:
        parameters = outcome.row_parameters(row)
        lines = self._parameter_lines(parameters)
        lines += self._cost_lines(outcome.row_macs(row))
        lines += _memory_lines(self.tr("Weights"), parameters, ("float32",))
        path = row.node.path
        for name, before, after in (
            (self.tr("Input"), real.input_shape(path), outcome.input_shape(path)),
            (self.tr("Output"), real.output_shape(path), outcome.output_shape(path)),
        ):
            if before is not None and after is not None:
                lines.append(FigureLine(name, shape_text(before), shape_text(after), ""))
        return lines

    def _parameter_lines(self, figure: Figure) -> list[FigureLine]:
        return [
            FigureLine(
                self.tr("Parameters"),
                f"{figure.real:,}",
                f"{figure.value:,}",
                ratio_text(figure),
                is_main=True,
            ),
            FigureLine(self.tr("Difference"), "", difference_text(figure), ""),
        ]

    def _cost_lines(self, macs: Figure | None) -> list[FigureLine]:
        if macs is None:
            return []
        flops = macs.times(FLOPS_PER_MAC, FLOPS_PER_MAC)
        return [
            FigureLine(name, f"{figure.real:,}", f"{figure.value:,}", ratio_text(figure))
            for name, figure in ((self.tr("Multiply-adds"), macs), (self.tr("FLOPs"), flops))
        ]

    def _formula_text(self, outcome: Outcome, row: TreeRow) -> str:
        """Return the formulas of one module of the row, in letters and with numbers put in."""
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
        _, here = outcome.members(row)
        if not here:
            notes.append(self.tr("This layer does not exist with these values."))
        elif row.is_folded:
            notes.append(
                self.tr("{0} layers like layer {1}; the formula is for one of them.").format(
                    f"{here:,}", row.node.name
                )
            )
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

    def _parts_of(self, outcome: Outcome) -> list[Part]:
        children = outcome.sheet.architecture.children("")
        total = outcome.parameters("")
        parts = [Part(child.name, outcome.parameters(child.path)) for child in children]
        own = Figure(
            total.real - sum(part.figure.real for part in parts),
            total.value - sum(part.figure.value for part in parts),
            total.is_fixed,
        )
        if own.real and not total.is_fixed:
            parts.append(Part(self.tr("(own parameters)"), own))
        return [part for part in parts if part.figure.real or part.figure.value]


def numbers_text(formula: str, values: Mapping[str, int]) -> str:
    """Return a formula as people read it, with the letters' values put in."""
    return readable(_LETTER.sub(lambda match: str(values[match.group()]), formula))


def _memory_lines(name: str, elements: Figure, dtypes: Sequence[str]) -> list[FigureLine]:
    real, here = bytes_by_dtype(elements.real), bytes_by_dtype(elements.value)
    return [
        FigureLine(
            f"{name}, {_DTYPE_NAMES.get(dtype, dtype)}",
            bytes_text(real[dtype]),
            bytes_text(here[dtype]),
            ratio_text(elements),
        )
        for dtype in dtypes
    ]
