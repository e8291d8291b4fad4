"""One forward pass, traced as far as it goes."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from dataclasses import replace
from functools import partial
from typing import Any

from torch import Tensor, nn

from bertviewer.core.backend import torch
from bertviewer.core.budget import OverBudget
from bertviewer.core.errors import Cancelled
from bertviewer.core.flow.inputs.literals import known_on_meta
from bertviewer.core.flow.inputs.model_inputs import ModelInputs
from bertviewer.core.flow.meta_device import MetaDevice
from bertviewer.core.flow.product_mode import ProductMode
from bertviewer.core.flow.products import Dimensions
from bertviewer.core.flow.trace import Trace
from bertviewer.core.flow.tracing import Tracer
from bertviewer.core.system.library_words import words_of

OnProduct = Callable[[Dimensions], None]


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
