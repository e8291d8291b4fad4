"""Traces forward passes: on the meta device without weights and numbers, or with weights."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from functools import partial
from typing import Any

from torch import Tensor, nn

from bertviewer.core.backend import torch, transformers
from bertviewer.core.budget import OverBudget
from bertviewer.core.building.allocations import AllocationGuard
from bertviewer.core.errors import Cancelled, Stopped
from bertviewer.core.frozen import frozen
from bertviewer.core.graph.inputs.choices import input_choices
from bertviewer.core.graph.inputs.texts import ModelInputs
from bertviewer.core.graph.meta_device import MetaDevice, known_on_meta
from bertviewer.core.graph.product_mode import ProductMode
from bertviewer.core.graph.products import Dimensions
from bertviewer.core.graph.trace import Trace
from bertviewer.core.graph.tracing import Tracer
from bertviewer.core.system.library_words import words_of

EXPERTS = "batched_mm"
"""Transformers' implementation of experts that does the same whatever a router says."""

Known = tuple[tuple[Tensor, Tensor], ...]
"""Pairs of a tensor on the meta device and its values."""


@frozen
class Attempt:
    """A forward pass, and the inputs of the model."""

    trace: Trace
    inputs: ModelInputs

    @property
    def reach(self) -> tuple[bool, int]:
        """The larger, the better: whether the pass ended, or how far it came."""
        return self.trace.stopped is None, len(self.trace.operations)


def meta_trace(model: nn.Module, values: Mapping[str, int]) -> Trace:
    """Trace a forward pass of a model on the meta device, as far as it runs without values.

    Args:
        model: on the meta device; it is put into evaluation mode.
        values: B sentences of S tokens, S_d target tokens, by these letters.

    Raises:
        Stopped: by the limits in force.
    """
    try:
        return meta_attempts(model, values)[0].trace
    except Stopped:
        raise
    except Exception as error:  # noqa: BLE001 - a configuration fails with any kind of error
        return Trace((), (), (), ("", words_of(error)))


def meta_attempts(
    model: nn.Module, values: Mapping[str, int], known: Known = ()
) -> tuple[Attempt, ...]:
    """Trace a forward pass with each possible input until one ends, and return the best first.

    Raises:
        Exception: no inputs are known, or the configuration lacks something.
    """
    prepare(model)
    attempts: list[Attempt] = []
    choices = input_choices(model, values)
    try:
        while not attempts or attempts[-1].trace.stopped is not None:
            with AllocationGuard():
                inputs = next(choices, None)
            if inputs is None:
                break
            attempts.append(Attempt(trace_on_meta(model, inputs, known), inputs))
    except OverBudget:
        if not attempts:
            raise
    return tuple(sorted(attempts, key=lambda attempt: attempt.reach, reverse=True))


def prepare(model: nn.Module, experts: str = EXPERTS) -> None:
    """Put a model into evaluation mode, with one of transformers' implementations of experts."""
    model.eval()
    if isinstance(model, transformers.PreTrainedModel):
        model.set_experts_implementation(experts)


def trace_on_meta(model: nn.Module, inputs: ModelInputs, known: Known = ()) -> Trace:
    """Trace a model on the meta device; values are known where they follow from the inputs."""
    on_meta = inputs.on_meta()
    return _traced(model, on_meta.arguments, partial(known_on_meta, (*on_meta.known, *known)))


def trace_with_weights(model: nn.Module, inputs: ModelInputs) -> Trace:
    """Trace a model that has weights, with real numbers."""
    with _no_hidden_products():
        return _traced(model, inputs.arguments, partial(ProductMode, is_limited=False))


@contextmanager
def _no_hidden_products() -> Iterator[None]:
    """Turn off oneDNN, which has one operation for a whole recurrent layer."""
    backend: Any = torch.backends.mkldnn
    was_enabled = backend.enabled
    backend.enabled = False
    try:
        yield
    finally:
        backend.enabled = was_enabled


def _traced(
    model: nn.Module,
    arguments: Mapping[str, Any],
    device: Callable[[Callable[[Dimensions], None]], AbstractContextManager[Any]],
) -> Trace:
    tracer = Tracer(model)
    stopped = None
    try:
        with torch.no_grad(), device(tracer.note_product) as mode, tracer.watching():
            if isinstance(mode, MetaDevice):
                tracer.value_of = mode.known.value
            model(**arguments)
    except Cancelled:
        raise
    except OverBudget as error:
        stopped = tracer.path, str(error)
    except Exception as error:  # noqa: BLE001 - a model's forward fails with any kind of error
        stopped = tracer.path, words_of(error)
    return tracer.trace(stopped)
