"""The four cards of the inspector: parameters, multiply-adds, shape, and output or memory."""

from collections.abc import Iterator, Mapping, Sequence

from msgspec import Struct
from PySide6.QtGui import QPainter, QPaintEvent, QPalette
from PySide6.QtWidgets import QFrame
from typing_extensions import override

from bertviewer.charts.labels import tensors_text
from bertviewer.charts.theme import GRID, SMALL, TITLE
from bertviewer.core.expressions.evaluation import FormulaError, evaluate
from bertviewer.core.schema.activation_run import ActivationRun
from bertviewer.core.schema.architecture import Architecture
from bertviewer.core.schema.bindings import bindings
from bertviewer.core.schema.cost_texts import cost_of, size_text, why_no_formula
from bertviewer.core.schema.module_tree import TreeRow
from bertviewer.core.util.numbers import count_text, number_text, short_count
from bertviewer.plots.fonts import sized, tabular, weighted
from bertviewer.ui.settings.translation import translate
from bertviewer.ui.widgets.card import draw_card
from bertviewer.ui.widgets.column_grid import ColumnGrid
from bertviewer.ui.widgets.labels import ElidedLabel, plain_label, plain_tooltip
from bertviewer.ui.widgets.layouts import STRETCH, vbox

COUNT = 4
_MARGINS = 3 * GRID - 1, GRID - 1, 2 * GRID, GRID - 1
_FLOAT32_BYTES = 4
_NOTHING = "–"


class Figure(Struct, frozen=True):
    """A value with its name, a remark below it, and the exact value for the tooltip."""

    name: str
    value: str
    remark: str
    exact: str = ""


class FigureCards(ColumnGrid):
    """Two columns of cards, or one where a remark would not fit."""

    def __init__(self) -> None:
        cards = tuple(_Card() for _ in range(COUNT))
        widest, gaps = share_text("99.99%"), (2 * GRID, GRID)
        super().__init__(cards, lambda: cards[0].width_for(widest), max_columns=2, gaps=gaps)
        self._cards = cards
        self.setContentsMargins(0, GRID, 0, 0)

    def show_figures(self, figures: Sequence[Figure]) -> None:
        """Show other values."""
        for card, figure in zip(self._cards, figures, strict=True):
            card.show_figure(figure)


class _Card(QFrame):
    def __init__(self) -> None:
        super().__init__()
        self.setObjectName("card")
        self._name, self._value, self._remark = ElidedLabel(), ElidedLabel(), plain_label("")
        small = sized(self.font(), SMALL)
        for label in (self._name, self._remark):
            label.setFont(small)
            label.setForegroundRole(QPalette.ColorRole.PlaceholderText)
        self._value.setFont(tabular(weighted(sized(self.font(), TITLE))))
        labels = self._name, self._value, self._remark
        vbox(*labels, STRETCH, parent=self, margins=_MARGINS, spacing=0)

    def width_for(self, remark: str) -> int:
        return _MARGINS[0] + _MARGINS[2] + self._remark.fontMetrics().horizontalAdvance(remark)

    def show_figure(self, figure: Figure) -> None:
        self._name.setText(figure.name)
        self._value.setText(figure.value)
        self._remark.setText(figure.remark)
        lines = (figure.name, figure.exact or figure.value, figure.remark)
        self.setToolTip(plain_tooltip("\n".join(filter(None, lines))))
        self.setAccessibleName(": ".join(filter(None, lines[:2])))
        self.setAccessibleDescription(figure.remark)

    @override
    def paintEvent(self, event: QPaintEvent) -> None:
        painter, role = QPainter(self), QPalette.ColorRole
        draw_card(painter, self, self.palette().color(role.Window), self.palette().color(role.Mid))
        painter.end()


def module_figures(
    row: TreeRow, architecture: Architecture, run: ActivationRun | None, *, is_deriving: bool
) -> tuple[Figure, ...]:
    """Return the figures of a row; of folded layers, those of all together.

    ``is_deriving`` tells whether formulas are still being derived.
    """
    values = bindings(architecture, run)
    return (
        _parameters(row, architecture),
        _macs(row, architecture, values, is_deriving=is_deriving),
        _shape(row, architecture, values, is_deriving=is_deriving),
        _output(row, architecture, run) or _memory(row),
    )


def share_text(share: str) -> str:
    """Return the remark below the parameters of a part."""
    return translate("inspector", "{0} of the model").format(share)


