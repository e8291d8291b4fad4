"""The teacher's grouping: with I = 4*D declared, a layer is ``12*D**2 + 13*D``."""

from collections.abc import Iterable, Iterator

from bertviewer.core.expressions.counts import Count
from bertviewer.core.expressions.evaluation import letters_of
from bertviewer.core.expressions.polynomials import polynomial_of
from bertviewer.core.expressions.symbols import Symbol, place_of, quantity_of, standard_letter
from bertviewer.core.frozen import frozen

LARGEST = 8
"""A width that is more times another than this is no rule that a person would declare."""


@frozen
class Relation:
    """Letters that are equal in one configuration.

    Attributes:
        letter: the one that is replaced.
        formula: what it is replaced by: ``4*D``, ``D//A``.
        text: the relation as a person declares it: ``I = 4*D``, ``A*K = D``.
    """

    letter: str
    formula: str
    text: str


def relations(symbols: Iterable[Symbol]) -> tuple[Relation, ...]:
    """Return the relations that hold between a configuration's letters and could be declared.

    Widths that are a few times the hidden state's (I = 4*D, E = D), heads that share it out
    (A*K = D), and as many heads for keys and values as for queries (A_kv = A). Each part of a
    configuration has its own.
    """
    by_place: dict[str, list[Symbol]] = {}
    for symbol in symbols:
        by_place.setdefault(place_of(symbol), []).append(symbol)
    return tuple(found for part in by_place.values() for found in _relations_in(part))


def substituted(formula: str, declared: Iterable[Relation]) -> str:
    """Return a count with relations put in and like terms collected.

    Repeated blocks keep their brackets: ``N*(4*D**2 + 2*D*I + 9*D + I)`` becomes
    ``N*(12*D**2 + 13*D)``. A formula without any of the letters is returned unchanged.

    Raises:
        FormulaError: the text is not a formula.
    """
    values = {relation.letter: polynomial_of(relation.formula) for relation in declared}
    if letters_of(formula).isdisjoint(values):
        return formula
    return str(Count.read(formula, values))


def _relations_in(symbols: list[Symbol]) -> Iterator[Relation]:
    by_letter = {standard_letter(symbol): symbol for symbol in symbols}
    width, heads = by_letter.get("D"), by_letter.get("A")
    for symbol in symbols:
        letter = standard_letter(symbol)
        if letter == "A_kv" and heads is not None and heads.value == symbol.value:
            yield _equal(symbol, heads.letter)
        if width is None or symbol is width or quantity_of(symbol) != "width":
            continue
        if letter == "K":
            if heads is not None and heads.value * symbol.value == width.value:
                text = f"{heads.letter}*{symbol.letter} = {width.letter}"
                yield Relation(symbol.letter, f"{width.letter}//{heads.letter}", text)
        elif letter and symbol.value % width.value == 0 and symbol.value // width.value <= LARGEST:
            times = symbol.value // width.value
            yield _equal(symbol, f"{times}*{width.letter}" if times > 1 else width.letter)


def _equal(symbol: Symbol, formula: str) -> Relation:
    return Relation(symbol.letter, formula, f"{symbol.letter} = {formula}")
