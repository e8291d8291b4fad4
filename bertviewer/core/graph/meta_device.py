"""Forward passes without memory for weights: on the meta device, or with shared random weights.

Models read their masks before they run ("is nothing padded?"), which a tensor without values cannot
answer. Token ids, masks, positions and what follows from them are small, so these are computed on
the CPU as well; weights and activations have no values.
"""

import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cache
from math import prod
from typing import Any

from torch import Tensor, nn
from torch.nn.modules.module import register_module_parameter_registration_hook
from torch.overrides import TorchFunctionMode
from torch.utils._pytree import tree_leaves, tree_map, tree_map_only
from torch.utils.weak import WeakTensorKeyDictionary
from transformers.initialization import no_init_weights

from bertviewer.core.building.allocations import AllocationGuard, reserve_for
from bertviewer.core.building.backend import torch, transformers
from bertviewer.core.building.models import auto_class
from bertviewer.core.graph.module_calls import tensors_in
from bertviewer.core.graph.products import Dimensions, ProductMode
from bertviewer.core.schema.source_info import SEED
from bertviewer.core.sources.model_source import Task
from bertviewer.core.util import budget

POOL = 2**24
"""Numbers in the pool of each dtype: 64 MiB of float32."""

SPREAD = 0.02
"""Standard deviation of the numbers: BERT's ``initializer_range``."""


def build_shared(config: Any, task: Task, name: str) -> nn.Module:
    """Build a model on the CPU whose weights are all views of the same few random numbers.

    Its results are meaningless, but it can be run however large it is, and its buffers are right.

    Raises:
        Stopped: a limit is reached.
        Exception: any error of transformers.
    """
    auto = auto_class(config, task, name)
    with AllocationGuard(), _sharing(), Unfilled(), no_init_weights():
        model: nn.Module = auto.from_config(config, trust_remote_code=False)
    if isinstance(model, transformers.PreTrainedModel):
        model.tie_weights()
    return model.eval()


@contextmanager
def _sharing() -> Iterator[None]:
    """Replace parameters by views of a pool as they are registered."""
    pools: dict[torch.dtype, Tensor] = {}

    def share(parameter: nn.Parameter) -> nn.Parameter | None:
        budget.check()
        if not parameter.is_floating_point():
            return None
        if parameter.dtype not in pools:
            numbers = torch.randn(POOL, generator=torch.Generator().manual_seed(SEED))
            pools[parameter.dtype] = (numbers * SPREAD).to(parameter.dtype)
        return nn.Parameter(spread(pools[parameter.dtype], parameter.shape), requires_grad=False)

    with _replacing_parameters(share):
        yield


@contextmanager
def new_modules_on_meta() -> Iterator[None]:
    """Put parameters of modules that a forward pass creates on the meta device."""

    def move(parameter: nn.Parameter) -> nn.Parameter:
        return nn.Parameter(parameter.to("meta"), parameter.requires_grad)

    with _replacing_parameters(move), Unfilled(), no_init_weights():
        yield


@contextmanager
def _replacing_parameters(change: Callable[[nn.Parameter], nn.Parameter | None]) -> Iterator[None]:
    """Replace parameters as they are registered in this thread."""
    thread = threading.get_ident()  # the hook is global

    def hook(_module: nn.Module, _name: str, parameter: nn.Parameter | None) -> Any:
        is_ours = threading.get_ident() == thread
        return change(parameter) if is_ours and parameter is not None else None

    registered = register_module_parameter_registration_hook(hook)
    try:
        yield
    finally:
        registered.remove()


