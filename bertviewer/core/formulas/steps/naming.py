"""What the values and weights of a flow are called in its formula."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from bertviewer.core.architecture.flow import Node
from bertviewer.core.architecture.operand import Operand
from bertviewer.core.formulas.graph import ModuleGraph, Step
from bertviewer.core.formulas.module_view import ModuleView
from bertviewer.core.formulas.notation import quoted
from bertviewer.core.formulas.steps.origins import ROLES, Place, expert_choice, origins
from bertviewer.core.formulas.templates.embedding import index_kind
from bertviewer.core.frozen import frozen

_LETTERS = {
    **dict.fromkeys(("layer norm", "rms norm", "group norm", "batch norm", "scale and shift"), "N"),
    **dict.fromkeys(("feed-forward", "gated feed-forward"), "F"),
    **dict.fromkeys(("linear", "activation"), "H"),
    "attention": "A",
    "residual": "Z",
    "embedding": "E",
    "convolution": "C",
    "position bias": "B",
    "experts": "H",
    "routing": "cal(E)",
}
_INPUTS = {
    "decoder input ids": "u",
    "type ids": "g",
    "position ids": "p",
    "ids": "t",
    "pixel values": "I",
    "input features": "F",
    "input values": "a",
}
_STATES = ("hidden states", "hidden state", "x", "h", "input", "inputs", "output h", "features")


@frozen
class Naming:
    """What a template calls things; all else gets its usual name.

    Attributes:
        results: the symbols of the module's first results; the others are left out.
        symbols: of values: of a node's result, or of what is taken of it.
        assumed: mathematics for the results of steps that are not written themselves.
        meanings: what symbols mean, where that differs from the usual.
        layers: index and use of the weights of linear layers, by node.
        functions: names of modules that are called, by node.
        teaches: whether sizes are shown at every symbol, and masks and positions left out.
    """

    results: tuple[str, ...] = ()
    symbols: Mapping[Place, str] = field(default_factory=dict)
    assumed: Mapping[str, str] = field(default_factory=dict)
    meanings: Mapping[str, str] = field(default_factory=dict)
    layers: Mapping[str, tuple[str, str]] = field(default_factory=dict)
    functions: Mapping[str, str] = field(default_factory=dict)
    teaches: bool = False


PLAIN = Naming()


@dataclass(slots=True)
class Names:
    """The symbols of a formula.

    Attributes:
        steps: what they are for.
        view: the module.
        naming: what the template calls things.
        own: the steps that have a line of their own, by id.
        places: symbols by node and part.
        indices: the subscripts of the weights of linear layers, by node.
        stacks: what goes through equal layers, by the node that stands for them.
        results: the symbols of the module's results.
        final: the steps whose line has the symbol of a result.
    """

    steps: ModuleGraph
    view: ModuleView
    naming: Naming
    own: frozenset[str]
    places: dict[Place, str] = field(default_factory=dict)
    indices: dict[str, str] = field(default_factory=dict)
    stacks: dict[str, str] = field(default_factory=dict)
    results: tuple[str, ...] = ()
    final: set[str] = field(default_factory=set)

    @classmethod
    def of(
        cls, steps: ModuleGraph, view: ModuleView, naming: Naming, own: frozenset[str]
    ) -> "Names":
        """Give every value and weight its name."""
        names = cls(steps, view, naming, own)
        names._name_given()
        names._name_attention()
        names._name_weights()
        names._name_steps()
        names.places.update(naming.symbols)
        names.places.update({(node, ()): maths for node, maths in naming.assumed.items()})
        return names

    def symbol(self, node: str) -> str:
        """Return the symbol of what a node gives."""
        return self.places[node, ()]

    def parts_of(self, node: str) -> tuple[str, ...]:
        """Return the symbols of a node's parts where all that is taken of it has one."""
        if (node, ()) in self.naming.symbols:
            return ()
        named = [name for (it, parts), name in self.places.items() if it == node and parts]
        taken = {o.parts for o in self._taken() if o.node == node}
        is_all = taken == {parts for it, parts in self.places if it == node and parts}
        return tuple(dict.fromkeys(named)) if named and is_all else ()

    def _taken(self) -> Iterator[Operand]:
        for step in self.steps.steps:
            yield from (*step.operands, *step.roles.values())
        for _, operand in self.steps.results:
            yield operand

    def _name_given(self) -> None:
        # Positions are s where p is the pooled output.
        positions = "s" if "p" in self.naming.results else "p"
        found = [(node, _given_name(node)) for node in self.steps.given.values()]
        wanted = [(node, positions if name == "p" else name) for node, name in found]
        inputs = [node for node, name in wanted if node.kind == "input" and not name]
        for node, name in wanted:
            is_main = bool(inputs) and node is inputs[0]
            if not self.steps.steps and node.kind == "constant":
                self.places[node.id, ()] = quoted(node.name)
                continue
            self.places[node.id, ()] = name or ("X" if is_main else quoted(node.name))
        for step in self.steps.of("experts"):
            for operand, symbol in zip(expert_choice(step), ("cal(E)", "g"), strict=True):
                if operand is not None and operand.node in self.steps.given:
                    self.places[operand.node, ()] = symbol
        self._number([node.id for node in self.steps.given.values()])

    def _name_attention(self) -> None:
        self.indices |= {node: index for node, (index, _) in self.naming.layers.items()}
        self.places |= origins(self.steps)
        primes = ""
        for step in self.steps.steps:
            if step.node.operation != "attention":
                continue
            for after in self.steps.steps:
                if [o.node for o in after.tensors] == [step.node.id] and _is_linear(after):
                    self.indices.setdefault(after.node.id, _below(f"O{primes}"))
            primes += "'"

    def _name_weights(self) -> None:
        """Number the weights that have no role in an attention; one alone has no index."""
        numbered: dict[str, list[str]] = {}
        tables: dict[str, set[str | None]] = {}
        for step in self.steps.of("embedding"):
            tables.setdefault(_table_index(step, self.view), set()).add(weight_path(step))
        for step in self.steps.of("embedding"):
            index = _table_index(step, self.view)
            if index and len(tables[index]) == 1:
                self.indices.setdefault(step.node.id, index)
        for step in self.steps.steps:
            node, path = step.node.id, weight_path(step)
            if node in self.indices or path is None:
                continue
            letter = self.places.get((node, ()), "")
            if letter.rstrip("'") in ROLES.values() and _is_linear(step):
                self.indices[node] = _below(letter)
            else:
                kind = "vectors" if step.node.operation == "scale and shift" else "weights"
                numbered.setdefault(f"{kind} {path}", []).append(node)
        for kind in ("vectors", "weights"):
            several = [nodes for key, nodes in numbered.items() if key.startswith(kind)]
            for number, nodes in enumerate(several, 1):
                index = str(number) if len(several) > 1 else ""
                self.indices |= dict.fromkeys(nodes, index)

    def _name_steps(self) -> None:
        ids, primes = [], ""
        for step in self.steps.steps:
            node = step.node.id
            if step.node.repeat is not None:
                self.stacks[node] = f"X{primes}"
                start = next(iter(step.tensors), Operand())
                if start.node not in self.stacks and not start.parts:
                    self.places[start.node, ()] = f"X{primes}_0"
                self.places[node, ()] = f"X{primes}_{step.node.repeat.count}"
                primes += "'"
                continue
            index = self.indices.get(node, "").strip("()")
            for each in step.ids:
                if each in self.own and (each, ()) not in self.places:
                    letter = index if index.startswith("O") else _letter(step.node)
                    self.places[each, ()] = letter
                    ids.append(each)
        self._number(ids)
        self._name_results()

    def _name_results(self) -> None:
        routed = {step.node.id for step in self.steps.of("routing")}
        several = len({operand.node for _, operand in self.steps.results} - routed) > 1
        several = several or (len(self.steps.results) > 1 and not self.steps.steps)
        usual = (f"Y_{n}" if several else "Y" for n in range(len(self.steps.results)))
        # The experts that a router chooses keep their letter.
        self.results = self.naming.results or tuple(
            self.places[operand.node, ()] if operand.node in routed else symbol
            for symbol, (_, operand) in zip(usual, self.steps.results, strict=True)
        )
        for symbol, (_, operand) in zip(self.results, self.steps.results, strict=True):
            is_own = operand.node in self.own and operand.node not in self.stacks
            if is_own and not operand.parts and operand.node not in self.final:
                self.places[operand.node, ()] = symbol
                self.final.add(operand.node)

    def _number(self, ids: Sequence[str]) -> None:
        """Tell equal symbols apart by a number."""
        counts = Counter(self.places[each, ()] for each in ids)
        seen: Counter[str] = Counter()
        for each in ids:
            symbol = self.places[each, ()]
            if counts[symbol] > 1:
                seen[symbol] += 1
                self.places[each, ()] = f"{symbol}_{seen[symbol]}"


