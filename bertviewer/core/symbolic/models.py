"""Models on the meta device, built with other numbers in their configuration, and their sizes."""

import itertools
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from math import prod
from typing import Any, TypeVar

from msgspec import Struct, field
from transformers.initialization import no_init_weights

from bertviewer.core.building.allocations import empty_is_free
from bertviewer.core.building.backend import torch, transformers
from bertviewer.core.expressions.symbols import (
    LABELS_KEY,
    Symbol,
    are_indices,
    dimension_kind,
)
from bertviewer.core.util.errors import Stopped
from bertviewer.core.util.progress import Progress

Build = Callable[[Mapping[str, Any]], torch.nn.Module]
"""Builds a model on the meta device from a changed configuration, which may have ``num_labels``.

It may raise any ``Exception`` for a configuration that the model does not accept.
"""

Values = Mapping[str, int]
"""The value of each symbol."""

Change = dict[str, int]
"""New values of some symbols."""

Read = Callable[[torch.nn.Module, Values], "ModelSizes"]
"""Reads sizes from a built model, given the symbols' values; may raise any ``Exception``."""

TENSOR = "~"
"""Prefix of a tensor's name in ``Facts``, which also contain modules."""

Facts = Mapping[str, tuple[int, ...]]
"""What formulas must evaluate to, by name: a tensor's dimensions, a module's count."""

Item = TypeVar("Item")


class ModelSizes(Struct, frozen=True):
    """The names and shapes of one built model.

    Attributes:
        shapes: each tensor's shape, under every name that it has.
        first_names: the first name of a tied tensor by each of its other names.
        modules: the module paths, as ``named_modules()`` lists them.
        sizes: the elements in and below each module path; a tied tensor counts at its first name.
        lengths: for each path whose children are numbered, the number of its children.
        unnumbered: the tensors' names without numbers, the same at any depth.
    """

    shapes: Mapping[str, tuple[int, ...]]
    first_names: Mapping[str, str]
    modules: tuple[str, ...]
    sizes: Mapping[str, int]
    lengths: Mapping[str, int]
    unnumbered: frozenset[str]

    @classmethod
    def of(cls, model: torch.nn.Module, values: Values) -> "ModelSizes":
        """Read the sizes of a model's parameters."""
        modules = tuple(path for path, _ in model.named_modules())
        sizes = dict.fromkeys(modules, 0)
        shapes: dict[str, tuple[int, ...]] = {}
        first_names: dict[str, str] = {}
        known: dict[int, str] = {}
        for name, tensor in model.named_parameters(remove_duplicate=False):
            shapes[name] = tuple(tensor.shape)
            first = known.setdefault(id(tensor), name)
            if first != name:
                first_names[name] = first
                continue
            for path in enclosing_modules(name):
                sizes[path] += prod(tensor.shape)
        unnumbered = frozenset(map(without_numbers, shapes))
        return cls(shapes, first_names, modules, sizes, numbered_children(modules), unnumbered)

    @classmethod
    def of_shapes(cls, shapes: Mapping[str, tuple[int, ...]]) -> "ModelSizes":
        """Return sizes with shapes only."""
        return cls(shapes, {}, (), {}, {}, frozenset(map(without_numbers, shapes)))

    @property
    def facts(self) -> Facts:
        """The shapes of tensors and the counts of modules."""
        return {
            **{TENSOR + name: shape for name, shape in self.shapes.items()},
            **{path: (size,) for path, size in self.sizes.items()},
        }

    def extends(self, other: "ModelSizes") -> bool:
        """Return whether this is the architecture of ``other`` with other sizes or more layers."""
        if self.lengths == other.lengths and self.shapes.keys() != other.shapes.keys():
            return False
        return self.unnumbered == other.unnumbered and all(
            name in self.shapes
            and len(self.shapes[name]) == len(shape)
            and self.first_names.get(name) == other.first_names.get(name)
            for name, shape in other.shapes.items()
        )


class ModelBuilder(Struct, frozen=True):
    """Builds models of one configuration with other values of its symbols.

    Attributes:
        symbols: symbols without a key, such as the number of tokens, are only used by ``read``.
        expected: an estimate of the number of builds, for progress.
        built: all models by the symbols whose values differ from the real ones.
    """

    config: Mapping[str, Any]
    symbols: tuple[Symbol, ...]
    build: Build
    read: Read
    progress: Progress
    expected: int
    counter: Iterator[int] = field(default_factory=itertools.count)
    built: dict[frozenset[tuple[str, int]], "ModelSizes | None"] = field(default_factory=dict)

    @property
    def values(self) -> dict[str, int]:
        """The symbols' values in the real model."""
        return {symbol.name: symbol.value for symbol in self.symbols}

    @property
    def depths(self) -> list[Symbol]:
        """The symbols that are numbers of layers."""
        return [symbol for symbol in self.symbols if dimension_kind(symbol) == "layers"]

    def real(self) -> ModelSizes:
        """Build the unchanged configuration; errors of the build are raised."""
        self._report()
        return self.read(self.build(dict(self.config)), self.values)

    def variant(self, values: Values) -> ModelSizes | None:
        """Build with these values of all symbols; ``None`` if the model refuses them."""
        moved = {s: values[s.name] for s in self.symbols if values[s.name] != s.value}
        key = frozenset((symbol.name, value) for symbol, value in moved.items())
        if key not in self.built:
            self.built[key] = self._changed(moved, values)
        return self.built[key]

    def _changed(self, moved: Mapping[Symbol, int], values: Values) -> ModelSizes | None:
        for config in changed_configs(self.config, moved):
            self._report()
            try:
                with _uninitialized():
                    model = self.build(config)
                return self.read(model, values)
            except Stopped:
                raise
            except Exception:  # noqa: BLE001 - models refuse one with any kind of error
                continue
        return None

    def _report(self) -> None:
        done = next(self.counter)
        self.progress(min(done, self.expected), self.expected, "Deriving formulas")


