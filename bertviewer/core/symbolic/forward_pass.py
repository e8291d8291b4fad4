"""One forward pass on the meta device: products, shapes and memory, without values.

Everything is recorded under the name of its module, so that formulas can be fitted as for the
tensors of a model (see ``models.ModelSizes``).
"""

import inspect
import re
import weakref
from collections import Counter
from collections.abc import Mapping
from math import prod
from typing import Any

from torch import Tensor, UntypedStorage, nn

from bertviewer.core.building.backend import torch, transformers
from bertviewer.core.graph.inputs.media import FEATURES, PIXELS
from bertviewer.core.graph.inputs.signature import text_inputs
from bertviewer.core.graph.meta_device import MetaDevice, new_modules_on_meta
from bertviewer.core.graph.module_calls import tensors_in
from bertviewer.core.graph.products import Dimensions
from bertviewer.core.graph.trace import Trace, macs_by_module
from bertviewer.core.graph.tracing import CallTracer
from bertviewer.core.symbolic.models import (
    Facts,
    ModelSizes,
    Values,
    numbered_children,
    without_numbers,
)
from bertviewer.core.util.errors import Stopped

PRODUCT, INPUT, OUTPUT, STORAGE = "~product", "~input", "~output", "~storage"
"""Names of entries of a ``ForwardPass`` below the path of their module."""


class ForwardPass(ModelSizes, frozen=True):
    """Sizes in one forward pass.

    Attributes:
        shapes: of each product of a module how often it was computed, and its dimensions; and the
            shapes of the module's first input and output.
        sizes: multiply-adds in and below each module.
        called: the modules that were called.
        storages: the shapes of the storages that modules allocated, by names of the same kind.
        moments: the storages that were alive at each moment that may be the peak.
        peak: the maximum of elements that were alive at one time.
    """

    called: frozenset[str]
    storages: Mapping[str, Dimensions]
    moments: frozenset[frozenset[str]]
    peak: int

    @property
    def facts(self) -> Facts:
        """Multiply-adds by module, and the shapes of inputs and outputs."""
        ends = {n: shape for n, shape in self.shapes.items() if entry_kind(n) in (INPUT, OUTPUT)}
        return {**{path: (size,) for path, size in self.sizes.items()}, **ends}

    def extends(self, other: ModelSizes) -> bool:
        """Return whether this is the same pass with other sizes, or with more layers or more calls.

        Not with both: ALBERT's groups of layers divide the calls unevenly.
        """
        if not ModelSizes.extends(self, other):
            return False
        called_as_often = all(
            self.shapes[name][0] == shape[0]
            for name, shape in other.shapes.items()
            if entry_kind(name) == PRODUCT
        )
        return called_as_often or self.lengths == other.lengths


def read_forward(model: nn.Module, values: Values) -> ForwardPass:
    """Run a model on ``B`` sentences of ``S`` tokens, in eval mode with eager attention.

    Args:
        model: on the meta device. A decoder's sentence has ``S_d`` tokens.
        values: the values of at least these three symbols.

    Raises:
        Exception: any error of the model, as for too many tokens or a step that depends on the
            values of its activations.
    """
    model.eval()
    if isinstance(model, transformers.PreTrainedModel):
        # The same products as in fused attention, but separately.
        model.set_attn_implementation("eager")
    # Before the forward pass, in which BigBird replaces some.
    paths = tuple(path for path, _ in model.named_modules())
    tracer = CallTracer(model)
    memory = _Memory(model, tracer)
    with torch.no_grad():
        inputs = text_inputs(model, values).on_meta()
        device = MetaDevice(inputs.known, tracer.note_product, memory.note)
        try:
            with device, tracer.watching(), new_modules_on_meta():
                model(**inputs.arguments)
        except Stopped:
            raise
        except Exception as error:
            accepted = inspect.signature(model.forward).parameters
            for names, what in ((PIXELS, "images"), (FEATURES, "audio")):
                if not accepted.keys().isdisjoint(names):
                    reason = f"the model also reads {what}, and formulas are derived only for text"
                    raise ValueError(reason) from error
            raise
    trace = tracer.trace()
    shapes = _ends(trace) | _products(trace)
    return ForwardPass(
        shapes=shapes,
        first_names={},
        modules=paths,
        sizes=dict.fromkeys(paths, 0) | macs_by_module(trace),
        lengths=numbered_children(paths),
        unnumbered=frozenset(map(without_numbers, shapes)),
        called=frozenset(trace.calls_of),
        storages=memory.storages,
        moments=frozenset(memory.moments),
        peak=memory.peak,
    )


