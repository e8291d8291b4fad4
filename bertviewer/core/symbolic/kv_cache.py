"""The memory of a model's cache as formulas, from the cache that a forward pass returns.

A cache is any part of the output that exists only with ``use_cache=True`` and contains tensors:
keys and values, compressed ones, the states of convolutions and recurrent layers.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from math import prod
from typing import Any

import torch
from msgspec.structs import replace
from torch import Tensor, nn

from bertviewer.core.building.backend import transformers
from bertviewer.core.expressions.evaluation import join_conditions
from bertviewer.core.expressions.polynomials import (
    Polynomial,
    factored,
    join_terms,
    polynomial_of,
    product,
    total,
)
from bertviewer.core.expressions.symbols import (
    SENTENCES,
    TARGET_TOKENS,
    TOKENS,
    Symbol,
    other_symbols_of,
    standard_name,
    symbols_of,
)
from bertviewer.core.graph.inputs.choices import input_choices
from bertviewer.core.graph.inputs.signature import ModelInputs
from bertviewer.core.graph.meta_device import known_on_meta
from bertviewer.core.schema.architecture import Architecture
from bertviewer.core.schema.costs import CachedLayers, KVCache
from bertviewer.core.symbolic.conditions import constant_conditions
from bertviewer.core.symbolic.fitting import fit
from bertviewer.core.symbolic.models import Build, ModelBuilder, ModelSizes, Values, refused_items
from bertviewer.core.symbolic.size_lookup import EXPECTED, SizeLookup
from bertviewer.core.util.errors import Stopped
from bertviewer.core.util.progress import Progress, no_progress

_SIZES = {SENTENCES: 2, TOKENS: 23, TARGET_TOKENS: 19}
_WINDOWS = (5, 9, 7)
"""Tried values of a number that may be a window, all smaller than the number of tokens."""

_WIDE = 4096
"""Width of windows while the other sizes are observed."""

_LAYER = re.compile(r"(.*?)\.(\d+)(?:\.|$)")

_Kind = tuple[str, str | None, int | None]
"""The symbol of the tokens, their limit, and the bits of an element if they are fixed."""

_Layers = dict[tuple[str, int], dict[_Kind, Polynomial]]
"""The cached elements of each layer of each stack."""


def derive_kv_cache(
    architecture: Architecture, build: Build, progress: Progress = no_progress
) -> KVCache | None:
    """Derive what a model caches, and verify it on models with other numbers and inputs.

    Args:
        architecture: the model with the formulas of its tensors.
        build: builds the model on the meta device from a changed configuration.
        progress: is called before each build; its errors are raised.

    Returns:
        ``None`` for a model without a cache or without a formula.
    """
    config = architecture.config
    lengths = dict(_SIZES)
    if not config.get("is_encoder_decoder"):
        del lengths[TARGET_TOKENS]
    inputs = (Symbol(name, "", size, "", name) for name, size in lengths.items())
    known = {symbol.name for symbol in architecture.symbols}
    numbers = (*symbols_of(config), *other_symbols_of(config))
    others = (replace(s, variable="") for s in numbers if s.name not in known)
    symbols = (*inputs, *architecture.symbols, *others)
    reader = _Reader()
    builder = ModelBuilder(config, symbols, build, reader.sizes, progress, EXPECTED)
    real = builder.variant(builder.values)
    if real is None or not real.shapes:
        return None
    windows = _windows(builder, real)
    narrow = {symbol for symbol, _ in windows.values()}
    base = builder.values | {x: max(builder.values[x], _WIDE) for x in narrow}
    start = builder.variant(base)
    sizes = start and SizeLookup(builder, architecture, start, base, every=True)
    if not sizes:
        return None
    limits = {name: limit for name, (_, limit) in windows.items()}
    layers = _layers(sizes, limits, reader.fixed_bits(build(config), builder.values))
    if layers is None:
        return None
    cache = _grouped(layers, builder, base)
    tried = (*sizes.points, {**builder.values, **dict.fromkeys(narrow, _WINDOWS[0])})
    if not all(_matches(cache, builder, values) for values in tried):
        return None
    depths = builder.depths
    fixed = [
        f"{symbol.name} == {symbol.value}"
        for symbol in depths
        if not _matches(cache, builder, {**base, symbol.name: base[symbol.name] + 1})
    ]
    free = [s for s in builder.symbols if s.variable and s.key and s not in depths]
    conditions = (*fixed, *constant_conditions(free, sizes.points, cache.names))
    return replace(cache, domain=join_conditions(conditions))


def _layers(
    sizes: SizeLookup, limits: Mapping[str, str], bits: Mapping[str, int]
) -> _Layers | None:
    """Return the elements of each layer, ``None`` if a tensor has no formula."""
    layers: _Layers = {}
    for name in sizes.names:
        if (shape := sizes.shape(name)) is None:
            return None
        elements = product(polynomial_of(size) for size in shape)
        tokens = next((x for x in (TARGET_TOKENS, TOKENS) if x in elements.symbols), "")
        for divisor in filter(None, (SENTENCES, tokens)):
            elements *= Polynomial.term(Fraction(1), {divisor: -1})
        if elements.symbols & {SENTENCES, TOKENS, TARGET_TOKENS}:
            return None
        place = _LAYER.match(name)
        kinds = layers.setdefault((place[1], int(place[2])) if place else (name, 0), {})
        key = tokens, limits.get(name), bits.get(name)
        kinds[key] = total((kinds[key], elements)) if key in kinds else elements
    return layers


def _matches(cache: KVCache, builder: ModelBuilder, values: Values) -> bool:
    """Return whether a model with these values can be built and caches what the formulas give."""
    model = builder.variant(values)
    return model is not None and cache.elements(values) == sum(map(prod, model.shapes.values()))


def _grouped(layers: _Layers, builder: ModelBuilder, base: Values) -> KVCache:
    """Group layers with equal caches, and write the sum of all."""
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
        terms.append(re.sub(rf"\b{tokens}\b", f"min({tokens}, {limit})", term) if limit else term)
    return KVCache(tuple(found), join_terms(terms))


def _depth(builder: ModelBuilder, base: Values, stack: str, count: int) -> str | None:
    """Return the symbol of a depth that equals the number of a stack's layers."""

    def length(more: int) -> int:
        model = builder.variant({**base, symbol.name: count + more})
        found = map(_LAYER.match, model.shapes if model else ())
        return len({place[2] for place in found if place and place[1] == stack})

    for symbol in builder.depths:
        if symbol.value == count and all(length(more) == count + more for more in (1, 2)):
            return symbol.name
    return None


