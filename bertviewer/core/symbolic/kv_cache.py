"""The memory of a model's cache as formulas, observed on what a forward pass leaves in it.

A cache is any part of a model's output that it has only with ``use_cache=True`` and that holds
tensors: keys and values, compressed ones, the states of convolutions and recurrent layers.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from itertools import takewhile
from math import prod
from typing import Any

import torch
from torch import Tensor, nn

from bertviewer.core.architecture.architecture import Architecture
from bertviewer.core.architecture.kv_cache import CachedLayers, KVCache
from bertviewer.core.backend import transformers
from bertviewer.core.errors import Stopped
from bertviewer.core.expressions.domains import joined
from bertviewer.core.expressions.polynomials import (
    Polynomial,
    join_terms,
    polynomial_of,
    product,
    total,
)
from bertviewer.core.expressions.symbols import (
    Symbol,
    others_of,
    quantity_of,
    standard_letter,
    symbols_of,
)
from bertviewer.core.graph.inputs.choices import input_choices
from bertviewer.core.graph.inputs.texts import SENTENCES, TARGET_TOKENS, TOKENS, ModelInputs
from bertviewer.core.graph.meta_device import MetaDevice
from bertviewer.core.graph.shared_weights import new_modules_on_meta
from bertviewer.core.progress import Progress, no_progress
from bertviewer.core.symbolic.conditions import never_varied
from bertviewer.core.symbolic.factoring import factored
from bertviewer.core.symbolic.fitting import fit
from bertviewer.core.symbolic.known_sizes import EXPECTED, KnownSizes
from bertviewer.core.symbolic.models import (
    Build,
    ModelBuilder,
    ModelSizes,
    Values,
    refused_items,
)

_SIZES = {SENTENCES: 2, TOKENS: 23, TARGET_TOKENS: 19}
_WINDOWS = (5, 9, 7)
"""Values of a number that may be a window, all smaller than the tokens."""
_WIDE = 4096
"""Windows are made so wide where the other sizes are observed."""
_LAYER = re.compile(r"(.*?)\.(\d+)(?:\.|$)")

_Kind = tuple[str, str | None, int | None]
"""The symbol of the tokens, the most of them, and the width of an element if it is fixed."""

_Layers = dict[tuple[str, int], dict[_Kind, Polynomial]]
"""What each layer of each stack keeps."""


def derive_kv_cache(
    architecture: Architecture, build: Build, progress: Progress = no_progress
) -> KVCache | None:
    """Derive what a model caches, and confirm it on models with other numbers and inputs.

    Args:
        architecture: the model with the formulas of its tensors.
        build: gives the model on the meta device for a changed configuration.
        progress: called before each build; what it raises is raised here.

    Returns:
        ``None`` for a model without a cache, and where no formula was found.
    """
    config = architecture.config
    is_pair = bool(config.get("is_encoder_decoder"))
    lengths = {x: size for x, size in _SIZES.items() if x != TARGET_TOKENS or is_pair}
    inputs = (Symbol(letter, "", size, "", letter) for letter, size in lengths.items())
    known = {symbol.letter for symbol in architecture.symbols}
    numbers = (*symbols_of(config), *others_of(config))
    others = (replace(s, variable="") for s in numbers if s.letter not in known)
    symbols = (*inputs, *architecture.symbols, *others)
    reader = _Reader()
    builder = ModelBuilder(config, symbols, build, reader.read, progress, EXPECTED)
    try:
        real = builder.real()
    except Stopped:
        raise
    except Exception:  # noqa: BLE001 - a model's forward fails with any kind of error
        return None
    if not real.shapes:
        return None
    windows = _windows(builder, real)
    narrow = {letter for letter, _ in windows.values()}
    base = builder.values | {x: max(builder.values[x], _WIDE) for x in narrow}
    if (start := builder.variant(base)) is None:
        return None
    if not (sizes := KnownSizes(builder, architecture, start, base, every=True)):
        return None
    limits = {name: limit for name, (_, limit) in windows.items()}
    layers = _layers(sizes, limits, reader.fixed_bits(build(config), builder.values))
    if layers is None:
        return None
    cache = _grouped(layers, builder, base)
    tried = (*sizes.points, {**builder.values, **dict.fromkeys(narrow, _WINDOWS[0])})
    if not all(_gives(cache, builder, values) for values in tried):
        return None
    depths = (symbol for symbol in builder.symbols if quantity_of(symbol) == "layers")
    fixed = [
        f"{symbol.letter} == {symbol.value}"
        for symbol in depths
        if not _gives(cache, builder, {**base, symbol.letter: base[symbol.letter] + 1})
    ]
    free = [s for s in builder.symbols if s.variable and s.key and quantity_of(s) != "layers"]
    used = {x for kinds in layers.values() for elements in kinds.values() for x in elements.letters}
    return replace(cache, domain=joined((*fixed, *never_varied(free, sizes.points, used))))


def _layers(
    sizes: KnownSizes, limits: Mapping[str, str], bits: Mapping[str, int]
) -> _Layers | None:
    """Return the elements of each layer, ``None`` where a tensor has no formula."""
    layers: _Layers = {}
    for name in sizes.names:
        if (shape := sizes.shape(name)) is None:
            return None
        elements = product(polynomial_of(size) for size in shape)
        tokens = next((x for x in (TARGET_TOKENS, TOKENS) if x in elements.letters), "")
        for letter in filter(None, (SENTENCES, tokens)):
            elements *= Polynomial.term(Fraction(1), {letter: -1})
        if elements.letters & {SENTENCES, TOKENS, TARGET_TOKENS}:
            return None
        place = _LAYER.match(name)
        kinds = layers.setdefault((place[1], int(place[2])) if place else (name, 0), {})
        key = tokens, limits.get(name), bits.get(name)
        kinds[key] = total((kinds[key], elements)) if key in kinds else elements
    return layers


def _gives(cache: KVCache, builder: ModelBuilder, values: Values) -> bool:
    """Return whether a model can be built with these values and caches what the formulas say."""
    model = builder.variant(values)
    return model is not None and cache.elements(values) == sum(map(prod, model.shapes.values()))


def _grouped(layers: _Layers, builder: ModelBuilder, base: Values) -> KVCache:
    """Put layers that keep equally much into groups, and write the sum of all."""
    groups: dict[tuple[str, _Kind, str], list[int]] = {}
    for (stack, number), kinds in layers.items():
        for key, elements in kinds.items():
            groups.setdefault((stack, key, str(elements)), []).append(number)
    found: list[CachedLayers] = []
    terms: list[str] = []
    for (stack, (tokens, limit, bits), text), numbers in groups.items():
        are_all = all(
            numbers == others for (other, _, _), others in groups.items() if other == stack
        )
        depth = _depth(builder, base, stack, len(numbers)) if are_all else None
        count = depth or str(len(numbers))
        found.append(CachedLayers(tuple(numbers), count, tokens, text, limit, bits))
        factors = (count, SENTENCES, tokens or "1", text)
        term = factored(product(polynomial_of(factor) for factor in factors), (count,))
        # No other factor has the tokens.
        terms.append(re.sub(rf"\b{tokens}\b", f"min({tokens}, {limit})", term) if limit else term)
    return KVCache(tuple(found), join_terms(terms))


def _depth(builder: ModelBuilder, base: Values, stack: str, count: int) -> str | None:
    """Return the symbol of a depth that the number of a stack's layers follows."""
    for symbol in builder.symbols:
        if quantity_of(symbol) != "layers" or symbol.value != count:
            continue
        numbers = []
        for more in (1, 2):
            model = builder.variant({**base, symbol.letter: count + more})
            names = () if model is None else model.shapes
            numbers.append(len({m[2] for n in names if (m := _LAYER.match(n)) and m[1] == stack}))
        if numbers == [count + 1, count + 2]:
            return symbol.letter
    return None


