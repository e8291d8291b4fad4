"""The four figures of a module that its cards show: parameters, multiply-adds, shape, output."""

from collections.abc import Iterator, Mapping

from bertviewer.charts.labels import tensors_text
from bertviewer.core.expressions.evaluation import FormulaError, evaluate
from bertviewer.core.schema.activation_run import ActivationRun
from bertviewer.core.schema.architecture import Architecture
from bertviewer.core.schema.bindings import bindings
from bertviewer.core.schema.module_tree import TreeRow
from bertviewer.core.util.numbers import count_text, number_text, short_count
from bertviewer.report.costs import cost_of, size_text, why_no_formula
from bertviewer.ui.module.figure_cards import Figure
from bertviewer.ui.settings.translation import translate

COUNT = 4
_FLOAT32 = 4  # bytes
_NOTHING = "–"


def module_figures(
    row: TreeRow, architecture: Architecture, run: ActivationRun | None, *, is_deriving: bool
) -> tuple[Figure, ...]:
    """Return the figures of a row; of equal layers that are one row, those of all together.

    ``is_deriving`` says that formulas are still being derived.
    """
    values = bindings(architecture, run)
    return (
        _parameters(row, architecture),
        _macs(row, architecture, values, is_deriving=is_deriving),
        _shape(row, architecture, values, is_deriving=is_deriving),
        _output(row, architecture, run) or _memory(row),
    )


def share_text(share: str) -> str:
    """Return what stands below the parameters of a part."""
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
    name, of = translate("inspector", "Multiply-adds"), len(row.members) or 1
    steps = cost_of(row.node, architecture, values)
    if steps is None:
        return Figure(name, *_without_steps(row.node.path, architecture, is_deriving))
    count = steps.result * of
    one, many = translate("inspector", "for 1 token"), translate("inspector", "for {0} tokens")
    remark = count_text(values.get("S", 0), one, many)
    if (batch := values.get("B", 1)) != 1:
        remark = translate("inspector", "{0}, {1} times").format(remark, batch)
    return Figure(name, short_count(count), remark, f"{count:,}")


def _without_steps(path: str, architecture: Architecture, is_deriving: bool) -> tuple[str, ...]:
    """Return what stands for multiply-adds that no formula gives, why, and the whole reason."""
    if architecture.costs is None:
        return _NOTHING, _deriving() if is_deriving else translate("inspector", "no formula found")
    if reason := why_no_formula(architecture, path):
        return _NOTHING, translate("inspector", "no formula found"), reason
    if path not in architecture.costs.modules:
        return "0", translate("inspector", "not called in the forward pass")
    if architecture.costs.modules[path].macs == "0":
        return "0", translate("inspector", "no matrix products")
    return _NOTHING, translate("inspector", "no formula found")


def _deriving() -> str:
    return translate("inspector", "deriving…")


def _shape(
    row: TreeRow, architecture: Architecture, values: Mapping[str, int], *, is_deriving: bool
) -> Figure:
    name = translate("inspector", "Shape")
    costs = architecture.costs
    found = None if costs is None else costs.modules.get(row.node.path)
    given = None if found is None else found.output_shape
    if found is None or given is None:
        why = "" if costs is None else costs.reason_for(row.node.path)
        unknown = translate("inspector", "unknown before a run")
        is_expected = is_deriving and costs is None
        return Figure(name, _NOTHING, _deriving() if is_expected else unknown, why)
    letters = _without_batch(given, values)
    try:
        sizes = [str(evaluate(size, values)) for size in letters]
    except FormulaError:
        sizes = list(letters)
    taken = None if found.input_shape is None else _without_batch(found.input_shape, values)
    remark = f"[{', '.join(letters)}]"
    if taken == letters:
        remark = translate("inspector", "input and output, {0}").format(remark)
    elif taken is not None:
        remark = f"[{', '.join(taken)}] → {remark}"
    return Figure(name, " × ".join(sizes) or "1", remark)


def _without_batch(shape: tuple[str, ...], values: Mapping[str, int]) -> tuple[str, ...]:
    """Return a shape without its first size, where that is a batch of one."""
    return shape[1:] if len(shape) > 1 and shape[0] == "B" and values.get("B") == 1 else shape


def _output(row: TreeRow, architecture: Architecture, run: ActivationRun | None) -> Figure | None:
    found = None if run is None or row.is_folded else _std(run, row.node.path)
    if run is None or found is None:
        return None
    equals = (_std(run, path) for path in _equals(row.node.path, architecture))
    layers = [std for std in equals if std is not None]
    remark = ""
    if len(layers) > 1:
        ends = (number_text(end, 3) for end in (min(layers), max(layers)))
        remark = translate("inspector", "layers: {0} – {1}").format(*ends)
    return Figure(
        translate("inspector", "Output std"), number_text(found, 4), remark, number_text(found, 9)
    )


def _std(run: ActivationRun, path: str) -> float | None:
    activation = run.activation(path)
    return None if activation is None or activation.skip_reason else activation.statistics.std


def _equals(path: str, architecture: Architecture) -> Iterator[str]:
    """Yield the paths of what a module is in each of the equal layers that it is in one of."""
    parts = path.split(".")
    nodes = {node.path: node for node in architecture.modules}
    for end in range(len(parts), 0, -1):
        repeat = nodes[".".join(parts[:end])].repeat
        if repeat is not None:
            for number in range(repeat.first, repeat.last + 1):
                yield ".".join((*parts[: end - 1], str(number), *parts[end:]))
            return


def _memory(row: TreeRow) -> Figure:
    size = size_text(row.parameters * _FLOAT32)
    return Figure(
        translate("inspector", "Memory"),
        size.partition(" = ")[0],
        translate("inspector", "weights in float32"),
        size,
    )
