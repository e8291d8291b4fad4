"""Traces a model on the meta device: no weights, no numbers, and no more time than a few layers."""

from collections.abc import Iterator, Mapping

from torch import Tensor, nn

from bertviewer.core.backend import transformers
from bertviewer.core.budget import OverBudget
from bertviewer.core.building.allocations import AllocationGuard
from bertviewer.core.errors import Stopped
from bertviewer.core.flow.inputs.choices import input_choices
from bertviewer.core.flow.inputs.model_inputs import ModelInputs
from bertviewer.core.flow.trace import Trace
from bertviewer.core.flow.traced_call import trace_on_meta
from bertviewer.core.frozen import frozen
from bertviewer.core.system.library_words import words_of

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
