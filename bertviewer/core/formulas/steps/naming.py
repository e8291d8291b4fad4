"""What the values and weights of a flow are called in its formula."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from bertviewer.core.architecture.flow import Node
from bertviewer.core.architecture.operand import Operand
from bertviewer.core.formulas.graph import ModuleGraph, Step
from bertviewer.core.formulas.notation import quoted
from bertviewer.core.formulas.steps.origins import ROLES, Place, expert_choice, origins

RESULTS = ("Y", "cal(E)")
"""How the symbols of results begin; others have a line that says which result they are."""

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
_IDS = (("decoder input ids", "u"), ("type ids", "g"), ("position ids", "p"), ("ids", "t"))
_STATES = ("hidden states", "hidden state", "x", "h", "input", "inputs", "output h", "features")


@dataclass(slots=True)
class Names:
    """The symbols of a formula.

    Attributes:
        steps: what they are for.
        path: the module's.
        own: the steps that have a line and a symbol of their own, by id.
        places: symbols by node and part.
        indices: the subscripts of the weights of linear layers, by node.
        stacks: what goes through equal layers, by the node that stands for them.
    """

    steps: ModuleGraph
    path: str
    own: frozenset[str]
    places: dict[Place, str] = field(default_factory=dict)
    indices: dict[str, str] = field(default_factory=dict)
    stacks: dict[str, str] = field(default_factory=dict)

    @classmethod
    def of(cls, steps: ModuleGraph, path: str, own: frozenset[str]) -> "Names":
        """Give every value and weight its name."""
        names = cls(steps, path, own)
        names._name_given()
        names._name_attention()
        names._name_weights()
        names._name_steps()
        return names

    def symbol(self, node: str) -> str:
        """Return the symbol of what a node gives."""
        return self.places[node, ()]

    def parts_of(self, node: str) -> tuple[str, ...]:
        """Return the symbols of a node's parts where all that is taken of it has one."""
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
        wanted = [(node, _given_name(node)) for node in self.steps.given.values()]
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
                self.places[node, ()] = self.stacks[node] = f"L{primes}"
                primes += "'"
            if node in self.own and (node, ()) not in self.places:
                index = self.indices.get(node, "")
                letter = index.strip("()")
                letter = letter if letter.startswith("O") else _letter(step.node)
                self.places[node, ()] = letter
                ids.append(node)
        self._number(ids)
        output = 0
        for place, (_, operand) in enumerate(self.steps.results):
            if operand.node in self.own and not operand.parts:
                if self.places[operand.node, ()].startswith(RESULTS):
                    continue
                self.places[operand.node, ()] = f"Y_{output}" if self.several() else "Y"
            output = place + 1

    def several(self) -> bool:
        """Return whether the module has several results besides the choice of a router."""
        results = {operand.node for _, operand in self.steps.results}
        return sum(self.places.get((node, ())) != _LETTERS["routing"] for node in results) > 1

    def _number(self, ids: Sequence[str]) -> None:
        """Tell equal symbols apart by a number."""
        counts = Counter(self.places[each, ()] for each in ids)
        seen: Counter[str] = Counter()
        for each in ids:
            symbol = self.places[each, ()]
            if counts[symbol] > 1:
                seen[symbol] += 1
                self.places[each, ()] = f"{symbol}_{seen[symbol]}"


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
    known = next((symbol for word, symbol in _IDS if word in name), "")
    return known or "X"
