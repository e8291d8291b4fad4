"""The symbols of a formula with what they mean, and their sizes."""

from msgspec import Struct, field
from msgspec.structs import replace

from bertviewer.core.expressions.shape_text import shape_text
from bertviewer.core.formulas.formula import Term
from bertviewer.core.formulas.module_view import ModuleView
from bertviewer.core.formulas.notation import quoted, sized
from bertviewer.core.schema.flow import Node
from bertviewer.core.util.numbers import count_text

_LETTERS = ("S", "S_d")


class Legend(Struct):
    """Terms by their symbols, in the order in which they come up.

    ``teaches`` shows the sizes of vectors too, and sizes only where a symbol comes up first, but
    not among the arguments of a call, whose brackets would be as high.
    """

    view: ModuleView
    teaches: bool
    terms: dict[str, Term] = field(default_factory=dict)
    is_in_call: bool = False
    _sized: set[str] = field(default_factory=set)

    @property
    def shows_sizes(self) -> bool:
        """Whether weights have their sizes below them here."""
        return self.teaches and not self.is_in_call

    def add(self, symbol: str, meaning: str, value: str | None = None) -> None:
        """Explain a symbol, once."""
        self.put(Term(symbol, meaning, value))

    def put(self, *terms: Term) -> None:
        """Explain symbols, once; of equal functions that differ in a number both are named."""
        for term in terms:
            known = self.terms.setdefault(term.symbol, term)
            if known.value and term.value and term.value not in known.value:
                both = f"{known.value} or {term.value}"
                self.terms[term.symbol] = replace(known, value=both)

    def value(self, symbol: str, meaning: str, node: Node) -> None:
        """Explain the symbol of what a node gives."""
        sizes = self._sizes(node)
        self.add(symbol, meaning, shape_text(sizes) if sizes else None)

    def tensor(self, symbol: str, what: str, name: str) -> None:
        """Explain a symbol as the tensor of that name."""
        found = self.view.tensor(name)
        holder = self.short(name.removesuffix(".weight").removesuffix(".bias"))
        shape = None if found is None else shape_text(found.shape)
        self.add(symbol, f"{what} of “{holder}”", shape)

    def module(self, symbol: str, path: str, what: str = "") -> None:
        """Explain a symbol as the function that a module is."""
        found = self.view.architecture.module(path)
        if found is None:
            return self.add(symbol, f"{what}a separate module")
        count = count_text(found.parameters, "1 parameter", "{0} parameters")
        return self.add(symbol, f"{what}{found.class_name}", count)

    def parameter(self, name: str) -> str:
        """Return the symbol of a parameter that no operation names, explained."""
        *_, holder, last = ("", *name.split("."))
        symbol = f"W_{quoted(holder)}" if last == "weight" and holder else quoted(last)
        self.tensor(symbol, "parameter", name)
        return symbol

    def short(self, path: str) -> str:
        """Return a path from the formula's module on."""
        own = self.view.node.path
        found = path.removeprefix(f"{own}.") if own else path
        return found if found != own else path.rpartition(".")[2]

    def sized(self, symbol: str, node: Node) -> str:
        """Return a symbol with its sizes below it, if it is one vector for each position."""
        is_known = self.teaches and symbol in self._sized
        self._sized.add(symbol)
        if self.is_in_call or is_known:
            return symbol
        *before, last = self._sizes(node) or ("",)
        is_row = len(before) == 1 and before[0] in _LETTERS
        is_shown = is_row or (self.teaches and len(before) < 2)
        return sized(symbol, *before, last) if is_shown and isinstance(last, int) else symbol

    def _sizes(self, node: Node) -> tuple[int | str, ...]:
        """Return the sizes without the batch's, lengths as letters; widths stay numbers."""
        shape, flows = node.shape, self.view.architecture.flows
        if node.symbolic_shape is not None:
            both = zip(node.symbolic_shape, shape, strict=True)
            return tuple(name if name in _LETTERS else n for name, n in both if name != "B")
        lengths = {} if flows is None else flows.lengths
        letters = {lengths[name]: name for name in reversed(_LETTERS) if name in lengths}
        named = [letters.get(size, size) for size in shape]
        is_batch = shape[:1] == (lengths.get("B", 1),)
        if node.kind == "parameter":
            return shape
        if len(shape) > 2:
            return (named[1], *shape[2:]) if is_batch else shape
        if len(shape) == 2 and is_batch and shape[0] not in letters:
            return (named[1],)
        return (*named[:1], *shape[1:])
