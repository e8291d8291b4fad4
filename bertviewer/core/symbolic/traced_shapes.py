"""The shapes of all tensors of a traced forward pass as formulas."""

from collections.abc import Mapping

from torch import nn

from bertviewer.core.expressions.symbols import Symbol
from bertviewer.core.graph.trace import Trace
from bertviewer.core.graph.tracing_models import meta_trace
from bertviewer.core.schema.architecture import Architecture
from bertviewer.core.schema.flow import SymbolicShape
from bertviewer.core.symbolic.known_sizes import EXPECTED, KnownSizes
from bertviewer.core.symbolic.models import Build, ModelBuilder, ModelSizes, Values
from bertviewer.core.util.progress import Progress


def derive_letters(
    trace: Trace,
    architecture: Architecture,
    lengths: Mapping[str, int],
    build: Build,
    progress: Progress,
) -> Mapping[int, SymbolicShape]:
    """Return the symbolic shapes of a trace's values, of those that have one.

    Args:
        trace: of the model, on the meta device.
        architecture: the model, with its formulas: they say which numbers change together.
        lengths: of the sentence that was traced, by the symbols B, S and S_d.
        build: gives the model on the meta device for a changed configuration.
        progress: called before each build; what it raises is raised here.
    """
    sentence = tuple(Symbol(letter, "", size, "", letter) for letter, size in lengths.items())
    symbols = (*sentence, *architecture.symbols)
    builder = ModelBuilder(architecture.config, symbols, build, _read, progress, EXPECTED)
    known = KnownSizes(builder, architecture, _sizes(trace), builder.values)
    found = {value: known.shape(name) for value, name in _named(trace).items() if known}
    return {value: shape for value, shape in found.items() if shape is not None}


def _read(model: nn.Module, values: Values) -> ModelSizes:
    """Trace a model.

    Raises:
        ValueError: it does not run to its end.
    """
    trace = meta_trace(model, values)
    if trace.stopped is not None:
        raise ValueError(trace.stopped[1])
    return _sizes(trace)


def _sizes(trace: Trace) -> ModelSizes:
    named = _named(trace).items()
    return ModelSizes.of_shapes({name: trace.values[value].shape for value, name in named})


def _named(trace: Trace) -> dict[int, str]:
    """Return a name for each value: the call that computes it, and its place in there."""
    places: dict[int | None, int] = {}
    found: dict[int, str] = {}
    for number, operation in zip(trace.innermost, trace.operations, strict=True):
        place = places.get(number, 0)
        places[number] = place + 1
        call = None if number is None else trace.calls[number]
        where = "" if call is None else f"{call.path}:{call.number}"
        for order, value in enumerate(operation.makes):
            found[value] = f"{where}:{operation.function}:{place}:{order}"
    for value, stored in enumerate(trace.values):
        if stored.kind in ("parameter", "buffer", "input"):
            found[value] = f"{stored.kind}:{stored.name}"
    return found
