"""Parameter counts of steps and of components, spelled out: ``4*(D*D+D)`` for four linear layers.

A tensor is the product of its dimensions, inputs first: a layer from D to I features is ``D*I+I``.
"""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import groupby
from operator import itemgetter

from msgspec import Struct
from msgspec.structs import replace

from bertviewer.core.expressions.evaluation import evaluate
from bertviewer.core.expressions.polynomials import (
    Monomial,
    Polynomial,
    Relation,
    join_terms,
    polynomial_of,
    product,
    relations,
    substituted,
    total,
)
from bertviewer.core.expressions.symbols import Symbol, name_order
from bertviewer.core.schema.architecture import Architecture
from bertviewer.core.schema.count_steps import readable
from bertviewer.core.schema.modules import ModuleNode, TensorInfo, ancestors
from bertviewer.core.util.text import lower_first
from bertviewer.core.walkthrough.walkthrough import (
    Piece,
    Section,
    Step,
    StepCount,
    Walkthrough,
    common_path,
)

_MULTIPLE = re.compile(r"^(\d+)\*([A-Za-z]\w{0,3})$")
_NAME = re.compile(r"[A-Za-z_]\w*")


class TensorCounter:
    """Counts each tensor once. A tied tensor has the name under which the model stores it."""

    def __init__(self, architecture: Architecture) -> None:
        self._architecture = architecture
        self._values = architecture.symbol_values
        self._first = {t.name: t.tied_to or t.name for t in architecture.parameters}
        self._left = set(self._first.values())

    def tensors(self, names: Iterable[str]) -> list[TensorInfo]:
        """Return the tensors with these names, in the model's order."""
        firsts = {self._first.get(name, name) for name in names}
        return [tensor for tensor in self.below("") if tensor.name in firsts]

    def below(self, path: str) -> list[TensorInfo]:
        """Return the tensors that are stored in and below a module."""
        return [t for t in self._architecture.tensors_below(path) if t.tied_to is None]

    def is_left(self, tensor: TensorInfo) -> bool:
        """Return whether a tensor is not counted yet."""
        return tensor.name in self._left

    def modules(self, tensors: Sequence[TensorInfo], path: str | None = None) -> tuple[str, ...]:
        """Return the modules that hold exactly these tensors, none if there are no such modules.

        Tensors that are counted already, being tied, may be elsewhere. ``path`` is preferred.
        """
        names = {tensor.name for tensor in tensors}
        if path is not None and names & self._left <= self._names_below(path) <= names:
            return (path,)
        found = [self._outermost(each, names) for each in tensors if self.is_left(each)]
        return () if None in found else tuple(dict.fromkeys(filter(None, found)))

    def unused(self, path: str = "") -> dict[str, list[TensorInfo]]:
        """Return the uncounted tensors below a module, by the outermost uncounted modules.

        Those of modules that are partly counted are under the module that owns them.
        """
        found: dict[str, list[TensorInfo]] = {}
        for tensor in filter(self.is_left, self.below(path)):
            module = self._outermost(tensor, self._left, path)
            found.setdefault(tensor.owner if module is None else module, []).append(tensor)
        return found

    def take(self, tensors: Iterable[TensorInfo]) -> StepCount:
        """Count the tensors that are not counted yet."""
        taken = list(filter(self.is_left, tensors))
        self._left -= {tensor.name for tensor in taken}
        return self.count(taken)

    def count(self, taken: Sequence[TensorInfo]) -> StepCount:
        """Return the count of tensors, counted or not."""
        owners: dict[str, list[TensorInfo]] = {}
        for tensor in taken:
            owners.setdefault(tensor.owner, []).append(tensor)
        pieces = pieces_of((self._architecture.module(at), own) for at, own in owners.items())
        symbols = compact(pieces)
        return StepCount(
            sum(tensor.numel for tensor in taken),
            sum(tensor.numel for tensor in taken if tensor.trainable),
            symbols if names_in(symbols) else "",
            compact(changed(pieces, lambda dim: str(evaluate(dim, self._values)))),
            pieces,
        )

    def _outermost(self, tensor: TensorInfo, names: set[str], below: str = "") -> str | None:
        """Return the outermost module below a path that has a tensor and only these names."""
        around = [path for path in ancestors(tensor.owner) if len(path) > len(below)]
        return next((path for path in reversed(around) if self._names_below(path) <= names), None)

    def _names_below(self, path: str) -> set[str]:
        return {tensor.name for tensor in self.below(path)}