def _ends(trace: Trace) -> dict[str, Dimensions]:
    """Return the shape of the first input and output of each module."""
    found: dict[str, Dimensions] = {}
    for call in trace.calls:
        for kind, tensors in ((INPUT, call.inputs), (OUTPUT, call.outputs)):
            for _, value in tensors[:1]:
                shape = trace.values[value].shape
                found[_entry(call.path, kind, shape)] = shape
    return found


def _products(trace: Trace) -> dict[str, Dimensions]:
    """Return each product in a module's own code: how often, and its dimensions."""
    done: Counter[int] = Counter()
    found: dict[str, Counter[tuple[int, Dimensions]]] = {}
    for number, operation in zip(trace.innermost, trace.operations, strict=True):
        if number is None:
            continue
        for dimensions in operation.products:
            products = found.setdefault(trace.calls[number].path, Counter())
            # The same product of another call is counted again.
            products[done[number], dimensions] += 1
            done[number] += 1
    return {
        _entry(path, f"{PRODUCT}{place}", (times, *dimensions)): (times, *dimensions)
        for path, products in found.items()
        for place, ((_, dimensions), times) in enumerate(products.items())
    }


class _Memory:
    """Names the storages that a model allocates, and records which are alive at the same time.

    Integers and booleans are skipped, and so are weights and buffers.
    """

    def __init__(self, model: nn.Module, tracer: CallTracer) -> None:
        before = (*model.parameters(), *model.buffers())
        self.storages: dict[str, Dimensions] = {}
        self.moments: set[frozenset[str]] = set()
        """The names of the live storages, after each operation that allocated one."""
        self.peak = 0
        """The maximum of live elements."""
        self._before = {tensor.untyped_storage()._cdata for tensor in before}
        self._alive: dict[int, tuple[weakref.ref[UntypedStorage], str, int]] = {}
        self._tracer = tracer
        self._filled: Counter[tuple[str, int]] = Counter()

    def note(self, output: Any) -> None:
        """Record the result of an operation."""
        created = list(filter(self._is_new, tensors_in(output)))
        if not created:
            return
        self._alive = {key: entry for key, entry in self._alive.items() if entry[0]() is not None}
        for tensor in created:
            call = path, number = self._tracer.path, self._tracer.call_number
            storage = tensor.untyped_storage()
            size = storage.nbytes() // tensor.element_size()
            shape = tuple(tensor.shape) if prod(tensor.shape) == size else (size,)
            name = f"{_entry(path, f'{STORAGE}{self._filled[call]}', shape)}.{number}"
            self._filled[call] += 1
            self.storages[name] = shape
            self._alive[storage._cdata] = weakref.ref(storage), name, size
        self.moments.add(frozenset(name for _, name, _ in self._alive.values()))
        self.peak = max(self.peak, sum(size for *_, size in self._alive.values()))

    def _is_new(self, tensor: Tensor) -> bool:
        key = tensor.untyped_storage()._cdata
        if key in self._before or not (tensor.is_floating_point() or tensor.is_complex()):
            return False
        known = self._alive.get(key)
        # The address of a freed storage may be reused.
        return known is None or known[0]() is None


def _entry(path: str, name: str, shape: Dimensions) -> str:
    """Return an entry's name, which contains the number of dimensions."""
    return f"{path}.{name}_{len(shape)}" if path else f"{name}_{len(shape)}"


def entry_kind(name: str) -> str:
    """Return the kind of an entry by its name, "" for a module's path."""
    found = re.search(r"~[a-z]+", name)
    return found[0] if found else ""


def owner_of(name: str) -> str:
    """Return the path of the module that an entry belongs to."""
    return name.partition("~")[0].removesuffix(".")
