"""What one built model looks like, and building it with other numbers in its configuration.

Models are built on the meta device: names and shapes without memory.
"""

import itertools
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import field
from math import prod
from typing import Any

from transformers.initialization import no_init_weights

from bertviewer.core.backend import torch, transformers
from bertviewer.core.building.allocations import unfilled
from bertviewer.core.errors import Stopped
from bertviewer.core.expressions.letters import LABELS_KEY
from bertviewer.core.expressions.symbols import Symbol, quantity_of
from bertviewer.core.frozen import frozen
from bertviewer.core.progress import Progress

Build = Callable[[Mapping[str, Any]], torch.nn.Module]
"""Builds the model on the meta device from a changed configuration, which may name ``num_labels``.

It may raise any ``Exception`` for a configuration that the model does not accept.
"""

Values = Mapping[str, int]
"""The value of each letter in one experiment."""

Read = Callable[[torch.nn.Module, Values], "ModelShapes"]
"""Reads off a built model what is to be explained, with the letters at these values.

Like ``Build`` it may raise for a model that does not take them.
"""


@frozen
class ModelShapes:
    """The names and shapes of one built model.

    Attributes:
        shapes: each tensor's shape, under every name that it has.
        first_names: for a tied tensor's later names, its first one.
        modules: the module paths, as ``named_modules()`` lists them.
        sizes: the elements in and below each module path; a tied tensor counts at its first name.
        lengths: for each path whose children are numbered, how many there are.
        pattern: the tensors' names with every number blanked, the same at any depth.
    """

    shapes: Mapping[str, tuple[int, ...]]
    first_names: Mapping[str, str]
    modules: tuple[str, ...]
    sizes: Mapping[str, int]
    lengths: Mapping[str, int]
    pattern: frozenset[str]

    @classmethod
    def of(cls, model: torch.nn.Module, values: Values) -> "ModelShapes":
        """Read a model's tensors, which depend on nothing but the configuration."""
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
            for path in owners(name):
                sizes[path] += prod(tensor.shape)
        pattern = frozenset(map(blanked, shapes))
        return cls(shapes, first_names, modules, sizes, numbered_children(modules), pattern)

    def extends(self, other: "ModelShapes") -> bool:
        """Tell whether this is the same architecture with other sizes, or with more layers."""
        if self.lengths == other.lengths and self.shapes.keys() != other.shapes.keys():
            return False
        return self.pattern == other.pattern and all(
            name in self.shapes
            and len(self.shapes[name]) == len(shape)
            and self.first_names.get(name) == other.first_names.get(name)
            for name, shape in other.shapes.items()
        )


