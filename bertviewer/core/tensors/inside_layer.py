"""The steps inside a layer: code and values, as plain data."""

from msgspec import Struct

from bertviewer.core.tensors.reduction import Corner

HEAD = ", head 0"
"""Ends the title of a step of which one head is shown."""


class LayerStep(Struct, frozen=True, eq=False):
    """One step of a layer.

    Attributes:
        title: what it computes.
        name: the name of its result in the code.
        code: lines of Python that compute it from earlier results.
        corner: the first and last rows and columns of its result, of the first head if it has some.
        is_head: whether ``corner`` is that of one head.
    """

    title: str
    name: str
    code: tuple[str, ...]
    corner: Corner
    is_head: bool = False


class InsideLayer(Struct, frozen=True, eq=False):
    """The steps of a layer in a run.

    Attributes:
        path: the layer.
        setup: lines of Python that load the model from a ``folder``, run it and define the inputs
            of the layer.
        steps: from its input to its output.
    """

    path: str
    setup: tuple[str, ...]
    steps: tuple[LayerStep, ...]