def _parameters(row: TreeRow, architecture: Architecture) -> Figure:
    count = row.parameters
    shown = f"{count:,}" if count < 100_000_000 else short_count(count)
    remark = share_text(f"{row.share:.2%}")
    if not row.node.path:
        remark = translate("inspector", "in {0}").format(tensors_text(architecture.parameters))
    return Figure(translate("inspector", "Parameters"), shown, remark, f"{count:,}")


def _macs(
    row: TreeRow, architecture: Architecture, values: Mapping[str, int], *, is_deriving: bool
) -> Figure:
    name = translate("inspector", "Multiply-adds")
    steps = cost_of(row.node, architecture, values)
    if steps is None:
        return Figure(name, *_why_no_macs(row.node.path, architecture, is_deriving))
    count = steps.result * (len(row.members) or 1)
    one, many = translate("inspector", "for 1 token"), translate("inspector", "for {0} tokens")
    remark = count_text(values.get("S", 0), one, many)
    if (batch := values.get("B", 1)) != 1:
        remark = translate("inspector", "{0}, {1} times").format(remark, batch)
    return Figure(name, short_count(count), remark, f"{count:,}")


def _why_no_macs(path: str, architecture: Architecture, is_deriving: bool) -> tuple[str, ...]:
    """Return value, remark and exact reason of multiply-adds without a formula."""
    no_formula = translate("inspector", "no formula found")
    if architecture.costs is None:
        return _NOTHING, _deriving() if is_deriving else no_formula
    if reason := why_no_formula(architecture, path):
        return _NOTHING, no_formula, reason
    if path not in architecture.costs.modules:
        return "0", translate("inspector", "not called in the forward pass")
    if architecture.costs.modules[path].macs == "0":
        return "0", translate("inspector", "no matrix products")
    return _NOTHING, no_formula


def _deriving() -> str:
    return translate("inspector", "deriving…")


def _shape(
    row: TreeRow, architecture: Architecture, values: Mapping[str, int], *, is_deriving: bool
) -> Figure:
    name, costs = translate("inspector", "Shape"), architecture.costs
    module = None if costs is None else costs.modules.get(row.node.path)
    if module is None or module.output_shape is None:
        reason = "" if costs is None else costs.reason_for(row.node.path)
        unknown = translate("inspector", "unknown before a run")
        is_expected = is_deriving and costs is None
        return Figure(name, _NOTHING, _deriving() if is_expected else unknown, reason)
    output = _without_batch(module.output_shape, values)
    try:
        sizes = [str(evaluate(size, values)) for size in output]
    except FormulaError:
        sizes = list(output)
    remark = f"[{', '.join(output)}]"
    if module.input_shape is not None:
        inputs = _without_batch(module.input_shape, values)
        both = translate("inspector", "input and output, {0}").format(remark)
        remark = both if inputs == output else f"[{', '.join(inputs)}] → {remark}"
    return Figure(name, " × ".join(sizes) or "1", remark)


def _without_batch(shape: tuple[str, ...], values: Mapping[str, int]) -> tuple[str, ...]:
    """Return a shape without a batch size of one."""
    return shape[1:] if len(shape) > 1 and shape[0] == "B" and values.get("B") == 1 else shape


def _output(row: TreeRow, architecture: Architecture, run: ActivationRun | None) -> Figure | None:
    std = None if run is None or row.is_folded else _std(run, row.node.path)
    if run is None or std is None:
        return None
    paths = _same_in_all_layers(row.node.path, architecture)
    layers = [found for path in paths if (found := _std(run, path)) is not None]
    remark = ""
    if len(layers) > 1:
        ends = (number_text(end, 3) for end in (min(layers), max(layers)))
        remark = translate("inspector", "layers: {0} – {1}").format(*ends)
    name = translate("inspector", "Output std")
    return Figure(name, number_text(std, 4), remark, number_text(std, 9))


def _std(run: ActivationRun, path: str) -> float | None:
    activation = run.activation(path)
    return None if activation is None or activation.skip_reason else activation.statistics.std


def _same_in_all_layers(path: str, architecture: Architecture) -> Iterator[str]:
    """Yield the paths of the corresponding modules in all layers of the innermost stack."""
    parts = path.split(".")
    nodes = {node.path: node for node in architecture.modules}
    for end in range(len(parts), 0, -1):
        repeat = nodes[".".join(parts[:end])].repeat
        if repeat is not None:
            for number in range(repeat.first, repeat.last + 1):
                yield ".".join((*parts[: end - 1], str(number), *parts[end:]))
            return


def _memory(row: TreeRow) -> Figure:
    name, remark = translate("inspector", "Memory"), translate("inspector", "weights in float32")
    size = size_text(row.parameters * _FLOAT32_BYTES)
    return Figure(name, size.partition(" = ")[0], remark, size)
