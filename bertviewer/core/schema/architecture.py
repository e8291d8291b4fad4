"""What a model is made of: plain data, free of torch, the same as its JSON export.

``Architecture.to_json`` gives the document ``bertviewer.architecture/1`` that
``bertviewer summary --format json`` prints; ``Architecture.from_json`` reads it back equal.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from msgspec import Struct, field
from msgspec.structs import force_setattr

from bertviewer.core.expressions.symbols import Symbol
from bertviewer.core.schema.flows import Flows
from bertviewer.core.schema.forward_costs import Costs
from bertviewer.core.schema.kv_cache import KVCache
from bertviewer.core.schema.module_node import ModuleNode
from bertviewer.core.schema.source_info import QUANTIZED, SourceInfo
from bertviewer.core.schema.tensor_info import TensorInfo
from bertviewer.core.util.gc_paused import no_search_for_garbage
from bertviewer.core.util.partial_equality import PartialEquality
from bertviewer.core.util.serialization import convert, to_json
from bertviewer.core.util.special_floats import decoded, encoded

SCHEMA = "bertviewer.architecture/1"

BITS = {"float32": 32, "float16": 16, "int8": 8, "int4": 4}


class _Index(Struct, frozen=True, eq=False):
    """Modules by path, the modules directly below each path, and the tensors in and below it."""

    modules: tuple[ModuleNode, ...]
    parameters: tuple[TensorInfo, ...]
    by_path: Mapping[str, ModuleNode]
    children: Mapping[str, list[ModuleNode]]
    below: Mapping[str, list[TensorInfo]]


def _index_of(modules: tuple[ModuleNode, ...], parameters: tuple[TensorInfo, ...]) -> _Index:
    children: dict[str, list[ModuleNode]] = {}
    below: dict[str, list[TensorInfo]] = {}
    around: dict[str, list[list[TensorInfo]]] = {}  # the lists that an owner's tensors are in
    for node in modules:
        if (parent := node.parent) is not None:
            children.setdefault(parent, []).append(node)
    for tensor in parameters:
        if (owner := tensor.owner) not in around:
            around[owner] = [below.setdefault(path, []) for path in ancestors(owner)]
        for tensors in around[owner]:
            tensors.append(tensor)
    return _Index(modules, parameters, {node.path: node for node in modules}, children, below)


class Architecture(PartialEquality, Struct, frozen=True):
    """A model's whole structure: modules, tensors, configuration and symbols.

    ``config`` has what the model's code reads, and what concerns no computation, as labels' names.
    ``unused`` are the other keys of the configuration, which the code never reads; a key inside of
    a part follows the part's name and a dot. ``costs`` and ``flows`` are ``None`` until they are
    derived. The flows are separate documents, ``bertviewer.flow/1``. ``kv_cache`` is derived with
    the costs, and ``None`` for a model without a cache.
    """

    NOT_COMPARED = ("_index",)

    source: SourceInfo
    config: Mapping[str, Any]
    symbols: tuple[Symbol, ...]
    modules: tuple[ModuleNode, ...]
    parameters: tuple[TensorInfo, ...]
    costs: Costs | None = None
    flows: Flows | None = None
    kv_cache: KVCache | None = None
    unused: Mapping[str, Any] = field(default_factory=dict)
    _index: "_Index | None" = None

    def __post_init__(self) -> None:
        # The same modules and tensors, of another source or with more formulas, have the same.
        index = self._index
        if index is None or (index.modules, index.parameters) != (self.modules, self.parameters):
            force_setattr(self, "_index", _index_of(self.modules, self.parameters))

    @property
    def whole_config(self) -> dict[str, Any]:
        """The configuration with the keys that the model's code never reads."""
        return {**self.config, **{k: v for k, v in self.unused.items() if "." not in k}}

    @property
    def root(self) -> ModuleNode:
        """The model itself."""
        return self.modules[0]

    @property
    def tensor_count(self) -> int:
        """The number of tensors, a tied one counted once."""
        return sum(tensor.tied_to is None for tensor in self.parameters)

    @property
    def shares(self) -> dict[str, float]:
        """The shares of the root's children, and of its own tensors if any; they sum to 1."""
        shares = {node.name: node.share for node in self.modules if node.depth == 1}
        if self.root.own_parameters:
            shares["(own)"] = self.root.own_parameters / self.root.parameters
        return shares

    def module(self, path: str) -> ModuleNode | None:
        """Return the module at ``path``, ``None`` if there is none."""
        assert self._index is not None
        return self._index.by_path.get(path)

    def children(self, path: str) -> tuple[ModuleNode, ...]:
        """Return the modules directly below ``path``, in order."""
        assert self._index is not None  # since __post_init__
        return tuple(self._index.children.get(path, ()))

    def tensors_below(self, path: str) -> tuple[TensorInfo, ...]:
        """Return the tensors in the module at ``path`` and in all modules below it."""
        assert self._index is not None
        return tuple(self._index.below.get(path, ()))

    def stored_dtype(self, tensor: TensorInfo) -> str:
        """Return a tensor's dtype, or ``QUANTIZED`` if it is stored as codes."""
        return QUANTIZED if tensor.name in self.source.quantized_tensors else tensor.dtype

    def to_json(self) -> dict[str, Any]:
        """Return the document ``bertviewer.architecture/1``: plain dicts, lists and scalars."""
        total = self.root.parameters
        return {
            "schema": SCHEMA,
            "source": self.source.to_json(),
            "config": encoded(self.whole_config),
            "unused": encoded(self.unused),
            "symbols": {entry.pop("letter"): entry for entry in map(to_json, self.symbols)},
            "totals": {
                "parameters": total,
                "trainable": self.root.trainable,
                "tensors": self.tensor_count,
                "modules": len(self.modules),
                "bytes": bytes_by_dtype(total),
            },
            "shares": self.shares,
            "kv_cache": self._kv_cache_json(),
            "modules": to_json(self.modules),
            "parameters": to_json(self.parameters),
            "compute": None if self.costs is None else self.costs.to_json(),
        }

    def _kv_cache_json(self) -> dict[str, Any] | None:
        if self.kv_cache is None:
            return None
        return self.kv_cache.to_json({symbol.letter: symbol.value for symbol in self.symbols})

    @classmethod
    @no_search_for_garbage()
    def from_json(cls, data: Mapping[str, Any]) -> "Architecture":
        """Read what ``to_json`` gave.

        Raises:
            ValueError: the document is of another schema.
        """
        if data.get("schema") != SCHEMA:
            raise ValueError(f"not a {SCHEMA} document: {data.get('schema')!r}")
        symbols = [{"letter": letter, **entry} for letter, entry in data["symbols"].items()]
        config = convert(decoded(data["config"]), dict[str, Any])
        unused = convert(decoded(data.get("unused", {})), dict[str, Any])
        return cls(
            source=SourceInfo.from_json(data["source"]),
            config={key: value for key, value in config.items() if key not in unused},
            symbols=convert(symbols, tuple[Symbol, ...]),
            modules=convert(data["modules"], tuple[ModuleNode, ...]),
            parameters=convert(data["parameters"], tuple[TensorInfo, ...]),
            unused=unused,
            costs=Costs.from_json(data["compute"]) if data.get("compute") else None,
            kv_cache=KVCache.from_json(data["kv_cache"]) if data.get("kv_cache") else None,
        )


def ancestors(path: str) -> Iterator[str]:
    """Yield the path itself and every path above it, the root's empty one last."""
    while path:
        yield path
        path = path.rpartition(".")[0]
    yield ""


def bytes_by_dtype(parameters: int) -> dict[str, int]:
    """Return the bytes that so many elements take at each width; a half byte rounds up."""
    return {dtype: (parameters * bits + 7) // 8 for dtype, bits in BITS.items()}
