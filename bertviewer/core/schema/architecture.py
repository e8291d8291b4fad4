"""The structure of a model: modules, parameters, configuration, symbols and derived formulas."""

from collections.abc import Mapping
from typing import Any

from msgspec import Struct, field
from msgspec.structs import force_setattr

from bertviewer.core.expressions.symbols import Symbol
from bertviewer.core.schema.costs import Costs, KVCache, bytes_by_dtype
from bertviewer.core.schema.flow import Flows
from bertviewer.core.schema.modules import ModuleNode, TensorInfo, ancestors
from bertviewer.core.schema.source_info import QUANTIZED, SourceInfo
from bertviewer.core.util.memory import gc_paused
from bertviewer.core.util.serialization import (
    PartialEquality,
    convert,
    decode_floats,
    encode_floats,
    to_json,
)

SCHEMA = "bertviewer.architecture/1"


class _Index(Struct, frozen=True, eq=False):
    """Modules by path, the children of each path, and the tensors in and below it."""

    modules: tuple[ModuleNode, ...]
    parameters: tuple[TensorInfo, ...]
    by_path: Mapping[str, ModuleNode]
    children: Mapping[str, list[ModuleNode]]
    below: Mapping[str, list[TensorInfo]]


def _index_of(modules: tuple[ModuleNode, ...], parameters: tuple[TensorInfo, ...]) -> _Index:
    children: dict[str, list[ModuleNode]] = {}
    below: dict[str, list[TensorInfo]] = {}
    enclosing: dict[str, list[list[TensorInfo]]] = {}  # the lists that an owner's tensors go to
    for node in modules:
        if (parent := node.parent) is not None:
            children.setdefault(parent, []).append(node)
    for tensor in parameters:
        if (owner := tensor.owner) not in enclosing:
            enclosing[owner] = [below.setdefault(path, []) for path in ancestors(owner)]
        for tensors in enclosing[owner]:
            tensors.append(tensor)
    return _Index(modules, parameters, {node.path: node for node in modules}, children, below)


class Architecture(PartialEquality, Struct, frozen=True):
    """The structure of a model.

    Attributes:
        source: where the model comes from.
        config: the configuration keys that the model's code reads, and those that do not concern
            computation, such as names of labels.
        symbols: the configuration's numbers that formulas use.
        modules: as ``named_modules()`` lists them.
        parameters: as ``named_parameters(remove_duplicate=False)`` lists them.
        costs: ``None`` until derived.
        flows: ``None`` until derived; exported separately, as ``bertviewer.flow/1``.
        kv_cache: derived with the costs; ``None`` for a model without a cache.
        unused: the configuration keys that the code never reads; those of a sub-configuration
            follow its name and a dot.
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
        # replace() of other fields keeps the index.
        index = self._index
        if index is None or (index.modules, index.parameters) != (self.modules, self.parameters):
            force_setattr(self, "_index", _index_of(self.modules, self.parameters))

    @property
    def whole_config(self) -> dict[str, Any]:
        """The configuration including the unused keys."""
        return {**self.config, **{k: v for k, v in self.unused.items() if "." not in k}}

    @property
    def is_encoder_decoder(self) -> bool:
        """Whether an encoder and a decoder read a text each."""
        return bool(self.config.get("is_encoder_decoder"))

    @property
    def root(self) -> ModuleNode:
        """The model itself."""
        return self.modules[0]

    @property
    def symbol_values(self) -> dict[str, int]:
        """The values of the symbols in this configuration."""
        return {symbol.name: symbol.value for symbol in self.symbols}

    @property
    def tensor_count(self) -> int:
        """The number of tensors; tied ones count once."""
        return sum(tensor.tied_to is None for tensor in self.parameters)

    @property
    def shares(self) -> dict[str, float]:
        """The shares of the root's children, and of its own tensors ("(own)"); they sum to 1."""
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
        """Return the tensors of the module at ``path`` and of all modules below it."""
        assert self._index is not None
        return tuple(self._index.below.get(path, ()))

    def stored_dtype(self, tensor: TensorInfo) -> str:
        """Return a tensor's dtype, or ``QUANTIZED`` if it is stored quantized."""
        return QUANTIZED if tensor.name in self.source.quantized_tensors else tensor.dtype

    def to_json(self) -> dict[str, Any]:
        """Return the document ``bertviewer.architecture/1``: plain dicts, lists and scalars."""
        total = self.root.parameters
        return {
            "schema": SCHEMA,
            "source": self.source.to_json(),
            "config": encode_floats(self.whole_config),
            "unused": encode_floats(self.unused),
            "symbols": {entry.pop("letter"): entry for entry in map(to_json, self.symbols)},
            "totals": {
                "parameters": total,
                "trainable": self.root.trainable,
                "tensors": self.tensor_count,
                "modules": len(self.modules),
                "bytes": bytes_by_dtype(total),
            },
            "shares": self.shares,
            "kv_cache": self.kv_cache and self.kv_cache.to_json(self.symbol_values),
            "modules": to_json(self.modules),
            "parameters": to_json(self.parameters),
            "compute": None if self.costs is None else self.costs.to_json(),
        }

    @classmethod
    @gc_paused()
    def from_json(cls, data: Mapping[str, Any]) -> "Architecture":
        """Read what ``to_json`` returned.

        Raises:
            ValueError: the document is of another schema.
        """
        if data.get("schema") != SCHEMA:
            raise ValueError(f"not a {SCHEMA} document: {data.get('schema')!r}")
        symbols = [{"letter": letter, **entry} for letter, entry in data["symbols"].items()]
        config = convert(decode_floats(data["config"]), dict[str, Any])
        unused = convert(decode_floats(data.get("unused", {})), dict[str, Any])
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
