"""A model with numbers that takes no memory: all its weights lie in the same few random ones.

What a model computes with them means nothing. But it can be run where a step hangs on numbers,
however large it is, and its buffers are what they are in any model of its configuration.
"""

import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from math import prod
from typing import Any

from torch import Tensor, nn
from torch.nn.modules.module import register_module_parameter_registration_hook
from torch.overrides import TorchFunctionMode

from bertviewer.core.architecture.source_info import SEED
from bertviewer.core.backend import torch, transformers
from bertviewer.core.building.building import auto_class
from bertviewer.core.source.tasks import Task

POOL = 2**24
"""So many numbers are drawn, of each dtype: 64 MiB of float32."""
SPREAD = 0.02
"""Their standard deviation: BERT's ``initializer_range``."""


def build_shared(config: Any, task: Task, name: str) -> nn.Module:
    """Build a model on the CPU, its weights all in the same memory.

    Raises:
        Exception: whatever transformers raises.
    """
    # Transformers' own lazy module does not always have this one as an attribute.
    from transformers.initialization import no_init_weights

    auto = auto_class(config, task, name)
    with _sharing(), _Unfilled(), no_init_weights():
        model: nn.Module = auto.from_config(config, trust_remote_code=False)
    if isinstance(model, transformers.PreTrainedModel):
        model.tie_weights()
    return model.eval()


@contextmanager
def _sharing() -> Iterator[None]:
    """Put parameters into the same memory as they are registered."""
    pools: dict[torch.dtype, Tensor] = {}
    thread = threading.get_ident()  # the hook is called in all of them

    def share(_module: nn.Module, _name: str, parameter: nn.Parameter | None) -> Any:
        is_ours = threading.get_ident() == thread
        if parameter is None or not is_ours or not parameter.is_floating_point():
            return None
        if parameter.dtype not in pools:
            numbers = torch.randn(POOL, generator=torch.Generator().manual_seed(SEED))
            pools[parameter.dtype] = (numbers * SPREAD).to(parameter.dtype)
        strides = _strides(parameter.shape)
        shared = pools[parameter.dtype].as_strided(tuple(parameter.shape), strides)
        return nn.Parameter(shared, requires_grad=False)

    hook = register_module_parameter_registration_hook(share)
    try:
        yield
    finally:
        hook.remove()


def _strides(shape: Sequence[int]) -> tuple[int, ...]:
    """Return strides within the memory: rows overlap where there are too many, and all differ."""
    strides: list[int] = []
    extent = 1
    for size in reversed(shape):
        # Half of what is left stays for the dimensions before: experts differ as their rows do.
        stride = min(extent, (POOL - extent) // 2 // max(1, size - 1))
        strides.insert(0, stride)
        extent += stride * (size - 1)
    return tuple(strides)


class _Unfilled(TorchFunctionMode):
    """Takes no memory for large weights before they are put where the others are."""

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        """Carry out a function."""
        kwargs = kwargs or {}
        if func in (torch.empty, torch.zeros, torch.ones, torch.randn) and args:
            shape = args[0] if isinstance(args[0], Sequence) else args
            if prod(size for size in shape if isinstance(size, int)) > POOL:
                return func(*args, **{**kwargs, "device": "meta"})
        return func(*args, **kwargs)