def _windows(builder: ModelBuilder, real: ModelSizes) -> dict[str, tuple[str, str]]:
    """Return the tensors that keep a limited number of tokens: the symbol, and the formula of it.

    A number that is no size of any tensor is set to a few small values, and the cache is observed.
    """

    def models(some: Sequence[Symbol]) -> list[ModelSizes]:
        """Return the models with these symbols at the small values that cache as many tensors."""
        changes = ({s.letter: value for s in some} for value in _WINDOWS)
        built = (builder.variant(builder.values | change) for change in changes)
        same = takewhile(lambda it: it and it.shapes.keys() == real.shapes.keys(), built)
        return [model for model in same if model is not None]

    def changes_nothing(some: Sequence[Symbol]) -> bool:
        found = models(some)
        return len(found) == len(_WINDOWS) and all(it.shapes == found[0].shapes for it in found)

    candidates = [
        symbol
        for symbol in builder.symbols
        if symbol.key and not symbol.variable and symbol.value > 1 and not standard_letter(symbol)
    ]
    windows: dict[str, tuple[str, str]] = {}
    for symbol in refused_items(candidates, changes_nothing):
        first, *others = models([symbol]) or [real]
        if len(others) + 1 < len(_WINDOWS):
            continue
        for name, shape in first.shapes.items():
            for axis, length in enumerate(shape):
                sizes = (model.shapes[name][axis] for model in others)
                seen = tuple(zip(_WINDOWS[1:], sizes, strict=True))
                limit = fit(length, {symbol.letter: _WINDOWS[0]}, {symbol.letter: seen})
                if limit is not None and limit.letters:
                    windows[name] = symbol.letter, str(limit)
    return windows


