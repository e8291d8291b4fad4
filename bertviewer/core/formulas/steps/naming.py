"""Symbols of a graph's values and weights in a formula, and which steps have their own line."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

from msgspec import Struct, field

from bertviewer.core.formulas.embedding import index_kind
from bertviewer.core.formulas.formula import quoted
from bertviewer.core.formulas.module_view import ModuleView
from bertviewer.core.formulas.steps.graph_analysis import (
    NETWORKS,
    ROLES,
    OperandKey,
    expert_choice,
    origins,
    split_gate,
    uses_of,
)
from bertviewer.core.formulas.steps.loops import NOW, loop_iterations
from bertviewer.core.graph.module_graph import ModuleGraph, Step
from bertviewer.core.schema.flow import Node, Operand

_MAX_SIZE = 3
"""Limit of a line, in small steps."""

_STEP_LENGTH = 24
"""Length of a literal or part, in characters, that counts as one small step."""

_NEVER_INLINED = ("attention", "routing", "experts", "position bias", "convolution")
_INLINES_NOTHING = ("routing", "experts", "position bias")
_INLINES_LINEAR = ("residual", "add", "activation", "mul")


def line_nodes(graph: ModuleGraph) -> frozenset[str]:
    """Return the nodes that have their own line."""
    iterations = loop_iterations(graph)
    users: dict[str, list[Step | None]] = {}
    for step in graph.steps:
        for each in step.tensors or step.roles.values():
            users.setdefault(each.node, []).append(step)
    for _, operand in graph.results:
        users.setdefault(operand.node, []).append(None)
    own = {node for node, _ in origins(graph)}
    # Values of a loop that are read by another iteration or after the loop.
    own |= {
        each.node
        for step in graph.steps
        for each in step.operands
        if each.node in iterations and (each.parts[:1] != (NOW,) or step.node.id not in iterations)
    }
    sizes: dict[str, int] = {}
    for step in graph.steps:
        read = [sizes[o.node] for o in step.tensors if o.node in sizes and o.node not in own]
        size = sizes[step.node.id] = _width(step) + sum(read)
        user, *others = users.get(step.node.id, [None])
        if user is None or others or step.outputs or not _is_inlined(step, user, size):
            own.update(step.ids)
    return frozenset(own & graph.by_id.keys())


def _width(step: Step) -> int:
    """Return how much of a line a step takes, in small steps."""
    words = (text for o in step.operands for text in (o.key, o.plain, *o.parts))
    return 0 if step.operation == "embedding" else 1 + sum(map(len, words)) // _STEP_LENGTH


def _is_inlined(step: Step, user: Step, size: int) -> bool:
    """Return whether a step of a size is written in the line of its only user."""
    kind, other = step.operation, user.operation
    is_run = step.node.repeat is not None or user.node.repeat is not None
    if size > _MAX_SIZE or is_run or kind in _NEVER_INLINED or other in _INLINES_NOTHING:
        return False
    if kind == "embedding":
        return other in _INLINES_LINEAR or "norm" in other
    if kind == "linear":
        return other in _INLINES_LINEAR and size == 1
    return other == "residual" if step.is_call else True


_LETTERS = {
    **dict.fromkeys(("layer norm", "rms norm", "group norm", "batch norm", "scale and shift"), "N"),
    **dict.fromkeys(("feed-forward", "gated feed-forward"), "F"),
    **dict.fromkeys(("linear", "activation"), "H"),
    "attention": "O",
    "residual": "H",
    "embedding": "E",
    "convolution": "C",
    "position bias": "B",
    "experts": "H",
    "routing": "cal(E)",
}
TOKEN_IDS = "token ids"
_INPUTS = {
    "mask": ('"mask"', ""),
    "decoder input ids": ('t_"tgt"', "token ids of the target so far, shifted by one position"),
    "type ids": ("g", "segment ids: 0 for the first sentence, 1 for the second"),
    "position ids": ('"pos"', ""),
    "ids": ("t", TOKEN_IDS),
    "encoder": ('X_"enc"', "the encoder’s output"),
    "pixel values": ("I", "the image: channels, height, width"),
    "input features": ("F", "spectrogram of the sound: frequency bands, time steps"),
    "input values": ("a", "samples of the sound"),
}
"""Symbols and meanings of inputs by words in their names."""

_CONSTANTS = {"mask": "M", "positions": '"pos"', "position bias": "B"}
_STATES = ("hidden states", "hidden state", "x", "h", "input", "inputs", "output h", "features")
_WEIGHTED = ("linear", "embedding", "convolution")
POSITION_INDEX = '"pos"'
TABLES = {
    "token": ('"word"', "vocabulary entry"),
    "segment": ('"type"', "segment"),
    "position": (POSITION_INDEX, "position"),
    "distance": ('"rel"', "distance or distance bucket"),
}
"""Index of a table's symbol, and the meaning of its rows, by the kind of indices."""


