"""Traces a model on the meta device: no weights, no numbers, and no more time than a few layers."""

from collections.abc import Mapping

from torch import nn

from bertviewer.core.backend import torch
from bertviewer.core.flow.meta_device import MetaDevice
from bertviewer.core.flow.meta_inputs import meta_inputs
from bertviewer.core.flow.trace import Trace
from bertviewer.core.flow.tracing import Tracer
from bertviewer.core.library_words import one_line


def meta_trace(model: nn.Module, values: Mapping[str, int]) -> Trace:
    """Trace one forward pass in evaluation mode.

    Args:
        model: on the meta device.
        values: B sentences of S tokens, S_d of the target's, by these letters.

    Returns:
        What was done. A model that cannot be run without values is traced as far as it goes.
    """
    model.eval()
    tracer = Tracer(model)
    stopped = None
    try:
        inputs = meta_inputs(model, values)
        device = MetaDevice(inputs.known, tracer.note_product)
        with torch.no_grad(), device, tracer.watching():
            model(**inputs.arguments)
    except Exception as error:  # noqa: BLE001 - a model's forward fails with any kind of error
        stopped = tracer.path, one_line(error)
    return tracer.trace(stopped)
