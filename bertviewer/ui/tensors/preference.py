"""What a person chose to look into, kept while the module changes: the same of another module."""

from collections.abc import Sequence

from bertviewer.core.schema.activation_run import ModuleTensor, TensorKey
from bertviewer.core.schema.check import CheckStep
from bertviewer.core.schema.modules import TensorInfo
from bertviewer.ui.tensors.tensor_table import Listed

Wish = str | TensorKey | CheckStep | None
"""A parameter by its name in the module, a tensor of a run by its own, a check's step."""


def wish_of(listed: Listed, prefix: str) -> Wish:
    """Return what it is to have chosen this, in the module whose parameters begin so."""
    if isinstance(listed, TensorInfo):
        return listed.name.removeprefix(prefix)
    return listed.key if isinstance(listed, ModuleTensor) else listed


def place_of(wish: Wish, listed: Sequence[Listed | None], prefix: str) -> int | None:
    """Return where what is wished for stands among others, ``None`` if it is not there.

    What is called otherwise in this module is the first of the same side.
    """
    like = None
    for place, one in enumerate(listed):
        if isinstance(one, CheckStep) and isinstance(wish, CheckStep):
            if one.step == wish.step:
                return place
        elif isinstance(one, ModuleTensor) and isinstance(wish, TensorKey):
            like = place if like is None and one.key.side == wish.side else like
            if one.key == wish:
                return place
        elif isinstance(one, TensorInfo) and isinstance(wish, str) and one.name == prefix + wish:
            return place
    return like