POSITIONS = '"pos"'
_TABLES = {"token": '"word"', "segment": '"type"', "position": POSITIONS}


def _table_index(step: Step, view: ModuleView) -> str:
    """Return the index of a table's symbol, "" if it is not known what its rows are for."""
    shape = step.node.shape
    if len(shape) == 3 and shape[0] == shape[1]:
        return '"rel"'  # a number for each pair of positions
    return _TABLES.get(index_kind(step, view), "")


def weight_path(step: Step) -> str | None:
    """Return the path of the module, or of the parameter, that a step's matrix is."""
    node = step.node
    if node.operation not in ("linear", "embedding", "convolution", "scale and shift"):
        return None
    if node.kind == "module":
        return node.path
    named = next((o.parameter for o in step.operands if o.parameter), None)
    return None if named is None else named.removesuffix(".weight")


def _is_linear(step: Step) -> bool:
    return step.node.operation == "linear"


def _below(letter: str) -> str:
    """Return a letter for a place below another: a prime would go to that one."""
    return f"({letter})" if "'" in letter else letter


def _letter(node: Node) -> str:
    return _LETTERS.get(node.operation or "", "H" if node.kind == "module" else "U")


def _given_name(node: Node) -> str:
    """Return the symbol of an input, a constant or a parameter, "" for the main input."""
    name = node.name
    if node.operation == "mask" or (node.kind == "constant" and "mask" in name):
        return "M"
    if node.operation == "positions":
        return "p"
    if node.operation == "position bias":
        return "B"
    if node.kind == "constant":
        return name if len(name) == 1 else "T"
    if node.kind != "input":
        return quoted(name)
    if "mask" in name:
        return "m"
    if "encoder" in name and "ids" not in name:
        return 'X_"enc"'
    if name in _STATES or name.endswith(("hidden states", "embeds")):
        return ""
    return input_symbol(name) or "X"


def input_symbol(name: str) -> str:
    """Return the symbol of token ids, images and other data, "" for other inputs."""
    return next((symbol for word, symbol in _INPUTS.items() if word in name), "")