@contextmanager
def _uninitialized() -> Iterator[None]:
    """Build without initializing weights, which halves the time; weights are still tied."""
    init_weights = transformers.PreTrainedModel.init_weights
    with no_init_weights(), empty_is_free():
        # On the meta device this ties weights and does nothing else.
        transformers.PreTrainedModel.init_weights = init_weights
        yield


def refused_items(
    items: Iterable[Item], accepts: Callable[[Sequence[Item]], bool]
) -> Iterator[Item]:
    """Yield the items that are refused individually, found by bisecting refused groups."""
    waiting = [list(items)]
    while waiting:
        some = waiting.pop()
        if not some or accepts(some):
            continue
        if len(some) == 1:
            yield some[0]
        else:
            middle = len(some) // 2
            waiting += [some[middle:], some[:middle]]


def enclosing_modules(name: str) -> Iterator[str]:
    """Yield the paths of all modules that contain a tensor or module; "", the root, is last."""
    name = name.removeprefix(TENSOR)
    while name:
        name = name.rpartition(".")[0]
        yield name


def numbered_children(modules: Iterable[str]) -> dict[str, int]:
    """Return the number of numbered children of each module, by its path."""
    lengths: dict[str, int] = {}
    for path in modules:
        parent, _, last = path.rpartition(".")
        if last.isdigit():
            lengths[parent] = lengths.get(parent, 0) + 1
    return lengths


def without_numbers(name: str) -> str:
    """Return a name with every number replaced by ``#``."""
    return ".".join("#" if part.isdigit() else part for part in name.split("."))


def goes_by_layer(key: str, entries: Any, layers: int) -> bool:
    """Return whether a configuration's value is a list with an entry for each layer.

    Lists of indices, such as ``deepstack_visual_indexes``, are as long as a depth by chance only.
    """
    return (
        isinstance(entries, list | tuple)
        and len(entries) == layers
        and not are_indices(key)
        and not any(isinstance(entry, list | tuple | dict) for entry in entries)
    )


def changed_configs(
    config: Mapping[str, Any], values: Mapping[Symbol, int]
) -> Iterator[dict[str, Any]]:
    """Yield a configuration with changed numbers, for a model that may refuse the first ones.

    After the numbers alone come those with lists that go by layer continued in their pattern: the
    lists next to one depth at a time, then all. A list may have the length of a depth by chance.

    Args:
        config: the configuration.
        values: the new value of each changed symbol; symbols without a key are ignored.
    """
    changed = {symbol: value for symbol, value in values.items() if symbol.key}
    plain = _with_numbers(config, changed, ())
    if plain is None:
        return
    yield plain
    depths = [symbol for symbol in changed if dimension_kind(symbol) == "layers"]
    choices = [[depth] for depth in depths] if len(depths) > 1 else []
    seen = [plain]
    for following in (*choices, depths):
        adapted = _with_numbers(config, changed, following)
        if adapted is not None and adapted not in seen:
            seen.append(adapted)
            yield adapted


def _with_numbers(
    config: Mapping[str, Any], values: Mapping[Symbol, int], following: Collection[Symbol]
) -> dict[str, Any] | None:
    """Return a changed configuration, ``None`` if an index of a list no longer exists.

    ``following`` are depths whose lists with an entry for each layer are continued.
    """
    changed = dict(config)
    try:
        for symbol, value in values.items():
            _change_number(changed, symbol, value, lists_follow=symbol in following)
    except (LookupError, TypeError, AttributeError):
        return None
    return changed


def _change_number(
    config: dict[str, Any], symbol: Symbol, value: int, *, lists_follow: bool
) -> None:
    """Put a new value into a configuration, in place; nested containers are copied first."""
    *parts, key = symbol.key.split(".")
    part: Any = config
    for name in parts:
        at: Any = int(name) if isinstance(part, list) else name
        part[at] = list(part[at]) if isinstance(part[at], list | tuple) else {**part[at]}
        part = part[at]
    if isinstance(part, list):
        part[int(key)] = value
        return
    whole = part.get(key)
    part[key] = [value] * len(whole) if isinstance(whole, list | tuple) else value
    if key == LABELS_KEY:
        # The names of the labels would contradict the new number of them.
        part.pop("id2label", None)
        part.pop("label2id", None)
    if lists_follow:
        for name, entries in part.items():
            if name != key and goes_by_layer(name, entries, symbol.value):
                part[name] = [entries[index % symbol.value] for index in range(value)]


def template_path(path: str, lengths: Mapping[str, int]) -> str:
    """Return the corresponding name of a module or tensor in a model with fewer layers.

    Args:
        path: a name in any model of the architecture.
        lengths: the numbers of blocks in the smaller model, by the path that holds them. Further
            blocks correspond to the last one.
    """
    prefix = TENSOR if path.startswith(TENSOR) else ""
    parts: list[str] = []
    for part in path.removeprefix(prefix).split("."):
        length = lengths.get(".".join(parts)) if part.isdigit() else None
        parts.append(part if length is None or int(part) < length else str(length - 1))
    return prefix + ".".join(parts)
