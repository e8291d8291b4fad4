"""One forward pass on the meta device: products, shapes and memory, but no numbers.

All is noted under the name of the module that does it, so that it can be explained like the
tensors of a model (see ``dimensions.Blueprint``).
"""

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from math import prod
from typing import Any

from torch import nn
from torch.utils._python_dispatch import TorchDispatchMode

from bertviewer.core.backend import torch, transformers
from bertviewer.core.costs.live_memory import LiveMemory, elements
from bertviewer.core.counting.dimensions import (
    Blueprint,
    Values,
    blanked,
    numbered_children,
    owners,
)
from bertviewer.core.flow.known_values import KnownValues, tensors_in
from bertviewer.core.flow.meta_inputs import meta_inputs
from bertviewer.core.flow.meta_results import carry_out
from bertviewer.core.flow.products import Dimensions, product_dimensions
from bertviewer.core.run.recording import first_tensor

PRODUCT, INPUT, OUTPUT, STORAGE = "~product", "~input", "~output", "~storage"
"""What entries of a ``ForwardPass`` are called, below the path of their module."""

MOST_OPERATIONS = 10_000
"""A model of a hundred layers takes fewer; longer passes would take minutes, all in all."""


@dataclass(frozen=True, slots=True)
class ForwardPass(Blueprint):
    """What one forward pass did.

    ``shapes`` has three kinds of entries: for each product of a module the number of times that
    it was done and the dimensions that it multiplies over; and the module's first input and
    output. ``sizes`` are multiply-adds, in and below each module.

    Attributes:
        called: the modules that were called.
        storages: the shapes of the storages that modules filled, by names of the same kind.
        moments: the storages that were alive together, at each moment that may be the peak.
        peak: the most elements that were alive at one time.
    """

    called: frozenset[str]
    storages: Mapping[str, Dimensions]
    moments: frozenset[frozenset[str]]
    peak: int

    def extends(self, other: Blueprint) -> bool:
        """Tell whether this did the same with other sizes, or with more layers or more calls.

        Not with both: ALBERT's groups of layers share the calls out, in no even way.
        """
        if not Blueprint.extends(self, other):
            return False
        called_as_often = all(
            self.shapes[name][0] == shape[0]
            for name, shape in other.shapes.items()
            if kind_of(name) == PRODUCT
        )
        return called_as_often or self.lengths == other.lengths


def read_forward(model: nn.Module, values: Values) -> ForwardPass:
    """Run a model on ``B`` sentences of ``S`` tokens, in eval mode with eager attention.

    Args:
        model: on the meta device. A decoder's sentence has ``S_d`` tokens.
        values: the letters' values, of which only those three matter.

    Raises:
        Exception: whatever the model raises, as for too many tokens or a step that hangs on the
            values of its activations.
    """
    model.eval()
    if isinstance(model, transformers.PreTrainedModel):
        # Its steps are products that can be seen; fused attention does the same ones.
        model.set_attn_implementation("eager")
    watch = _Watch(model)
    with torch.no_grad():
        inputs = meta_inputs(model, values)
        for tensor, value in inputs.known:
            watch.known.learn(tensor, value)
        with watch.hooks(), watch:
            model(**inputs.arguments)
    return watch.result()


@dataclass(slots=True)
class _Call:
    """A module at work: what it has done so far in this call."""

    path: str
    number: int
    products: int = 0
    storages: int = 0


