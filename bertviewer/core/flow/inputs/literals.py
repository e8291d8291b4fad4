"""Numbers that a model writes down, ``torch.tensor([2, 3], device=…)``, are known on meta too."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor
from torch.overrides import TorchFunctionMode
from torch.utils._pytree import tree_map_only

from bertviewer.core.flow.inputs.model_inputs import MetaInputs
from bertviewer.core.flow.meta_device import MetaDevice
from bertviewer.core.flow.products import Dimensions
from bertviewer.core.flow.shared_weights import new_modules_on_meta

_FROM_NUMBERS = (torch.tensor, torch.as_tensor, torch.asarray, Tensor.new_tensor)


class Literals(TorchFunctionMode):
    """Makes such tensors on the CPU and moves them, which ``KnownValues`` can follow.

    On the meta device torch drops the numbers before any mode for its operations sees them.
    """

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        """Carry out a function."""
        kwargs = kwargs or {}
        if func not in _FROM_NUMBERS:
            return func(*args, **kwargs)
        before, rest = args[: func is Tensor.new_tensor], args[func is Tensor.new_tensor :]
        data = rest[0] if rest else kwargs.get("data", kwargs.get("obj"))
        if len(rest) > 1 or isinstance(data, Tensor) or not _is_for_meta(before, kwargs):
            return func(*args, **kwargs)
        # Tensors among the numbers are looked at with all modes off.
        plain = tree_map_only(Tensor, lambda tensor: tensor.item(), data)
        words = {name: kwargs[name] for name in ("dtype",) if name in kwargs}
        if before:
            words.setdefault("dtype", before[0].dtype)
        return torch.tensor(plain, **words).to("meta")


def _is_for_meta(before: Sequence[Any], kwargs: Mapping[str, Any]) -> bool:
    device = kwargs.get("device")
    if device is None:
        return any(tensor.is_meta for tensor in before)
    return torch.device(device).type == "meta"


@contextmanager
def known_on_meta(
    inputs: MetaInputs, on_product: Callable[[Dimensions], None]
) -> Iterator[MetaDevice]:
    """Run a model on the meta device inside the ``with``, as if it had values where it can."""
    device = MetaDevice(inputs.known, on_product, is_limited=False)
    with torch.no_grad(), device, Literals(), new_modules_on_meta():
        yield device
