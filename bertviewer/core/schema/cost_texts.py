"""Memory and multiply-adds of a model as text, for the terminal, the window and reports."""

from collections.abc import Mapping

from bertviewer.core.schema.architecture import Architecture
from bertviewer.core.schema.costs import WEIGHT_DTYPES, weights_bytes
from bertviewer.core.schema.count_steps import CountSteps, steps_of
from bertviewer.core.schema.modules import ModuleNode

MEGA, MEBI = 10**6, 2**20
FLOAT32_BYTES = 4
FEW_BYTES = 10_000
"""Smaller sizes are given in bytes: megabytes with two decimals would be too coarse."""
_CACHE_DTYPE = "float16"


def memory_sizes(parameters: int) -> list[tuple[str, int]]:
    """Return the dtypes and the number of bytes of this many elements."""
    dtypes: dict[int, list[str]] = {}
    for dtype in WEIGHT_DTYPES:
        dtypes.setdefault(weights_bytes(parameters, dtype), []).append(dtype)
    return [(", ".join(names), size) for size, names in dtypes.items()]


def size_text(size: int) -> str:
    """Return ``5.11 MB = 4.88 MiB``, or ``2,048 bytes`` for a small size."""
    return f"{size:,} bytes" if size < FEW_BYTES else " = ".join(_sizes(size))


def cost_of(
    node: ModuleNode, architecture: Architecture, values: Mapping[str, int]
) -> CountSteps | None:
    """Return the steps of a module's multiply-adds; ``None`` if no formula is known.

    Args:
        node: the module.
        architecture: its model.
        values: of all symbols, as of ``bindings``.
    """
    found = None if architecture.costs is None else architecture.costs.modules.get(node.path)
    return None if found is None or not found.macs else steps_of(found.macs, values)


def why_no_formula(architecture: Architecture, path: str) -> str:
    """Return why a module has no formula of its multiply-adds; "" if it has, or needs none.

    The multiply-adds of its data-flow graph, if known, are added: of one call with a short text.
    """
    costs, flows = architecture.costs, architecture.flows
    reason = "" if costs is None else costs.reason_for(path)
    flow = None if flows is None else flows.flow(path)
    if not reason or flow is None or flows is None:
        return reason
    lengths = ", ".join(f"{symbol} = {size}" for symbol, size in flows.lengths.items())
    return f"{reason}; its data flow has {flow.macs:,} for {lengths}"


def sentence_text(architecture: Architecture, values: Mapping[str, int]) -> str:
    """Return the input size of the costs: ``B = 1, S = 128``."""
    symbols = () if architecture.costs is None else architecture.costs.symbols
    return ", ".join(f"{symbol.name} = {values[symbol.name]}" for symbol in symbols)


def peak_text(architecture: Architecture, values: Mapping[str, int]) -> str:
    """Return the peak activation memory in float32; "" if it is not known."""
    if architecture.costs is None:
        return ""
    peak = architecture.costs.peak_elements(values)
    return "" if peak is None else size_text(peak * FLOAT32_BYTES)


def kv_cache_text(architecture: Architecture, values: Mapping[str, int]) -> str:
    """Return the memory of the key/value cache in float16; "" for a model without one.

    Args:
        architecture: the model.
        values: of all symbols, as of ``bindings``; without B and S, it is that of one token.
    """
    cache = architecture.kv_cache
    if cache is None:
        return ""
    each = cache.bytes_per_token(values, _CACHE_DTYPE)
    later = cache.bytes_per_token(values, _CACHE_DTYPE, long=True)
    full = f" ({later:,} once sliding windows are full)" if later != each else ""
    text = f"{each:,} bytes per token{full}" if each else "the same for any number of tokens"
    if {"B", *(layers.tokens for layers in cache.layers if layers.tokens)} <= values.keys():
        size = cache.bytes(values, _CACHE_DTYPE)
        if size is not None:
            text += f"; {size_text(size)} for {sentence_text(architecture, values)}"
    return f"{text}, in {_CACHE_DTYPE}"


def _sizes(size: int) -> tuple[str, str]:
    return f"{size / MEGA:,.2f} MB", f"{size / MEBI:,.2f} MiB"
