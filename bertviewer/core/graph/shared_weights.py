"""A model with numbers that takes no memory: all its weights lie in the same few random ones.

What a model computes with them means nothing. But it can be run where a step depends on numbers,
however large it is, and its buffers are what they are in any model of its configuration.
"""

import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from math import prod
from typing import Any

from torch import Tensor, nn
from torch.nn.modules.module import register_module_parameter_registration_hook
from torch.overrides import TorchFunctionMode
from transformers.initialization import no_init_weights

from bertviewer.core.building.allocations import AllocationGuard
from bertviewer.core.building.backend import torch, transformers
from bertviewer.core.building.models import auto_class
from bertviewer.core.schema.source_info import SEED
from bertviewer.core.sources.tasks import Task
from bertviewer.core.util import budget

POOL = 2**24
"""So many numbers are drawn, of each dtype: 64 MiB of float32."""
SPREAD = 0.02
"""Their standard deviation: BERT's ``initializer_range``."""


def build_shared(config: Any, task: Task, name: str) -> nn.Module:
    """Build a model on the CPU, its weights all in the same memory; transformers may raise.

    Raises:
        Stopped: by the limits in force.
    """
    auto = auto_class(config, task, name)
    with AllocationGuard(), _sharing(), Unfilled(), no_init_weights():
        model: nn.Module = auto.from_config(config, trust_remote_code=False)
    if isinstance(model, transformers.PreTrainedModel):
        model.tie_weights()
    return model.eval()


@contextmanager
def _sharing() -> Iterator[None]:
    """Put parameters into the same memory as they are registered."""
    pools: dict[torch.dtype, Tensor] = {}

    def share(parameter: nn.Parameter) -> nn.Parameter | None:
        budget.check()
        if not parameter.is_floating_point():
            return None
        if parameter.dtype not in pools:
            numbers = torch.randn(POOL, generator=torch.Generator().manual_seed(SEED))
            pools[parameter.dtype] = (numbers * SPREAD).to(parameter.dtype)
        return nn.Parameter(spread(pools[parameter.dtype], parameter.shape), requires_grad=False)

    with _registering(share):
        yield


@contextmanager
def new_modules_on_meta() -> Iterator[None]:
    """Give modules that a model makes during its forward pass parameters on the meta device."""

    def move(parameter: nn.Parameter) -> nn.Parameter:
        return nn.Parameter(parameter.to("meta"), parameter.requires_grad)

    with _registering(move), Unfilled(), no_init_weights():
        yield


@contextmanager
def _registering(change: Callable[[nn.Parameter], nn.Parameter | None]) -> Iterator[None]:
    """Change parameters as they are registered."""
    thread = threading.get_ident()  # the hook is called in all of them

    def hook(_module: nn.Module, _name: str, parameter: nn.Parameter | None) -> Any:
        is_ours = threading.get_ident() == thread
        return change(parameter) if is_ours and parameter is not None else None

    registered = register_module_parameter_registration_hook(hook)
    try:
        yield
    finally:
        registered.remove()


def spread(pool: Tensor, shape: Sequence[int]) -> Tensor:
    """Return a tensor of any shape whose elements all lie in the memory of ``pool``.

    Rows overlap where there are too many, and all differ.
    """
    strides: list[int] = []
    extent = 1
    for size in reversed(shape):
        # Half of what is left stays for the dimensions before: experts differ as their rows do.
        stride = min(extent, (pool.numel() - extent) // 2 // max(1, size - 1))
        strides.insert(0, stride)
        extent += stride * (size - 1)
    return pool.as_strided(tuple(shape), tuple(strides))


class Unfilled(TorchFunctionMode):
    """Takes no memory for large weights before they are put where the others are."""

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        """Carry out a function."""
        kwargs = kwargs or {}
        if func in (torch.empty, torch.zeros, torch.ones, torch.randn) and args:
            shape = args[0] if isinstance(args[0], Sequence) else args
            if prod(size for size in shape if isinstance(size, int)) > POOL:
                return func(*args, **{**kwargs, "device": "meta"})
        return func(*args, **kwargs)
