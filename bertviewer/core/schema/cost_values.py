"""What a forward pass costs in numbers: FLOPs, activations and weights, from the formulas.

Free of torch: it takes no model to say what another width or a longer sentence would cost.
"""

from collections.abc import Mapping

from bertviewer.core.expressions.evaluation import FormulaError, evaluate
from bertviewer.core.schema.architecture import bytes_by_dtype
from bertviewer.core.schema.forward_costs import Costs

FLOPS_PER_MAC = 2
"""A multiplication and an addition."""

WEIGHT_DTYPES = {
    "float32": "float32",
    "float16": "float16",
    "bfloat16": "float16",
    "int8": "int8",
    "int4": "int4",
}
"""The dtypes that weights are counted in, and the name of each one's width."""


def macs(costs: Costs, path: str, values: Mapping[str, int]) -> int | None:
    """Return a module's multiply-adds with the letters at these values.

    Args:
        costs: the formulas.
        path: the module, as ``named_modules()`` names it; the root has an empty one.
        values: a value for each letter of the architecture and of ``costs``.

    Returns:
        All of its calls in one forward pass together, with all modules below. ``None`` where no
        formula was found, or where the model has no such shape: a ``//`` would leave a remainder.
    """
    module = costs.modules.get(path)
    return None if module is None or module.macs is None else _value(module.macs, values)


def peak_elements(costs: Costs, values: Mapping[str, int]) -> int | None:
    """Return how many elements of activations are alive at the most.

    ``None`` where no formula was found, or not for these values. Times the bytes of their dtype
    it is the memory that activations take in a forward pass in eval mode, without gradients and
    with eager attention; see ``Costs.peak``.
    """
    if any(values.get(letter, value) != value for letter, value in costs.peak_fixed.items()):
        return None
    moments = [_value(moment, values) for moment in costs.peak]
    known = [moment for moment in moments if moment is not None]
    return max(known) if known and len(known) == len(moments) else None


def weights_bytes(parameters: int, dtype: str) -> int:
    """Return the bytes that so many weights take; half a byte of int4 rounds up.

    Raises:
        KeyError: ``dtype`` is not one of ``WEIGHT_DTYPES``.
    """
    return bytes_by_dtype(parameters)[WEIGHT_DTYPES[dtype]]


def _value(formula: str, values: Mapping[str, int]) -> int | None:
    try:
        return evaluate(formula, values)
    except FormulaError:
        return None
