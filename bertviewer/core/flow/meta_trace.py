"""Traces forward passes: on the meta device without weights and numbers, or with weights."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from dataclasses import replace
from functools import partial
from typing import Any

from torch import Tensor, nn

from bertviewer.core.backend import torch, transformers
from bertviewer.core.budget import OverBudget
from bertviewer.core.building.allocations import AllocationGuard
from bertviewer.core.errors import Cancelled, Stopped
from bertviewer.core.flow.inputs.choices import input_choices
from bertviewer.core.flow.inputs.literals import known_on_meta
from bertviewer.core.flow.inputs.model_inputs import ModelInputs
from bertviewer.core.flow.meta_device import MetaDevice
from bertviewer.core.flow.product_mode import ProductMode
from bertviewer.core.flow.products import Dimensions
from bertviewer.core.flow.trace import Trace
from bertviewer.core.flow.tracing import Tracer
from bertviewer.core.frozen import frozen
from bertviewer.core.system.library_words import words_of

OnProduct = Callable[[Dimensions], None]

EXPERTS = "batched_mm"
"""Transformers' way of experts that takes the same steps whatever a router says."""


@frozen
class Attempt:
    """A forward pass that came to its end, or not, and what the model was given."""

    trace: Trace
    inputs: ModelInputs

    @property
    def reach(self) -> tuple[bool, int]:
        """What makes one better than another: that it ended, or how far it came."""
        return self.trace.stopped is None, len(self.trace.operations)


def meta_trace(model: nn.Module, values: Mapping[str, int]) -> Trace:
    """Trace one forward pass in evaluation mode.

    Args:
        model: on the meta device.
        values: B sentences of S tokens, S_d of the target's, by these letters.

    Returns:
        What was done. A model that cannot be run without values is traced as far as it goes.

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
    model: nn.Module, values: Mapping[str, int], known: tuple[tuple[Tensor, Tensor], ...] = ()
) -> tuple[Attempt, ...]:
    """Trace one forward pass with each of the inputs that a model may want, until one is whole.

    Args:
        model: on the meta device.
        values: as of ``meta_trace``.
        known: pairs of a buffer on the meta device and its values.

    Returns:
        What was tried, the best first.

    Raises:
        Exception: there is nothing that it could be given, or its configuration lacks something.
    """
    prepare(model)
    attempts: list[Attempt] = []
    try:
        for inputs in _guarded(input_choices(model, values)):
            attempts.append(Attempt(trace_on_meta(model, inputs, known), inputs))
            if attempts[-1].trace.stopped is None:
                break
    except OverBudget:
        if not attempts:
            raise
    return tuple(sorted(attempts, key=lambda attempt: attempt.reach, reverse=True))


def _guarded(choices: Iterator[ModelInputs]) -> Iterator[ModelInputs]:
    """Yield inputs that are made within the limits in force."""
    while True:
        with AllocationGuard():
            inputs = next(choices, None)
        if inputs is None:
            return
        yield inputs


def prepare(model: nn.Module, experts: str = EXPERTS) -> None:
    """Put a model into evaluation mode, and its experts into one of transformers' ways."""
    model.eval()
    if isinstance(model, transformers.PreTrainedModel):
        model.set_experts_implementation(experts)


def trace_on_meta(
    model: nn.Module, inputs: ModelInputs, known: tuple[tuple[Tensor, Tensor], ...] = ()
) -> Trace:
    """Trace a model on the meta device; values are known where they follow from the inputs.

    ``known`` are pairs of a buffer and its values.
    """
    on_meta = inputs.on_meta()
    on_meta = replace(on_meta, known=(*on_meta.known, *known))

    def device(on_product: OnProduct) -> AbstractContextManager[Any]:
        return known_on_meta(on_meta, on_product)

    return _traced(model, on_meta.arguments, device)


def trace_with_weights(model: nn.Module, inputs: ModelInputs) -> Trace:
    """Trace a model that has weights, with real numbers."""
    with _no_hidden_products():
        return _traced(model, inputs.arguments, partial(ProductMode, is_limited=False))


@contextmanager
def _no_hidden_products() -> Iterator[None]:
    """Keep Intel's library out: it has one step for a whole recurrent layer."""
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
    device: Callable[[OnProduct], AbstractContextManager[Any]],
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
