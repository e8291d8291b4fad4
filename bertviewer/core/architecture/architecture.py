"""What a model is made of: plain data, free of torch, the same as its JSON export.

``Architecture.to_json`` gives the document ``bertviewer.architecture/1`` that
``bertviewer summary --format json`` prints; ``Architecture.from_json`` reads it back equal.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from bertviewer.core.architecture.compute import Compute
from bertviewer.core.architecture.flows import Flows
from bertviewer.core.architecture.repeat import Repeat
from bertviewer.core.architecture.source_info import SourceInfo
from bertviewer.core.expressions.symbols import Symbol
from bertviewer.core.system.garbage import no_search_for_garbage
from bertviewer.core.text.special_floats import Scalar, decoded, encoded

SCHEMA = "bertviewer.architecture/1"

FormulaFrom = Literal["role", "flow"]

BITS = {"float32": 32, "float16": 16, "int8": 8, "int4": 4}


@dataclass(frozen=True, slots=True)
class TensorInfo:
    """One learnable tensor under one name; a tied tensor has one entry for each of its names.

    ``symbolic_shape`` writes each dimension in the configuration's symbols where it is known.
    ``tied_to`` is the first name of the same tensor, ``None`` for the first name itself.
    """

    name: str
    shape: tuple[int, ...]
    dtype: str
    trainable: bool
    tied_to: str | None = None
    symbolic_shape: tuple[str, ...] | None = None

    @property
    def numel(self) -> int:
        """The number of elements."""
        count = 1
        for size in self.shape:
            count *= size
        return count

    @property
    def owner(self) -> str:
        """The path of the module that holds it."""
        return self.name.rpartition(".")[0]


@dataclass(frozen=True, slots=True)
class ModuleNode:
    """One module, as ``named_modules()`` lists it.

    ``parameters`` counts elements below and in the module, ``own_parameters`` those of its own
    tensors; a tied tensor counts at its first name only, so children add up to their parent.
    ``share`` is the part of the model's total. ``attributes`` are the module's own plain values
    (``in_features``, ``eps``, ``p`` …). ``count_formula`` is an expression that Python evaluates
    with the symbols as integers, ``domain`` the conditions under which it holds, as of
    ``core.domains``, ``None`` for everywhere. ``forward_formula`` is Typst mathematics, or
    ``None``; ``formula_from`` says whether it is that of the class's ``role``, or read off the
    module's ``flow``.
    ``class_module`` is the Python module that defines the class, empty where it is not known.
    """

    path: str
    class_name: str
    depth: int
    parameters: int
    own_parameters: int
    trainable: int
    share: float
    repeat: Repeat | None
    attributes: Mapping[str, Scalar]
    count_formula: str
    forward_formula: str | None
    class_module: str = ""
    domain: str | None = None
    formula_from: FormulaFrom | None = None

    @property
    def name(self) -> str:
        """The last part of the path; the root has an empty one."""
        return self.path.rpartition(".")[2]

    @property
    def parent(self) -> str | None:
        """The path of the module above, ``None`` for the root."""
        return self.path.rpartition(".")[0] if self.path else None


@dataclass(frozen=True, slots=True, eq=False)
class _Index:
    """The modules directly below each path, and the tensors in it and in all below it."""

    modules: tuple[ModuleNode, ...]
    parameters: tuple[TensorInfo, ...]
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
    return _Index(modules, parameters, children, below)


@dataclass(frozen=True, slots=True)
class Architecture:
    """A model's whole structure: modules, tensors, configuration and symbols.

    ``compute`` and ``flows`` are ``None`` until they are derived. The flows have documents of
    their own, ``bertviewer.flow/1``, and are not in this one.
    """

    source: SourceInfo
    config: Mapping[str, Any]
    symbols: tuple[Symbol, ...]
    modules: tuple[ModuleNode, ...]
    parameters: tuple[TensorInfo, ...]
    compute: Compute | None = None
    flows: Flows | None = None
    _index: "_Index | None" = field(default=None, repr=False, compare=False)

    def __post_init__(self) -> None:
        # The same modules and tensors, of another source or with more formulas, have the same.
        index = self._index
        if index is None or (index.modules, index.parameters) != (self.modules, self.parameters):
            object.__setattr__(self, "_index", _index_of(self.modules, self.parameters))

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

    def children(self, path: str) -> tuple[ModuleNode, ...]:
        """Return the modules directly below ``path``, in order."""
        assert self._index is not None  # since __post_init__
        return tuple(self._index.children.get(path, ()))

    def tensors_below(self, path: str) -> tuple[TensorInfo, ...]:
        """Return the tensors in the module at ``path`` and in all modules below it."""
        assert self._index is not None
        return tuple(self._index.below.get(path, ()))

    def to_json(self) -> dict[str, Any]:
        """Return the document ``bertviewer.architecture/1``: plain dicts, lists and scalars."""
        total = self.root.parameters
        return {
            "schema": SCHEMA,
            "source": self.source.to_json(),
            "config": encoded(self.config),
            "symbols": {
                symbol.letter: {
                    "key": symbol.key,
                    "value": symbol.value,
                    "meaning": symbol.meaning,
                    "variable": symbol.variable,
                }
                for symbol in self.symbols
            },
            "totals": {
                "parameters": total,
                "trainable": self.root.trainable,
                "tensors": self.tensor_count,
                "modules": len(self.modules),
                "bytes": bytes_by_dtype(total),
            },
            "shares": self.shares,
            "modules": [_module_to_json(node) for node in self.modules],
            "parameters": [_tensor_to_json(tensor) for tensor in self.parameters],
            "compute": None if self.compute is None else self.compute.to_json(),
        }

    @classmethod
    @no_search_for_garbage()
    def from_json(cls, data: Mapping[str, Any]) -> "Architecture":
        """Read what ``to_json`` gave.

        Raises:
            ValueError: the document is of another schema.
        """
        if data.get("schema") != SCHEMA:
            raise ValueError(f"not a {SCHEMA} document: {data.get('schema')!r}")
        return cls(
            source=SourceInfo.from_json(data["source"]),
            config=decoded(data["config"]),
            symbols=tuple(
                Symbol(
                    letter,
                    entry["key"],
                    entry["value"],
                    entry["meaning"],
                    entry.get("variable", ""),
                )
                for letter, entry in data["symbols"].items()
            ),
            modules=tuple(_module_from_json(entry) for entry in data["modules"]),
            parameters=tuple(_tensor_from_json(entry) for entry in data["parameters"]),
            compute=Compute.from_json(data["compute"]) if data.get("compute") else None,
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


def _module_to_json(node: ModuleNode) -> dict[str, Any]:
    repeat = node.repeat
    return {
        "path": node.path,
        "class": node.class_name,
        "class_module": node.class_module,
        "depth": node.depth,
        "parameters": node.parameters,
        "own_parameters": node.own_parameters,
        "trainable": node.trainable,
        "share": node.share,
        "repeat": repeat and {"first": repeat.first, "last": repeat.last, "count": repeat.count},
        "attributes": dict(node.attributes),
        "count_formula": node.count_formula,
        "domain": node.domain,
        "forward_formula": node.forward_formula,
        "formula_from": node.formula_from,
    }


def _module_from_json(entry: Mapping[str, Any]) -> ModuleNode:
    return ModuleNode(
        path=entry["path"],
        class_name=entry["class"],
        depth=entry["depth"],
        parameters=entry["parameters"],
        own_parameters=entry["own_parameters"],
        trainable=entry["trainable"],
        share=entry["share"],
        repeat=Repeat(**entry["repeat"]) if entry["repeat"] else None,
        attributes=entry["attributes"],
        count_formula=entry["count_formula"],
        forward_formula=entry["forward_formula"],
        class_module=entry.get("class_module", ""),
        domain=entry.get("domain"),
        formula_from=entry.get("formula_from"),
    )


def _tensor_to_json(tensor: TensorInfo) -> dict[str, Any]:
    return {
        "name": tensor.name,
        "shape": list(tensor.shape),
        "symbolic_shape": None if tensor.symbolic_shape is None else list(tensor.symbolic_shape),
        "numel": tensor.numel,
        "dtype": tensor.dtype,
        "trainable": tensor.trainable,
        "tied_to": tensor.tied_to,
    }


def _tensor_from_json(entry: Mapping[str, Any]) -> TensorInfo:
    symbolic = entry["symbolic_shape"]
    return TensorInfo(
        name=entry["name"],
        shape=tuple(entry["shape"]),
        dtype=entry["dtype"],
        trainable=entry["trainable"],
        tied_to=entry["tied_to"],
        symbolic_shape=None if symbolic is None else tuple(symbolic),
    )