def _windows(builder: ModelBuilder, real: ModelSizes) -> dict[str, tuple[str, str]]:
    """Return symbol and formula of the window of each tensor with a limited number of tokens.

    Numbers that are no size of any tensor are set to a few small values to observe the cache.
    """

    def shapes(some: Sequence[Symbol]) -> list[Mapping[str, tuple[int, ...]]]:
        """Return the shapes with small values of these symbols; none if tensors differ."""
        found: list[Mapping[str, tuple[int, ...]]] = []
        for value in _WINDOWS:
            model = builder.variant(builder.values | {s.name: value for s in some})
            if model is None or model.shapes.keys() != real.shapes.keys():
                return []
            found.append(model.shapes)
        return found

    candidates = [
        symbol
        for symbol in builder.symbols
        if symbol.key and not symbol.variable and symbol.value > 1 and not standard_name(symbol)
    ]
    windows: dict[str, tuple[str, str]] = {}
    for symbol in refused_items(candidates, lambda some: len(set(map(str, shapes(some)))) == 1):
        first, *others = shapes([symbol]) or [{}]
        for name, shape in first.items():
            for axis, length in enumerate(shape):
                sizes = (other[name][axis] for other in others)
                seen = tuple(zip(_WINDOWS[1:], sizes, strict=True))
                limit = fit(length, {symbol.name: _WINDOWS[0]}, {symbol.name: seen})
                if limit is not None and limit.symbols:
                    windows[name] = symbol.name, str(limit)
    return windows


class _Reader:
    """Runs models with a cache and reads its floating point tensors by their paths."""

    def __init__(self) -> None:
        self._entries: set[str] = set()
        """The names of the outputs that hold a cache, once known."""

    def sizes(self, model: nn.Module, values: Values) -> ModelSizes:
        """Return the tensors' shapes; errors of the model are raised."""
        tensors = self._tensors(model, values)
        return ModelSizes.of_shapes({name: tuple(t.shape) for name, t in tensors.items()})

    def fixed_bits(self, model: nn.Module, values: Values) -> dict[str, int]:
        """Return the bits of the tensors whose dtype is not the model's."""
        try:
            tensors = self._tensors(model.to(torch.bfloat16), values)
        except Stopped:
            raise
        except Exception:  # noqa: BLE001 - not every model runs in 16 bits on the meta device
            return {}
        others = {name: t for name, t in tensors.items() if t.dtype != torch.bfloat16}
        return {name: 8 * tensor.element_size() for name, tensor in others.items()}

    def _tensors(self, model: nn.Module, values: Values) -> dict[str, Tensor]:
        model.eval()
        if isinstance(model, transformers.PreTrainedModel):
            model.set_attn_implementation("eager")
        error: Exception = ValueError("no inputs are known")
        for inputs in input_choices(model, values):
            try:
                outputs = _outputs(model, inputs, use_cache=True)
                if not self._entries:
                    self._entries = outputs.keys() - _outputs(model, inputs, use_cache=False).keys()
            except Stopped:
                raise
            except Exception as caught:  # noqa: BLE001 - an input that is refused
                error = caught
                continue
            return {
                path: tensor
                for entry in outputs.keys() & self._entries
                for path, tensor in cached_tensors(outputs[entry], entry)
            }
        raise error


def _outputs(model: nn.Module, inputs: ModelInputs, *, use_cache: bool) -> Mapping[str, Any]:
    meta = inputs.on_meta()
    if "use_cache" not in meta.arguments:
        return {}
    with known_on_meta(meta.known, lambda dimensions: None):
        outputs = model(**{**meta.arguments, "use_cache": use_cache})
    return outputs if isinstance(outputs, Mapping) else {}


def cached_tensors(
    value: Any, path: str, known: set[int] | None = None
) -> Iterator[tuple[str, Tensor]]:
    """Yield the floating point tensors in a cache with their paths, each tensor once."""
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