@frozen
class VariantBuilder:
    """Builds variants of one configuration and reports each build to ``progress``.

    ``expected`` is the number of builds that is likely; it only serves the report. Symbols without
    a key, as for the tokens of a sentence, change nothing in the configuration: they are
    ``read``'s. ``built`` remembers every variant, by the letters that are moved and their values.
    """

    config: Mapping[str, Any]
    symbols: tuple[Symbol, ...]
    build: Build
    read: Read
    progress: Progress
    expected: int
    counter: Iterator[int] = field(default_factory=itertools.count)
    built: dict[frozenset[tuple[str, int]], "ModelShapes | None"] = field(default_factory=dict)

    def real(self) -> ModelShapes:
        """Build the configuration as it is; whatever that raises comes through."""
        self._tick()
        values = {symbol.letter: symbol.value for symbol in self.symbols}
        return self.read(self.build(dict(self.config)), values)

    def variant(self, values: Values, others: tuple[Symbol, ...] = ()) -> ModelShapes | None:
        """Build with the letters at these values; ``None`` where the model refuses them.

        Args:
            values: of all symbols.
            others: symbols beside the variants's own.
        """
        moved = {
            symbol: values[symbol.letter]
            for symbol in (*self.symbols, *others)
            if values[symbol.letter] != symbol.value
        }
        key = frozenset((symbol.letter, value) for symbol, value in moved.items())
        if key not in self.built:
            model = self._changed(moved, values, lists_follow=False)
            if model is None and any(map(self._has_lists, moved)):
                # Only where they must: one may be as long as there are layers by chance.
                model = self._changed(moved, values, lists_follow=True)
            self.built[key] = model
        return self.built[key]

    def _changed(
        self, moved: Mapping[Symbol, int], values: Values, *, lists_follow: bool
    ) -> ModelShapes | None:
        self._tick()
        config = dict(self.config)
        try:
            for symbol, value in moved.items():
                if symbol.key:
                    _change(config, symbol, value, lists_follow=lists_follow)
            with _unfilled():
                model = self.build(config)
            return self.read(model, values)
        except Stopped:
            raise
        except Exception:  # noqa: BLE001 - models refuse a configuration with any kind of error
            return None

    def _has_lists(self, symbol: Symbol) -> bool:
        """Tell whether a symbol counts layers, and a list beside it has an entry for each."""
        part: Any = self.config
        for name in symbol.key.split(".")[:-1]:
            part = part[name]
        return (
            quantity_of(symbol) == "layers"
            and isinstance(part, Mapping)
            and any(goes_by_layer(entries, symbol.value) for entries in part.values())
        )

    def _tick(self) -> None:
        done = next(self.counter)
        self.progress(min(done, self.expected), self.expected, "Deriving formulas")


@contextmanager
def _unfilled() -> Iterator[None]:
    """Build without drawing weights: on the meta device there are none, and it takes half the time.

    Tied weights are tied as always.
    """
    init_weights = transformers.PreTrainedModel.init_weights
    with no_init_weights(), unfilled():
        # On the meta device this ties weights and does nothing else.
        transformers.PreTrainedModel.init_weights = init_weights
        yield


def owners(name: str) -> Iterator[str]:
    """Yield the paths of all modules that hold a tensor, from its own up to the root."""
    while name:
        name = name.rpartition(".")[0]
        yield name


def numbered_children(modules: Iterable[str]) -> dict[str, int]:
    """Return how many children each module has that are numbered, by its path."""
    lengths: dict[str, int] = {}
    for path in modules:
        parent, _, last = path.rpartition(".")
        if last.isdigit():
            lengths[parent] = lengths.get(parent, 0) + 1
    return lengths


def blanked(name: str) -> str:
    """Return the name with every number in it blanked."""
    return ".".join("#" if part.isdigit() else part for part in name.split("."))


def goes_by_layer(entries: Any, layers: int) -> bool:
    """Tell whether a configuration's value is a list with an entry for each layer."""
    return (
        isinstance(entries, list | tuple)
        and len(entries) == layers
        and not any(isinstance(entry, list | tuple | dict) for entry in entries)
    )


def _change(config: dict[str, Any], symbol: Symbol, value: int, *, lists_follow: bool) -> None:
    """Put a new value into a configuration, with what has to follow it."""
    *parts, key = symbol.key.split(".")
    part: Any = config
    for name in parts:
        # A copy of all that is on the way: the configuration itself stays as it is.
        part[name] = list(part[name]) if isinstance(part[name], list | tuple) else {**part[name]}
        part = part[name]
    if isinstance(part, list):
        part[int(key)] = value
        return
    whole = part.get(key)
    part[key] = [value] * len(whole) if isinstance(whole, list | tuple) else value
    if key == LABELS_KEY:
        # The names of the labels would contradict the new number of them.
        part.pop("id2label", None)
        part.pop("label2id", None)
    if lists_follow and quantity_of(symbol) == "layers":
        # Lists with an entry for each layer (the kind of its attention) go on in the same pattern.
        for name, entries in part.items():
            if name != key and goes_by_layer(entries, symbol.value):
                part[name] = [entries[index % symbol.value] for index in range(value)]
