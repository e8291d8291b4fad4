"""Traces a forward pass of a model on the meta device, or with random weights if needed."""

from collections.abc import Mapping
from math import prod
from typing import Any, Literal

from msgspec import Struct
from torch import Tensor, nn

from bertviewer.core.building.allocations import AllocationGuard
from bertviewer.core.building.backend import torch, transformers
from bertviewer.core.building.configurations import build_config
from bertviewer.core.building.models import build_on_meta, untie
from bertviewer.core.expressions.symbols import SENTENCES, TARGET_TOKENS, TOKENS
from bertviewer.core.graph.inputs.choices import input_choices
from bertviewer.core.graph.inputs.signature import ModelInputs
from bertviewer.core.graph.meta_device import build_shared, known_on_meta
from bertviewer.core.graph.products import ProductMode
from bertviewer.core.graph.trace import Trace
from bertviewer.core.graph.tracing import Tracer
from bertviewer.core.sources.model_source import ModelSource
from bertviewer.core.util.budget import OverBudget
from bertviewer.core.util.errors import Cancelled, Stopped, describe_error
from bertviewer.core.util.memory import BYTES_PER_PARAMETER, available_memory

LENGTHS: Mapping[str, int] = {SENTENCES: 1, TOKENS: 16, TARGET_TOKENS: 12}
"""One sentence, with different lengths of source and target."""

EXPERTS = "batched_mm"
"""Transformers' implementation of experts that does not depend on the router's values."""

MAX_PARAMETERS = 20_000_000_000
"""Limit for runs with weights; larger models take more than a minute."""

MAX_OF_MASKS = 2**27
"""Limit of the elements of buffers whose values are computed."""

MAX_RUNS = 4
"""Limit of the inputs that are tried with weights."""

Known = tuple[tuple[Tensor, Tensor], ...]
"""Pairs of a tensor on the meta device and its values."""


class TracedModel(Struct, frozen=True):
    """The trace of one forward pass, and how it was run.

    Attributes:
        trace: of the whole pass, or up to an error.
        device: ``meta`` without values of weights; ``cpu`` with random ones.
        inputs: the arguments of the model.
    """

    trace: Trace
    device: Literal["meta", "cpu"] = "meta"
    inputs: ModelInputs = ModelInputs({}, ())

    @property
    def kinds(self) -> tuple[str, ...]:
        """The kinds of inputs: ``text``, ``image``, ``sound``, ``time series``."""
        return self.inputs.kinds

    @property
    def reach(self) -> tuple[bool, int]:
        """A sort key: complete passes last, else by the number of operations."""
        return self.trace.stopped is None, len(self.trace.operations)


def trace_model(
    source: ModelSource, config: Mapping[str, Any], values: Mapping[str, int] = LENGTHS
) -> TracedModel:
    """Trace one forward pass of a source's model, without its weights.

    Args:
        source: the model and its head.
        config: its validated configuration.
        values: B sentences, images or sounds; S tokens of a text, S_d of the target's.

    Raises:
        UserError: the model cannot be built.
    """
    model = build_on_meta(
        build_config(config, source.name), source.task, source.name, source.untied
    )
    try:
        attempts = _attempts(model, values, _known_masks(model, source, config))
    except Cancelled:
        raise
    except Exception as error:  # noqa: BLE001 - it is built on the CPU, too, which may fail
        return TracedModel(_nothing(error))
    best = attempts[0]
    # torch's message names the device if values of a meta tensor were needed.
    asking = [it for it in attempts if it.trace.stopped and "meta" in it.trace.stopped[1]]
    if best.trace.stopped is None or not asking or not _has_room(model):
        return best
    try:
        real = build_shared(build_config(config, source.name), source.task, source.name)
    except Cancelled:
        raise
    except Exception:  # noqa: BLE001 - the trace on the meta device is kept
        return best
    untie(real, source.untied)
    prepare(real, "eager")
    for attempt in asking[:MAX_RUNS]:
        found = trace_with_weights(real, attempt.inputs)
        best = max(best, found, key=lambda attempt: attempt.reach)
        if found.trace.stopped is None:
            break
    return best