class _Watch(TorchDispatchMode):  # type: ignore[no-untyped-call]
    """Sees every operation of a model, and knows which module is at work."""

    def __init__(self, model: nn.Module) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.known = KnownValues()
        self._paths = {module: path for path, module in model.named_modules()}
        self._memory = LiveMemory((*model.parameters(), *model.buffers()))
        self._operations = 0
        self._calls: Counter[str] = Counter()
        self._stack = [_Call("", 0)]
        self._products: dict[str, Counter[tuple[int, Dimensions]]] = {}
        self._shapes: dict[str, Dimensions] = {}
        self._storages: dict[str, Dimensions] = {}

    @contextmanager
    def hooks(self) -> Iterator[None]:
        """Follow the modules' calls inside the ``with``."""
        handles = []
        for module in self._paths:
            handles += [
                module.register_forward_pre_hook(self._enter, with_kwargs=True),
                module.register_forward_hook(self._leave),
            ]
        try:
            yield
        finally:
            for handle in handles:
                handle.remove()

    def __torch_dispatch__(
        self, func: Any, types: Any, args: Any = (), kwargs: Mapping[str, Any] | None = None
    ) -> Any:
        """Carry out an operation and note its product and the memory that it took."""
        del types
        kwargs = kwargs or {}
        scalar = self.known.scalar(func, args)
        if scalar is not None:
            return scalar
        self._operations += 1
        if self._operations > MOST_OPERATIONS:
            raise RuntimeError(
                "the model takes too many steps, it may go through it token by token"
            )
        tensors = tensors_in((args, kwargs))
        args, kwargs = self.known.together((args, kwargs), tensors)
        output = carry_out(func, args, kwargs, tensors)
        self.known.follow(func, args, kwargs, tensors, output)
        self._note_memory(output)
        dimensions = product_dimensions(func, args, output)
        if dimensions is not None:
            call = self._stack[-1]
            self._products.setdefault(call.path, Counter())[call.products, dimensions] += 1
            call.products += 1
        return output

    def result(self) -> ForwardPass:
        """Return what was seen."""
        sizes = dict.fromkeys(self._paths.values(), 0)
        shapes = dict(self._shapes)
        for path, products in self._products.items():
            for number, ((_, dimensions), times) in enumerate(products.items()):
                entry = (times, *dimensions)
                shapes[_entry(path, f"{PRODUCT}{number}", entry)] = entry
                for owner in (path, *owners(path)):
                    sizes[owner] += prod(entry)
        return ForwardPass(
            shapes=shapes,
            first_names={},
            modules=tuple(self._paths.values()),
            sizes=sizes,
            lengths=numbered_children(self._paths.values()),
            pattern=frozenset(map(blanked, shapes)),
            called=frozenset(self._calls),
            storages=self._storages,
            moments=frozenset(self._memory.moments),
            peak=self._memory.peak,
        )

    def _note_memory(self, output: Any) -> None:
        call, created = self._stack[-1], []
        for tensor in tensors_in(output):
            if self._memory.is_new(tensor):
                size = elements(tensor)
                shape = tuple(tensor.shape) if prod(tensor.shape) == size else (size,)
                name = _entry(call.path, f"{STORAGE}{call.storages}", shape) + f".{call.number}"
                self._storages[name] = shape
                created.append((name, tensor))
                call.storages += 1
        if created:
            self._memory.note(created)

    def _enter(self, module: nn.Module, args: Any, kwargs: Any) -> None:
        path = self._paths[module]
        self._stack.append(_Call(path, self._calls[path]))
        self._calls[path] += 1
        self._note_shape(path, INPUT, [*args, *kwargs.values()])

    def _leave(self, module: nn.Module, args: Any, output: Any) -> None:
        del args
        self._note_shape(self._paths[module], OUTPUT, output)
        self._stack.pop()

    def _note_shape(self, path: str, kind: str, value: Any) -> None:
        tensor = first_tensor(value)
        if tensor is not None:
            shape = tuple(tensor.shape)
            self._shapes[_entry(path, kind, shape)] = shape


def _entry(path: str, name: str, shape: Dimensions) -> str:
    """Return an entry's name; it tells the number of dimensions, so that like meets like."""
    return f"{path}.{name}_{len(shape)}" if path else f"{name}_{len(shape)}"


def kind_of(name: str) -> str:
    """Return which of the four kinds an entry is of, by its name; empty for a module's path."""
    found = re.search(r"~[a-z]+", name)
    return found[0] if found else ""


def owner_of(name: str) -> str:
    """Return the path of the module that an entry belongs to."""
    return name[: name.index("~")].removesuffix(".")