class Naming(Struct, frozen=True):
    """Names from a template, instead of the default ones.

    Attributes:
        results: the symbols of the module's first results; others are omitted.
        symbols: of nodes' results or parts of them.
        meanings: of symbols.
        layers: index and use of the weights of linear layers, by node.
        functions: names of called modules, by node.
        from_template: if true, sizes are shown at every symbol, and masks and positions omitted.
    """

    results: tuple[str, ...] = ()
    symbols: dict[OperandKey, str] = field(default_factory=dict)
    meanings: dict[str, str] = field(default_factory=dict)
    layers: dict[str, tuple[str, str]] = field(default_factory=dict)
    functions: dict[str, str] = field(default_factory=dict)
    from_template: bool = True


DEFAULT_NAMES = Naming(from_template=False)


class Names(Struct):
    """The symbols of a formula, and which steps have their own line.

    Attributes:
        symbols: by node and part.
        line_nodes: the nodes that have their own line.
        splits: the symbols of a node's parts, if all parts that are read have one.
        indices: the subscripts of weights, by node.
        stacks: the symbol of the hidden states of equal layers, by their node.
        iterations: the number of iterations of steps in a loop, by node.
        results: the symbols of the module's results.
        step_results: symbols of results, with their output nodes, by the step that computes them.
    """

    graph: ModuleGraph
    view: ModuleView
    naming: Naming
    line_nodes: frozenset[str] = frozenset()
    symbols: dict[OperandKey, str] = field(default_factory=dict)
    splits: dict[str, tuple[str, ...]] = field(default_factory=dict)
    indices: dict[str, str] = field(default_factory=dict)
    stacks: dict[str, str] = field(default_factory=dict)
    iterations: Mapping[str, int] = field(default_factory=dict)
    results: tuple[str, ...] = ()
    step_results: dict[str, dict[str, Node]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        chosen = self.naming.symbols
        self.iterations = loop_iterations(self.graph)
        self.line_nodes = line_nodes(self.graph) | {node for node, parts in chosen if not parts}
        self.indices |= {node: index for node, (index, _) in self.naming.layers.items()}
        read_parts: dict[str, dict[tuple[str, ...], None]] = {}
        read = [operand for step in self.graph.steps for operand in step.read]
        for each in (*read, *(operand for _, operand in self.graph.results)):
            read_parts.setdefault(each.node, {})[each.parts] = None
        self._name_given()
        self.symbols |= origins(self.graph)
        self._name_inner_weights()
        self._name_weights()
        self._name_steps(read_parts)
        self._name_results()
        self.symbols.update(chosen)
        for node, parts in read_parts.items():
            named = [self.symbols.get((node, each), "") for each in parts if each]
            if len(named) == len(parts) and all(named) and (node, ()) not in chosen:
                self.splits.setdefault(node, tuple(dict.fromkeys(named)))

    def _name_given(self) -> None:
        given = self.graph.given.values()
        main = next((n for n in given if n.kind == "input" and not _given_symbol(n)), None)
        for node in given:
            known = _given_symbol(node) if self.graph.steps or node.kind != "constant" else ""
            usual = known or ("X" if node is main else quoted(node.name))
            self.symbols[node.id, ()] = usual
        for step in () if self.graph.of("routing") else self.graph.of("experts"):
            for operand, symbol in zip(expert_choice(step), ("cal(E)", "r"), strict=True):
                if operand is not None and operand.node in self.graph.given:
                    self.symbols[operand.node, ()] = symbol
        self._number([(node.id, ()) for node in given])

    def _name_weights(self) -> None:
        """Index weights by the symbols of an attention, or by numbers if there are several."""
        graph, indices = self.graph, self.indices
        for number, step in enumerate(graph.of("attention")):
            for after in graph.of("linear"):
                if [o.node for o in after.tensors] == [step.node.id]:
                    indices.setdefault(after.node.id, _subscript("O" + "'" * number))
        tables = {(_table_index(s, self.view), _weight(s)) for s in graph.of("embedding")}
        counts = Counter(index for index, _ in tables)
        numbered: dict[str, list[str]] = {}
        for step in graph.steps:
            node, weight, index = step.node.id, _weight(step), ""
            if node in indices or weight is None:
                continue
            if step.operation == "embedding":
                index = _table_index(step, self.view)
                index = index if counts[index] == 1 else ""
            elif step.operation == "linear":
                letter = self.symbols.get((node, ()), "")
                index = _subscript(letter) if letter.rstrip("'") in ROLES.values() else ""
            if index:
                indices[node] = index
            else:
                numbered.setdefault(weight, []).append(node)
        used = max((int(index) for index in indices.values() if index.isdecimal()), default=0)
        for number, nodes in enumerate(numbered.values(), used + 1):
            indices |= dict.fromkeys(nodes, str(number) if len(numbered) > 1 else "")

    def _name_inner_weights(self) -> None:
        """Name the weights of routers and networks, and the parts of gated products."""
        for step in self.graph.of("routing"):
            layers = [each.node.id for each in step.inner if each.operation == "linear"]
            self.indices |= dict.fromkeys(layers[:1], "R")
        networks = self.graph.of(*NETWORKS)
        for step in (*networks, *self.graph.of("experts")):
            number = networks.index(step) + 1 if len(networks) > 1 and step in networks else 0
            for layer, (index, _) in uses_of(step.inner, step.operation).items():
                self.indices[layer] = f"({index}, {number})" if number else index
            node, halves = split_gate(step.inner)
            if halves:
                self.symbols |= {(node, parts): symbol for symbol, parts in halves.items()}
                self.splits[node] = tuple(halves)

    def _name_steps(self, read_parts: Mapping[str, Iterable[tuple[str, ...]]]) -> None:
        new: list[OperandKey] = []
        known = {**self.symbols, **self.naming.symbols}
        for step in self.graph.steps:
            node = step.node.id
            if step.node.repeat is not None:
                base = self.stacks[node] = "X" + "'" * len(self.stacks)
                start = next(iter(step.tensors), Operand())
                if start.node not in self.stacks and not start.parts:
                    self.symbols[start.node, ()] = f"{base}_0"
                self.symbols[node, ()] = f"{base}_{step.node.repeat.count}"
                continue
            letter = _LETTERS.get(step.operation, "H" if step.node.kind == "module" else "J")
            if self.indices.get(node, "").strip("()").startswith("O"):
                letter = "A"
            for each in step.ids:
                if each in self.line_nodes and (each, ()) not in self.symbols:
                    read = () if each in self.iterations else read_parts.get(each, ())
                    parts = _all_numbered(read)
                    keys: list[OperandKey] = [(each, (part,)) for part in parts]
                    if not keys or any(key in known for key in (*keys, (each, ()))):
                        keys = [(each, ())]
                    self.symbols |= dict.fromkeys(keys, letter)
                    new += keys
        self._number(new)
        for node, part in new:
            if part:
                self.splits[node] = (*self.splits.get(node, ()), self.symbols[node, part])

    def _name_results(self) -> None:
        results = self.graph.results
        routed = {step.node.id for step in self.graph.of("routing")}
        several = len({operand.node for _, operand in results} - routed) > 1
        several = several or (len(results) > 1 and not self.graph.steps)
        usual = (f"Y_{n}" if several else "Y" for n in range(len(results)))
        # The chosen experts of a router keep their symbol.
        self.results = self.naming.results or tuple(
            self.symbols[operand.node, ()] if operand.node in routed else symbol
            for symbol, (_, operand) in zip(usual, results, strict=True)
        )
        for symbol, (output, operand) in zip(self.results, results, strict=True):
            node = operand.node
            if node in self.line_nodes and node not in self.stacks and not operand.parts:
                self.step_results.setdefault(node, {})[symbol] = output
                self.symbols[node, ()] = next(iter(self.step_results[node]))

    def _number(self, keys: Sequence[OperandKey]) -> None:
        """Number equal symbols."""
        counts = Counter(self.symbols[each] for each in keys)
        seen: Counter[str] = Counter()
        for each in keys:
            symbol = self.symbols[each]
            if counts[symbol] > 1:
                seen[symbol] += 1
                self.symbols[each] = f"{symbol}_{seen[symbol]}"


def numbered_part(part: str) -> tuple[str, str] | None:
    """Return index and count of a part: "0" and "2" for ``chunk 0 of 2``."""
    match part.split(" "):
        case [_, number, "of", count] if number.isdecimal():
            return number, count
    return None


def _all_numbered(read_parts: Iterable[tuple[str, ...]]) -> tuple[str, ...]:
    """Return the adjacent parts of a value in order, if all of them are read."""
    numbers: dict[int, str] = {}
    counts: set[str] = set()
    for part in {each[0] if each else "" for each in read_parts}:
        number, count = numbered_part(part) or ("0", "")
        numbers[int(number)] = part
        counts.add("" if part.startswith("unfold") else count)
    is_all = counts == {str(len(numbers))} and len(numbers) > 1
    return tuple(numbers[number] for number in sorted(numbers)) if is_all else ()


def _table_index(step: Step, view: ModuleView) -> str:
    """Return the index of a table's symbol, "" for unknown kinds of indices."""
    *before, _ = step.node.shape  # a number for each pair of positions?
    is_of_pairs = len(before) == 2 and before[0] == before[1]
    return TABLES.get("distance" if is_of_pairs else index_kind(step, view), ("", ""))[0]


def _weight(step: Step) -> str | None:
    """Return the path of the module or parameter with a step's matrix."""
    if step.operation not in _WEIGHTED:
        return None
    if step.node.kind == "module":
        return step.node.path
    named = next((o.parameter for o in step.operands if o.parameter), None)
    return None if named is None else named.removesuffix(".weight")


def _subscript(letter: str) -> str:
    """Return a symbol as a subscript, in brackets if it has a prime."""
    return f"({letter})" if "'" in letter else letter


def _given_symbol(node: Node) -> str:
    """Return the symbol of an input, a constant or a parameter, "" for the main input."""
    name = node.name
    if name == "sines and cosines":
        return "Theta"
    if node.operation in _CONSTANTS:
        return _CONSTANTS[node.operation]
    if node.kind == "constant":
        return "M" if "mask" in name else name if len(name) == 1 else quoted(name)
    if node.kind != "input":
        return quoted(name)
    symbol, _ = _known_input(name)
    is_main = name in _STATES or name.endswith(("hidden states", "embeds"))
    return symbol or ("" if is_main else "X")


def _known_input(name: str) -> tuple[str, str]:
    return next((known for word, known in _INPUTS.items() if word in name), ("", ""))


def input_meaning(node: Node, symbol: str) -> str:
    """Return the meaning of token ids, images and other data, "" for other values."""
    known, meaning = _known_input(node.name)
    return meaning if node.kind == "input" and symbol == known else ""