class _Reader:
    """Runs models with a cache and reads what is in it."""

    def __init__(self) -> None:
        self._entries: frozenset[str] | None = None
        """The names of the outputs that hold a cache, once they are known."""

    def read(self, model: nn.Module, values: Values) -> ModelSizes:
        """Return the shapes of all floating point tensors of the cache, by their places in it.

        Raises:
            Exception: whatever the model raises.
        """
        tensors = self._tensors(model, values)
        return ModelSizes.of_shapes({name: tuple(t.shape) for name, t in tensors.items()})

    def fixed_bits(self, model: nn.Module, values: Values) -> dict[str, int]:
        """Return the widths of the tensors whose dtype is not the model's."""
        try:
            tensors = self._tensors(model.to(torch.bfloat16), values)
        except Stopped:
            raise
        except Exception:  # noqa: BLE001 - not every model runs in 16 bits on the meta device
            return {}
        return {
            name: 8 * tensor.element_size()
            for name, tensor in tensors.items()
            if tensor.dtype != torch.bfloat16
        }

    def _tensors(self, model: nn.Module, values: Values) -> dict[str, Tensor]:
        model.eval()
        if isinstance(model, transformers.PreTrainedModel):
            model.set_attn_implementation("eager")
        error: Exception | None = None
        for inputs in input_choices(model, values):
            try:
                if self._entries is None:
                    without = _outputs(model, inputs, use_cache=False)
                    cached = _outputs(model, inputs, use_cache=True)
                    self._entries = frozenset(cached.keys() - without.keys())
                outputs = _outputs(model, inputs, use_cache=True)
            except Stopped:
                raise
            except Exception as caught:  # noqa: BLE001 - an input that is refused
                error = error or caught
                continue
            return {
                path: tensor
                for entry in outputs.keys() & self._entries
                for path, tensor in cached_tensors(outputs[entry], entry)
            }
        raise error or ValueError("no inputs are known")


def _outputs(model: nn.Module, inputs: ModelInputs, *, use_cache: bool) -> dict[str, Any]:
    meta = inputs.on_meta()
    if "use_cache" not in meta.arguments:
        return {}
    arguments = {**meta.arguments, "use_cache": use_cache}
    device = MetaDevice(meta.known, lambda dimensions: None, lambda output: None)
    with torch.no_grad(), device, new_modules_on_meta():
        outputs = model(**arguments)
    return dict(outputs.items()) if isinstance(outputs, Mapping) else {}


def cached_tensors(
    value: Any, path: str, known: set[int] | None = None
) -> Iterator[tuple[str, Tensor]]:
    """Yield the floating point tensors in a cache with their places, each of them once."""
    known = set() if known is None else known
    if isinstance(value, nn.Module | type) or id(value) in known:
        return
    known.add(id(value))
    if isinstance(value, Tensor):
        if (value.is_floating_point() or value.is_complex()) and value.dim():
            yield path, value
        return
    is_list = isinstance(value, list | tuple)
    parts = dict(enumerate(value)) if is_list else getattr(value, "__dict__", {})
    for key, part in list((value if isinstance(value, Mapping) else parts).items()):
        yield from cached_tensors(part, f"{path}.{key}", known)