def pieces_of(modules: Iterable[tuple[ModuleNode | None, list[TensorInfo]]]) -> tuple[Piece, ...]:
    """Return the counts of modules' own tensors as pieces, with equal neighbours merged."""
    found: list[tuple[int, tuple[tuple[str, ...], ...]]] = []
    for module, tensors in modules:
        is_linear = module is not None and module.class_name.endswith("Linear")
        dims = tuple(_dimensions(tensor, is_linear) for tensor in tensors)
        found.append((len(dims), dims[:1]) if len(set(dims)) == 1 else (1, dims))
    equal = groupby(found, key=itemgetter(1))
    pieces = [Piece(sum(times for times, _ in same), tensors) for tensors, same in equal]
    for length in range(2, len(pieces) // 2 + 1):  # equal experts, each of several modules
        times = len(pieces) // length
        if pieces == pieces[:length] * times and all(piece.times == 1 for piece in pieces):
            return (Piece(times, tuple(t for piece in pieces[:length] for t in piece.tensors)),)
    return tuple(pieces)


def changed(pieces: Iterable[Piece], change: Callable[[str], str]) -> tuple[Piece, ...]:
    """Return pieces with each dimension replaced."""
    return tuple(
        Piece(piece.times, tuple(tuple(map(change, dims)) for dims in piece.tensors))
        for piece in pieces
    )


def compact(pieces: Sequence[Piece]) -> str:
    """Return the pieces as the count of one step: ``(D*I+I)+(I*D+D)``."""
    return "+".join(_text(piece, in_brackets=len(pieces) > 1) for piece in pieces)


def spaced(pieces: Iterable[Piece]) -> str:
    """Return the pieces as one sum: ``4*(D*D+D) + 2*D + D*I + I``."""
    parts = (
        [piece] if piece.times > 1 else [Piece(1, (dims,)) for dims in piece.tensors]
        for piece in pieces
    )
    return " + ".join(_text(each, in_brackets=True) for part in parts for each in part)


def collected(pieces: Iterable[Piece]) -> str:
    """Return the pieces as one sum with like terms collected: ``12*D**2 + 13*D``.

    Terms are sorted by their first symbol, V before L before D; then squares come first.
    """
    products = (
        product((Polynomial.constant(piece.times), *map(polynomial_of, dims)))
        for piece in pieces
        for dims in piece.tensors
    )
    ordered = sorted(total(products).terms.items(), key=lambda term: _order(term[0]))
    return join_terms(str(Polynomial({symbols: value})) for symbols, value in ordered)


def names_in(text: str) -> set[str]:
    """Return the symbols in a sum."""
    return set(_NAME.findall(text))


def _dimensions(tensor: TensorInfo, is_linear: bool) -> tuple[str, ...]:
    dims = tensor.symbolic_shape or tuple(map(str, tensor.shape))
    # torch stores a linear layer's weight as [out, in].
    return dims[::-1] if is_linear or tensor.name.endswith("in_proj_weight") else dims


def _text(piece: Piece, *, in_brackets: bool) -> str:
    inner = "+".join("*".join(map(_factor, dims)) for dims in piece.tensors)
    if len(piece.tensors) > 1 and (in_brackets or piece.times > 1):
        inner = f"({inner})"
    return inner if piece.times == 1 else f"{piece.times}*{inner}"


def _factor(dim: str) -> str:
    """Return ``4*D`` as ``4D``, and a sum in brackets."""
    return f"({dim})" if " " in dim or "//" in dim else _MULTIPLE.sub(r"\1\2", dim)


def _order(symbols: Monomial) -> tuple[bool, tuple[int, str], int]:
    first = name_order(symbols[0][0]) if symbols else (0, "")
    return not symbols, first, -sum(power for _, power in symbols)


_SQUARE = re.compile(r"([A-Za-z]\w*)\*\*2")


class Component(Struct, frozen=True):
    """One component: its sum tensor by tensor, and with like terms collected; "" if unknown.

    ``places`` are the outermost modules with exactly its tensors; equal layers are one place.
    """

    title: str
    parameters: int
    spelled: str = ""
    collected: str = ""
    places: tuple[str, ...] = ()

    @property
    def lines(self) -> tuple[str, ...]:
        """The sums as text, the second only if it differs: ``N·(12·D² + 13·D)``."""
        says_more = _SQUARE.sub(r"\1*\1", self.collected) != self.spelled
        sums = (self.spelled, self.collected) if says_more else (self.spelled,)
        return tuple(readable(text) for text in sums if text)

    @property
    def text(self) -> str:
        """The component in one line, ending in its value."""
        return " = ".join((*self.lines, f"{self.parameters:,}"))


class ComponentCounts(Struct, frozen=True):
    """All components; ``relations`` are the substitutions, I as ``4*D``."""

    components: tuple[Component, ...]
    relations: tuple[Relation, ...]
    total: int
    tensors: int

    @property
    def reconciles(self) -> bool:
        """Whether the components add up to the model."""
        return sum(component.parameters for component in self.components) == self.total


def usual_relations(symbols: Sequence[Symbol]) -> tuple[Relation, ...]:
    """Return the usual substitutions: I by ``4*D`` if true, T by its number."""
    segments = [str(symbol.value) for symbol in symbols if symbol.name == "T"][:1]
    return (*relations(symbols), *(Relation("T", number, f"T = {number}") for number in segments))


def relations_text(declared: Sequence[Relation]) -> str:
    """Return ``I = 4·D, T = 2``."""
    return readable(", ".join(relation.text for relation in declared))


def count_components(
    walkthrough: Walkthrough, architecture: Architecture, declared: Sequence[Relation]
) -> ComponentCounts:
    """Return the parameters of each component; ``declared`` are substitutions."""
    # Equal layers are counted with the one that is shown; others of all parts after the layers.
    sections = [each for each in walkthrough.sections if each.kind not in ("others", "rest")]
    rest: dict[str, list[Step]] = {"": [], "pooler": [], "head": []}
    for section in walkthrough.sections:
        for step in section.steps if section.kind == "rest" else ():
            rest[_kind_on_top(step, architecture)].append(step)
    sections += [
        Section("rest", title, tuple(steps))
        for title, steps in zip(("After the blocks", "Pooler", "Head"), rest.values(), strict=True)
    ]
    symbols = names_in(" ".join(step.count.symbols for step in walkthrough.steps))
    used = tuple(relation for relation in declared if relation.name in symbols)
    return ComponentCounts(
        tuple(
            _component(section, used, _places(section, walkthrough, architecture))
            for section in sections
            if section.parameters
        ),
        used,
        architecture.root.parameters,
        architecture.tensor_count,
    )


def _component(
    section: Section, declared: Sequence[Relation], places: tuple[str, ...]
) -> Component:
    parameters, times = section.times * section.parameters, section.symbols or str(section.times)
    component = Component(_title(section), parameters, places=places)
    if not any(step.count.symbols for step in section.steps):
        return component
    pieces = changed(
        (piece for step in section.steps for piece in step.count.pieces),
        lambda dim: substituted(dim, declared),
    )
    sums = (s if times == "1" else f"{times}*({s})" for s in (spaced(pieces), collected(pieces)))
    return replace(component, spelled=next(sums), collected=next(sums))


def _places(
    section: Section, walkthrough: Walkthrough, architecture: Architecture
) -> tuple[str, ...]:
    if section.path:
        others = (
            step.paths
            for step in walkthrough.steps
            if step.is_layers and step.count.parameters and len(step.paths) == section.times - 1
        )
        holder = section.path.rpartition(".")[0]
        paths = next((each for each in others if each[0].rpartition(".")[0] == holder), ())
        return Step("", (section.path, *paths), is_layers=True).locations
    counted = (step.paths for step in section.steps if step.count.parameters)
    paths = tuple(dict.fromkeys(path for paths in counted for path in paths))
    node = architecture.module(common_path(paths))
    is_whole = node is not None and node.path and node.parameters == section.parameters
    return (node.path,) if node is not None and is_whole else paths


def _title(section: Section) -> str:
    if section.kind != "layer":
        return "Embedding" if section.title == "Embeddings" else section.title
    title = section.title.removeprefix("One ")
    blocks = title.replace("layer", "blocks").capitalize()
    if title != section.title:
        return blocks if section.times > 1 else blocks.replace("blocks", "block")
    if section.times == 1:
        return title.replace("layer", "block").replace("Layer", "Block")
    return f"Blocks like {lower_first(title)}"


class Subtotal(Struct, frozen=True):
    """A model's count without the poolers and heads at ``paths``, whose counts are ``on_top``."""

    parameters: int
    on_top: Mapping[str, int]
    paths: tuple[str, ...]

    @property
    def total(self) -> int:
        """The model's own count."""
        return self.parameters + sum(self.on_top.values())

    @property
    def difference(self) -> str:
        """The difference as text: "pooler 1,049,600", "pooler 590,592 and head 1,538"."""
        return " and ".join(f"{what} {count:,}" for what, count in self.on_top.items())


def subtotal(walkthrough: Walkthrough, architecture: Architecture) -> Subtotal | None:
    """Return the count without the steps of poolers and heads, ``None`` if there are none.

    These are modules with such names, and in a model for a task all modules after those with the
    layers. A tied weight of a head counts with the embeddings.
    """
    on_top: Counter[str] = Counter()
    paths: list[str] = []
    for section in walkthrough.sections:
        for step in section.steps if section.kind == "rest" else ():
            kind = _kind_on_top(step, architecture)
            if step.count.parameters and kind:
                on_top[kind] += step.count.parameters
                paths += step.paths
    left = walkthrough.parameters - on_top.total()
    return Subtotal(left, on_top, tuple(paths)) if on_top else None


def _kind_on_top(step: Step, architecture: Architecture) -> str:
    """Return ``pooler`` or ``head`` for a step after the layers, "" for others."""
    names = (step.path or "").split(".")
    bodies = {n.path.partition(".")[0] for n in architecture.modules if n.name.isdecimal()}
    is_head = architecture.source.task != "base" and names[0] not in bodies
    is_head |= any(name.endswith("head") for name in names)
    return "pooler" if "pooler" in names else "head" if is_head else ""
