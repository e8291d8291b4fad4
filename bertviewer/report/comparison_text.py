"""Two models side by side, as text for a terminal."""

import json

from bertviewer.core.comparison.comparison import ComparedTensor, Comparison
from bertviewer.core.expressions.symbols import shape_text
from bertviewer.core.schema.modules import TensorInfo
from bertviewer.report.numbers import deviation
from bertviewer.report.summaries import aligned, notice_lines, provenance

_TENSORS = ("Tensor", "State", "Left", "Right", "|Δ|/|left|", "Max |Δ|", "Changed")


def comparison_text(comparison: Comparison) -> str:
    """Return totals, the keys that differ, and the tensors that are not the same."""
    counts = ", ".join(f"{count:,} {state}" for state, count in comparison.counts.items() if count)
    lines = [
        f"Left:  {provenance(comparison.left)} · {comparison.left_parameters:,} parameters",
        *notice_lines(comparison.left),
        f"Right: {provenance(comparison.right)} · {comparison.right_parameters:,} parameters",
        *notice_lines(comparison.right),
        f"Tensors: {counts}",
    ]
    if comparison.keys:
        keys: list[tuple[str, ...]] = [
            (key.key, value_text(key.left), value_text(key.right)) for key in comparison.keys
        ]
        lines += ["", aligned(("Key", "Left", "Right"), keys, right=())]
    others = [_row(tensor) for tensor in comparison.tensors if tensor.state != "same"]
    if others:
        lines += ["", aligned(_TENSORS, others, right=(4, 5, 6))]
    return "\n".join(lines)


def _row(tensor: ComparedTensor) -> tuple[str, ...]:
    forms = (_form(tensor.left), _form(tensor.right))
    change = tensor.change
    if change is None:
        return (tensor.name, tensor.state, *forms, "", "", "")
    figures = (deviation(change.relative), deviation(change.max_abs))
    return (tensor.name, tensor.state, *forms, *figures, f"{change.count - change.equal:,}")


def _form(tensor: TensorInfo | None) -> str:
    return "" if tensor is None else f"{shape_text(tensor.shape)} {tensor.dtype}"


def value_text(value: object) -> str:
    """Return a key's value as JSON; a dash where the key is not there."""
    return "–" if value is None else json.dumps(value, ensure_ascii=False)