def spread(pool: Tensor, shape: Sequence[int]) -> Tensor:
    """Return a view of ``pool`` of any shape; rows may overlap, and all differ."""
    strides: list[int] = []
    extent = 1
    for size in reversed(shape):
        # Half of the rest is for the dimensions before, so that experts differ as rows do.
        stride = min(extent, (pool.numel() - extent) // 2 // max(1, size - 1))
        strides.insert(0, stride)
        extent += stride * (size - 1)
    return pool.as_strided(tuple(shape), tuple(strides))


class Unfilled(TorchFunctionMode):
    """Creates large weights on the meta device, before they are replaced by views."""

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        """Call a function."""
        kwargs = kwargs or {}
        if func in (torch.empty, torch.zeros, torch.ones, torch.randn) and args:
            shape = args[0] if isinstance(args[0], Sequence) else args
            if prod(size for size in shape if isinstance(size, int)) > POOL:
                return func(*args, **{**kwargs, "device": "meta"})
        return func(*args, **kwargs)


MAX_RESULTS = 5_000
"""Size of the cache of shapes; BERT's derivation needs 540."""

Layout = tuple[torch.Size, tuple[int, ...], torch.dtype]
"""Shape, strides and dtype of a tensor."""

_layouts: dict[object, tuple[Layout, ...] | None] = {}


def memoized_result(
    operation: Any, args: Sequence[Any], kwargs: Mapping[str, Any], tensors: Sequence[Tensor]
) -> Any:
    """Return the result of an ATen operation, with its shape memoized on the meta device.

    There torch computes shapes in Python, at a millisecond per operation, and a model's layers and
    its variants with one number changed mostly run the same operations.
    """
    key = _key(operation, args, kwargs, tensors)
    if key is not None and (layouts := _layouts.get(key)) is not None:
        outputs = tuple(_empty(layout) for layout in layouts)
        return outputs if len(operation._schema.returns) > 1 else outputs[0]
    if operation is torch.ops.aten._grouped_mm.default and args[0].is_meta:
        rows, matrices = args[:2]
        if (rows.dim(), matrices.dim()) == (2, 3):
            # Experts' products: on the CPU of any dtype and width, on the meta device of few.
            return rows.new_empty(rows.shape[0], matrices.shape[-1])
    output = operation(*args, **kwargs)
    if key is not None and key not in _layouts:
        if len(_layouts) >= MAX_RESULTS:
            _layouts.clear()
        _layouts[key] = _layouts_of(output, tensors)
    return output


def _key(
    operation: Any, args: Sequence[Any], kwargs: Mapping[str, Any], tensors: Sequence[Tensor]
) -> object:
    """Return the key of a result in the cache, ``None`` for results that are not memoized."""
    if not tensors or operation._schema.is_mutable or not all(t.is_meta for t in tensors):
        return None
    key = (operation, _hashable(args), _hashable(kwargs))
    try:
        hash(key)
    except TypeError:
        return None
    return key


def _hashable(value: Any) -> object:
    if isinstance(value, Tensor):
        return value.shape, value.stride(), value.dtype, value.is_conj(), value.is_neg()
    if isinstance(value, tuple | list):
        return tuple([_hashable(item) for item in value])
    if isinstance(value, dict):
        return tuple([(name, _hashable(item)) for name, item in value.items()])
    # 1, 1.0 and True are equal, but give different dtypes.
    return type(value), value


def _layouts_of(output: Any, tensors: Sequence[Tensor]) -> tuple[Layout, ...] | None:
    """Return the layouts of an operation's results, ``None`` if one is not new memory."""
    known = {tensor.untyped_storage()._cdata for tensor in tensors}
    layouts = []
    for tensor in output if isinstance(output, tuple) else (output,):
        if not isinstance(tensor, Tensor) or not tensor.is_meta:
            return None
        layout = tensor.shape, tensor.stride(), tensor.dtype
        storage = tensor.untyped_storage()
        if storage._cdata in known or storage.nbytes() != _empty(layout).untyped_storage().nbytes():
            return None
        known.add(storage._cdata)
        layouts.append(layout)
    return tuple(layouts)


def _empty(layout: Layout) -> Tensor:
    return torch.empty_strided(*layout[:2], dtype=layout[2], device="meta")


MAX_ELEMENTS = 2**21
"""Limit of tensors whose values are computed: masks of 1,448 by 1,448 tokens."""

_FROM_NUMBERS = (torch.tensor, torch.as_tensor, torch.asarray, Tensor.new_tensor)
_NEEDS_VALUES = {torch.Tag.data_dependent_output, torch.Tag.dynamic_output_shape}
aten = torch.ops.aten


class MetaDevice(ProductMode):  # type: ignore[no-untyped-call]
    """Runs the ATen operations of a forward pass, and reports matrix products.

    Args:
        known: pairs of a tensor on the meta device and its values.
        on_product: is called with the dimensions of each product.
        on_output: is called with the result of each operation.
        is_limited: see ``ProductMode``.
    """

    def __init__(
        self,
        known: tuple[tuple[Tensor, Tensor], ...],
        on_product: Callable[[Dimensions], None],
        on_output: Callable[[Any], None] | None = None,
        *,
        is_limited: bool = True,
    ) -> None:
        super().__init__(on_product, is_limited=is_limited)
        self._values = WeakTensorKeyDictionary()
        for tensor, value in known:
            self.set_value(tensor, value)
        self._on_output = on_output

    def set_value(self, tensor: Tensor, value: Tensor) -> None:
        """Store the value of an input: a CPU tensor of the same shape."""
        self._values[tensor] = value

    def value(self, tensor: Tensor) -> Tensor | None:
        """Return the values of a tensor, ``None`` if they are not known."""
        return self._values.get(tensor) if tensor.is_meta else tensor  # type: ignore[no-untyped-call]

    def __torch_dispatch__(
        self, func: Any, types: Any, args: Any = (), kwargs: Mapping[str, Any] | None = None
    ) -> Any:
        """Run an operation; raises what ``ProductMode`` raises."""
        kwargs = kwargs or {}
        budget.check()
        tensors = tensors_in((args, kwargs))
        answer = self._evaluate(func, args, kwargs, tensors)
        if answer is not None:
            return answer
        reserve_for(func, args, kwargs)
        args, kwargs = self._on_one_device((args, kwargs), tensors)
        output = memoized_result(func, args, kwargs, tensors)
        self._propagate_values(func, args, kwargs, tensors, output)
        if self._on_output is not None:
            self._on_output(output)
        self.report(func, args, output)
        return output

    def _evaluate(self, operation: Any, args: Any, kwargs: Any, tensors: Sequence[Tensor]) -> Any:
        """Return the result of an operation that needs values, ``None`` for other operations.

        These return Python numbers, tensors whose length depends on values (``nonzero``), or copies
        for the CPU.
        """
        device = kwargs.get("device") if operation is aten._to_copy.default else None
        to_cpu = device is not None and torch.device(device).type == "cpu"
        if not to_cpu and _NEEDS_VALUES.isdisjoint(operation.tags):
            return None
        if not tensors or any(self.value(tensor) is None for tensor in tensors):
            return None
        args, kwargs = tree_map(self._on_cpu, (args, kwargs))
        answer = operation(*args, **kwargs)
        return answer if to_cpu else tree_map(self._on_meta, answer)

    def _on_one_device(self, arguments: Any, tensors: Sequence[Tensor]) -> Any:
        """Move CPU tensors to the meta device if others are there; replace masks by indices.

        With indices instead of a Boolean mask the length of a selection is known. (Only selections
        have masks in a list as their second argument.)
        """
        if len({tensor.is_meta for tensor in tensors}) > 1:
            arguments = tree_map(
                lambda it: it if isinstance(it, Tensor) and it.is_meta else self._on_meta(it),
                arguments,
            )
        args, kwargs = arguments
        if len(args) > 1 and isinstance(args[1], list | tuple) and any(map(_is_mask, args[1])):
            places = [place for item in args[1] for place in self._as_indices(item)]
            return (args[0], places, *args[2:]), kwargs
        return arguments

    def _propagate_values(
        self, operation: Any, args: Any, kwargs: Any, tensors: Sequence[Tensor], output: Any
    ) -> None:
        """Compute the values of an operation's results if those of its operands are known."""
        if all(self.value(tensor) is not None for tensor in tensors):
            is_small = all(each.numel() <= MAX_ELEMENTS for each in tensors_in(output))
            if is_small and _is_repeatable(operation):
                args, kwargs = tree_map(self._on_cpu, (args, kwargs))
                values = tree_leaves(operation(*args, **kwargs))
                for tensor, value in zip(tree_leaves(output), values, strict=True):
                    if isinstance(tensor, Tensor) and tensor.is_meta:
                        self._values[tensor] = value
        elif operation._schema.is_mutable:
            for tensor in tensors:
                self._forget(tensor)

    def _as_indices(self, mask: Any) -> tuple[Any, ...]:
        value = self.value(mask) if _is_mask(mask) else None
        if value is None:
            return (mask,)
        return tuple(self._on_meta(place) for place in value.nonzero(as_tuple=True))

    def _on_meta(self, leaf: Any) -> Any:
        """Return a tensor on the meta device with the known value of a CPU tensor."""
        if not isinstance(leaf, Tensor):
            return leaf
        made = torch.empty_like(leaf, device="meta")
        self.set_value(made, leaf)
        return made

    def _on_cpu(self, leaf: Any) -> Any:
        if isinstance(leaf, Tensor):
            return self.value(leaf)
        return torch.device("cpu") if isinstance(leaf, torch.device) else leaf

    def _forget(self, tensor: Tensor) -> None:
        """Forget the values of a tensor and its views after an unknown write."""
        value = self.value(tensor)
        if value is None:
            return
        memory = value.untyped_storage().data_ptr()
        for other, known in list(self._values.items()):  # type: ignore[no-untyped-call]
            if known.untyped_storage().data_ptr() == memory:
                del self._values[other]


def _is_mask(item: Any) -> bool:
    return isinstance(item, Tensor) and item.is_meta and item.dtype is torch.bool


@cache
def _is_repeatable(operation: Any) -> bool:
    """Return whether an operation is deterministic and its result initialized."""
    is_random = torch.Tag.nondeterministic_seeded in operation.tags
    return not is_random and "empty" not in operation.overloadpacket.__name__


class Literals(TorchFunctionMode):
    """Creates tensors of literals, ``torch.tensor([2, 3], device=…)``, on the CPU first.

    On the meta device torch drops the numbers before any dispatch mode; ``MetaDevice`` keeps those
    of a copy from the CPU.
    """

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        """Call a function."""
        kwargs = kwargs or {}
        if func not in _FROM_NUMBERS:
            return func(*args, **kwargs)
        before, rest = args[: func is Tensor.new_tensor], args[func is Tensor.new_tensor :]
        data = rest[0] if rest else kwargs.get("data", kwargs.get("obj"))
        device = kwargs.get("device")
        if device is None:
            is_meta = any(tensor.is_meta for tensor in before)
        else:
            is_meta = torch.device(device).type == "meta"
        if len(rest) > 1 or isinstance(data, Tensor) or not is_meta:
            return func(*args, **kwargs)
        # Tensors among the numbers would be read without modes.
        plain = tree_map_only(Tensor, lambda tensor: tensor.item(), data)
        dtype = kwargs.get("dtype", before[0].dtype if before else None)
        return torch.tensor(plain, dtype=dtype).to("meta")


@contextmanager
def known_on_meta(
    known: tuple[tuple[Tensor, Tensor], ...], on_product: Callable[[Dimensions], None]
) -> Iterator[MetaDevice]:
    """Run a model on the meta device inside the ``with``; see ``MetaDevice``."""
    device = MetaDevice(known, on_product, is_limited=False)
    with torch.no_grad(), device, Literals(), new_modules_on_meta():
        yield device
