"""All formulas of one architecture, read once, so that other values can be put in quickly."""

import re
from collections.abc import Iterator, Mapping

from bertviewer.core.architecture.architecture import Architecture
from bertviewer.core.architecture.module_node import ModuleNode
from bertviewer.core.expressions.domains import conditions_of, letters_in
from bertviewer.core.expressions.evaluation import UnevenDivision, evaluate, letters_of
from bertviewer.core.expressions.symbols import Symbol, quantity_of
from bertviewer.core.frozen import frozen

_HEADS = ("A", "A_e", "A_d")
# With one of these the size of a head is a number of its own, and not D/A.
_HEAD_SIZE = re.compile(r"head_dim|head_size|d_head|d_kv|kv_channels")


@frozen
class Stack:
    """A list of layers whose length moves with a letter, one layer for each step of it."""

    letter: str
    length: int


@frozen
class Multiple:
    """A width that is a whole multiple of another in the real model: I = 4·D."""

    letter: str
    factor: int
    of: str


@frozen
class Sheet:
    """An architecture's formulas, each text once, with what they give for the real model.

    Attributes:
        architecture: whose formulas they are.
        symbols: the letters that have a value: the configuration's, then a sentence's.
        values: their values in the real model, and in the sentence that figures start from.
        nodes: the modules by path.
        numbers: each formula, and what it gives at ``values``.
        dimensions: those of the formulas that are the size of something in one direction.
        stacks: by path, the lists of layers that become longer and shorter.
        conditions: those of all domains, of which each has to be met for the figures to be right.
        divisions: pairs of letters of which the first has to divide the second.
        multiples: the feed-forward widths that are whole multiples of the hidden state's.
    """

    architecture: Architecture
    symbols: tuple[Symbol, ...]
    values: Mapping[str, int]
    nodes: Mapping[str, ModuleNode]
    numbers: Mapping[str, int]
    dimensions: frozenset[str]
    stacks: Mapping[str, Stack]
    conditions: tuple[str, ...]
    divisions: tuple[tuple[str, str], ...]
    multiples: tuple[Multiple, ...]

    @classmethod
    def of(cls, architecture: Architecture) -> "Sheet":
        """Read an architecture's formulas; some milliseconds for hundreds of modules.

        Raises:
            FormulaError: a formula names a letter that has no value.
        """
        costs, modules = architecture.costs, architecture.modules
        # Where nothing is known of a forward pass, no figure follows a sentence's letters.
        symbols = (*architecture.symbols, *(costs.symbols if costs and not costs.reason else ()))
        values = {symbol.letter: symbol.value for symbol in symbols}
        shapes = [tensor.symbolic_shape for tensor in architecture.parameters]
        formulas = {node.count_formula for node in modules}
        if costs is not None:
            shapes += (
                s for it in costs.modules.values() for s in (it.input_shape, it.output_shape)
            )
            formulas |= {it.macs for it in costs.modules.values() if it.macs} | set(costs.peak)
        dimensions = frozenset(size for shape in shapes for size in shape or ())
        conditions = (text for node in modules for text in conditions_of(node.domain))
        return cls(
            architecture,
            symbols,
            values,
            {node.path: node for node in modules},
            {formula: evaluate(formula, values) for formula in formulas | dimensions},
            dimensions,
            dict(_stacks(architecture, values)),
            tuple(dict.fromkeys(conditions)),
            tuple(_divisions(architecture, values)),
            tuple(_multiples(symbols)),
        )

    @property
    def has_formulas(self) -> bool:
        """Whether anything follows a letter of the configuration."""
        return any(self.is_free(symbol) for symbol in self.architecture.symbols)

    @property
    def followers(self) -> tuple[Symbol, ...]:
        """The letters that stay in proportion to another one, where nothing else is said."""
        symbols = self.architecture.symbols
        return tuple(s for s in symbols if s.variable != s.letter and s.variable in self.values)

    def is_free(self, symbol: Symbol) -> bool:
        """Tell whether a letter can be given another value: a formula or a domain knows it."""
        cache = self.architecture.kv_cache
        is_known = not symbol.key or bool(symbol.variable) or symbol.letter in self.limited
        return is_known or (cache is not None and symbol.letter in cache.letters)

    @property
    def limited(self) -> frozenset[str]:
        """The letters that domains are about."""
        return frozenset[str]().union(*map(letters_in, self.conditions))

    def follows(self, formula: str) -> bool:
        """Tell whether a formula has letters; a plain number has none."""
        return bool(letters_of(formula))


def _stacks(architecture: Architecture, values: Mapping[str, int]) -> Iterator[tuple[str, Stack]]:
    """Find the lists of which one more of a letter adds exactly one block like the last."""
    for parent in architecture.modules:
        children = architecture.children(parent.path)
        if not children or any(child.name != str(i) for i, child in enumerate(children)):
            continue
        block, count = children[-1], parent.count_formula
        for letter in letters_of(count) - letters_of(block.count_formula):
            try:
                sizes = [evaluate(count, {**values, letter: values[letter] + i}) for i in range(3)]
            except UnevenDivision:
                continue
            grown = [size - sizes[0] for size in sizes]
            if block.parameters and grown == [0, block.parameters, 2 * block.parameters]:
                yield parent.path, Stack(letter, len(children))


def _divisions(architecture: Architecture, values: Mapping[str, int]) -> Iterator[tuple[str, str]]:
    """Yield what has to divide what: the heads their width, as far as it holds in reality."""
    pairs = [("A_kv", "A")]
    config = architecture.config.items()
    if not any(_HEAD_SIZE.search(key) and isinstance(value, int) for key, value in config):
        pairs += [(heads, "D") for heads in _HEADS]
    for part, whole in pairs:
        if part in values and whole in values and values[whole] % values[part] == 0:
            yield part, whole


def _multiples(symbols: tuple[Symbol, ...]) -> Iterator[Multiple]:
    width = next((s.value for s in symbols if s.letter == s.variable == "D"), 0)
    for symbol in symbols if width else ():
        if symbol.letter not in ("I", "I_e", "I_d") or quantity_of(symbol) != "width":
            continue
        if symbol.value % width == 0 and symbol.variable == symbol.letter:
            yield Multiple(symbol.letter, symbol.value // width, "D")