def meta_trace(model: nn.Module, values: Mapping[str, int]) -> Trace:
    """Trace a forward pass of a model on the meta device, as far as it runs without values.

    Args:
        model: on the meta device; it is put into evaluation mode.
        values: B sentences of S tokens, S_d target tokens, by these names.

    Raises:
        Stopped: by the limits in force.
    """
    return _attempts(model, values)[0].trace


def _attempts(model: nn.Module, values: Mapping[str, int], known: Known = ()) -> list[TracedModel]:
    """Trace a forward pass with each possible input until one ends, and return the best first."""
    attempts: list[TracedModel] = []
    try:
        prepare(model)
        choices = input_choices(model, values)
        while not attempts or attempts[-1].trace.stopped is not None:
            with AllocationGuard():
                inputs = next(choices, None)
            if inputs is None:
                break
            attempts.append(trace_on_meta(model, inputs, known))
    except Cancelled:
        raise
    except OverBudget:
        if not attempts:
            raise
    except Exception as error:  # noqa: BLE001 - a configuration fails with any kind of error
        return [TracedModel(_nothing(error))]
    return sorted(attempts, key=lambda attempt: attempt.reach, reverse=True)


def _nothing(error: Exception) -> Trace:
    return Trace((), (), (), ("", _reason(error)))


def prepare(model: nn.Module, experts: str = EXPERTS) -> None:
    """Put a model into evaluation mode, with one of transformers' implementations of experts."""
    model.eval()
    if isinstance(model, transformers.PreTrainedModel):
        model.set_experts_implementation(experts)


def trace_on_meta(model: nn.Module, inputs: ModelInputs, known: Known = ()) -> TracedModel:
    """Trace a model on the meta device, with values that follow from the inputs."""
    on_meta, tracer = inputs.on_meta(), Tracer(model)
    with known_on_meta((*on_meta.known, *known), tracer.note_product) as device:
        tracer.value_of = device.value
        return TracedModel(_traced(model, tracer, on_meta.arguments), "meta", inputs)


def trace_with_weights(model: nn.Module, inputs: ModelInputs) -> TracedModel:
    """Trace a model on the CPU."""
    tracer = Tracer(model)
    backend: Any = torch.backends.mkldnn
    was_enabled = backend.enabled
    backend.enabled = False  # it computes a recurrent layer in one operation
    try:
        with ProductMode(tracer.note_product, is_limited=False):
            return TracedModel(_traced(model, tracer, inputs.arguments), "cpu", inputs)
    finally:
        backend.enabled = was_enabled


def _traced(model: nn.Module, tracer: Tracer, arguments: Mapping[str, Any]) -> Trace:
    stopped = None
    try:
        with torch.no_grad(), tracer.watching():
            model(**arguments)
    except Cancelled:
        raise
    except Exception as error:  # noqa: BLE001 - a model's forward fails with any kind of error
        stopped = tracer.path, _reason(error)
    return tracer.trace(stopped)


def _reason(error: Exception) -> str:
    return str(error) if isinstance(error, Stopped) else describe_error(error)


def _known_masks(model: nn.Module, source: ModelSource, config: Mapping[str, Any]) -> Known:
    """Return the values of buffers that may be masks, as in OpenAI GPT: [..., S, S] each.

    They are computed by building the model on the CPU as well.
    """
    masks = {name: each for name, each in model.named_buffers() if _may_be_mask(each)}
    if not masks or sum(each.numel() for each in masks.values()) > MAX_OF_MASKS:
        return ()
    real = build_shared(build_config(config, source.name), source.task, source.name)
    values = dict(real.named_buffers())
    return tuple((each, values[name]) for name, each in masks.items() if name in values)


def _may_be_mask(buffer: Tensor) -> bool:
    is_square = buffer.dim() > 1 and buffer.shape[-1] == buffer.shape[-2] > 1
    return is_square and (buffer.dtype == torch.bool or buffer.is_floating_point())


def _has_room(model: nn.Module) -> bool:
    """Return whether a model can run with weights, whose memory is that of the largest matrix."""
    matrices = [
        prod(parameter.shape[-2:])
        for module in model.modules()
        if not isinstance(module, nn.Embedding)
        for parameter in module.parameters(recurse=False)
    ]
    available = available_memory()
    fits = available is None or 2 * max(matrices, default=0) * BYTES_PER_PARAMETER < available
    return sum(parameter.numel() for parameter in model.parameters()) <= MAX_PARAMETERS and fits
