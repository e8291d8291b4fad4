"""Polynomials of symbols, and counts with repeated blocks in brackets: ``N*(12*D**2 + 13*D)``.

sympy takes 4.5 times as long for what deriving bert-base needs, 0.6 s to be imported, and has
neither exact integer divisions nor a fixed order of terms.
"""

import ast
import operator
import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from fractions import Fraction
from functools import reduce
from math import lcm, prod
from types import MappingProxyType
from typing import Final

from msgspec import Struct

from bertviewer.core.expressions.evaluation import FormulaError, names_in, program, terms_of
from bertviewer.core.expressions.symbols import (
    SENTENCES,
    TARGET_TOKENS,
    TOKENS,
    Symbol,
    config_part,
    dimension_kind,
    name_order,
    standard_name,
)

Monomial = tuple[tuple[str, int], ...]
"""Symbols with their powers, none of them 0, in the order of ``name_order``: D**2*I."""

ONE: Final = Fraction(1)


class Polynomial(Struct, frozen=True):
    """A sum of terms; a negative power is an exact integer division: ``A_kv*D//A``.

    ``terms`` has no coefficients of 0, and keeps the order in which terms were added.
    """

    terms: Mapping[Monomial, Fraction]

    @classmethod
    def constant(cls, value: int) -> "Polynomial":
        """Return a constant polynomial."""
        return cls({(): Fraction(value)} if value else {})

    @classmethod
    def term(cls, coefficient: Fraction, powers: Mapping[str, int]) -> "Polynomial":
        """Return one term: a coefficient times symbols with their powers."""
        return cls({_monomial(powers): coefficient} if coefficient else {})

    @property
    def symbols(self) -> frozenset[str]:
        """The names of the symbols in it."""
        return frozenset(name for monomial in self.terms for name, _ in monomial)

    def tidied(self) -> "Polynomial":
        """Return the polynomial with terms sorted by number of symbols, then by their names."""
        order = sorted(
            self.terms, key=lambda monomial: (len(monomial), [name_order(x) for x, _ in monomial])
        )
        return Polynomial({monomial: self.terms[monomial] for monomial in order})

    def at(self, values: Mapping[str, int]) -> Fraction:
        """Return its value as a fraction."""
        return sum(
            (
                coefficient * prod(Fraction(values[name]) ** power for name, power in monomial)
                for monomial, coefficient in self.terms.items()
            ),
            Fraction(0),
        )

    def __bool__(self) -> bool:
        return bool(self.terms)

    def __neg__(self) -> "Polynomial":
        return Polynomial({monomial: -value for monomial, value in self.terms.items()})

    def __add__(self, other: "Polynomial") -> "Polynomial":
        return total((self, other))

    def __sub__(self, other: "Polynomial") -> "Polynomial":
        return self + -other

    def __mul__(self, other: "Polynomial") -> "Polynomial":
        return total(
            Polynomial({_times(one, another): a * b})
            for one, a in self.terms.items()
            for another, b in other.terms.items()
        )

    def __floordiv__(self, other: "Polynomial") -> "Polynomial":
        return self * other**-1

    def __pow__(self, power: int) -> "Polynomial":
        if power >= 0:
            return product([self] * power)
        if len(self.terms) != 1:
            raise FormulaError(f"{self} is not a single term to divide by")
        ((monomial, value),) = self.terms.items()
        inverse = Polynomial.term(1 / value, {name: -power for name, power in monomial})
        return product([inverse] * -power)

    def __str__(self) -> str:
        """Return a Python expression: highest degree first, then in the order of terms."""
        ordered = sorted(self.terms.items(), key=lambda term: (-_degree(term[0]), not term[0]))
        halves = [term for term in ordered if term[1].denominator != 1]
        if all(monomial for monomial, _ in halves):
            return join_terms(_term_text(monomial, value) for monomial, value in ordered)
        # A constant that is no integer is part of one division: (D - 1)//2.
        whole = lcm(*(value.denominator for _, value in halves))
        above = join_terms(_term_text(monomial, value * whole) for monomial, value in halves)
        rest = (_term_text(*term) for term in ordered if term not in halves)
        return join_terms((f"({above})//{whole}", *rest))


def polynomial_of(
    formula: str, values: Mapping[str, Polynomial] = MappingProxyType({})
) -> Polynomial:
    """Return a formula expanded, with polynomials substituted for some symbols.

    Raises:
        FormulaError: the text is not a formula, or divides by a sum.
    """
    stack: list[Polynomial] = []
    for step in program(formula):
        if isinstance(step, int):
            stack.append(Polynomial.constant(step))
        elif isinstance(step, str):
            stack.append(values[step] if step in values else Polynomial.term(ONE, {step: 1}))
        elif step is operator.neg:
            stack.append(-stack.pop())
        else:
            right = stack.pop()
            factor = int(right.at({})) if step is operator.pow else right
            result: Polynomial = step(stack.pop(), factor)
            stack.append(result)
    return stack[0]


def product(factors: Iterable[Polynomial]) -> Polynomial:
    """Return the product."""
    return reduce(operator.mul, factors, Polynomial.constant(1))


def total(polynomials: Iterable[Polynomial]) -> Polynomial:
    """Return the sum; terms keep the order in which they first occur."""
    terms: dict[Monomial, Fraction] = {}
    for polynomial in polynomials:
        for monomial, value in polynomial.terms.items():
            terms[monomial] = terms.get(monomial, Fraction(0)) + value
    return Polynomial({monomial: value for monomial, value in terms.items() if value})


def join_terms(texts: Iterable[str]) -> str:
    """Join texts to a sum, a leading minus as a subtraction; ``0`` without any."""
    return " + ".join(texts).replace("+ -", "- ") or "0"


def bracketed(text: str) -> str:
    """Return a text as a factor: in brackets if it is a sum."""
    outside = text
    while (inner := re.sub(r"\([^()]*\)", "", outside)) != outside:
        outside = inner
    return f"({text})" if " " in outside else text


def _monomial(powers: Mapping[str, int]) -> Monomial:
    return tuple((name, powers[name]) for name in sorted(powers, key=name_order) if powers[name])


def _times(own: Monomial, other: Monomial) -> Monomial:
    powers = dict(own)
    for name, power in other:
        powers[name] = powers.get(name, 0) + power
    return _monomial(powers)


def _degree(monomial: Monomial) -> int:
    return sum(power for _, power in monomial)


def _term_text(monomial: Monomial, coefficient: Fraction) -> str:
    """Return one term with all factors first and one division last, which is exact."""
    above = [_power_text(name, power) for name, power in monomial if power > 0]
    below = [_power_text(name, -power) for name, power in monomial if power < 0]
    number = abs(coefficient.numerator)
    if number != 1 or not above:
        above.insert(0, str(number))
    if coefficient.denominator != 1:
        below.insert(0, str(coefficient.denominator))
    text = ("-" if coefficient < 0 else "") + "*".join(above)
    if not below:
        return text
    return f"{text}//({'*'.join(below)})" if len(below) > 1 else f"{text}//{below[0]}"


def _power_text(name: str, power: int) -> str:
    return name if power == 1 else f"{name}**{power}"


UNIT: Final = Polynomial.constant(1)
LARGEST = 8
"""Larger multiples of a width are not declared as relations."""


class Count(Struct, frozen=True):
    """A sum multiplied by ``times``: its expanded ``value``, and its parts in order.

    Parts that are counts are written in brackets: ``N*(12*D**2 + 13*D)``.
    """

    value: Polynomial
    parts: tuple["Polynomial | Count", ...]
    times: Polynomial = UNIT

    @classmethod
    def of(cls, parts: Iterable["Polynomial | Count"], times: Polynomial = UNIT) -> "Count":
        """Return the sum of parts; adjacent polynomials are added up."""
        kept: list[Polynomial | Count] = []
        for part in parts:
            if isinstance(part, Polynomial) and kept and isinstance(kept[-1], Polynomial):
                kept[-1] = kept[-1] + part
            else:
                kept.append(part)
        value = total(part if isinstance(part, Polynomial) else part.value for part in kept)
        return cls(times * value, tuple(filter(None, kept)), times)

    @classmethod
    def read(cls, formula: str, values: Mapping[str, Polynomial] = MappingProxyType({})) -> "Count":
        """Parse a formula, with polynomials substituted for some symbols; brackets are kept.

        Raises:
            FormulaError: the text is not a formula, or divides by a sum.
        """
        parts: list[Polynomial | Count] = []
        for text in terms_of(formula):
            match ast.parse(text, mode="eval").body:
                case ast.BinOp(
                    left=ast.expr(end_col_offset=int(end)),
                    op=ast.Mult(),
                    right=ast.BinOp(op=ast.Add() | ast.Sub()),
                ):
                    inside = cls.read(text[end:].removeprefix("*(").removesuffix(")"), values)
                    parts.append(inside.repeated(polynomial_of(text[:end], values)))
                case _:
                    parts.append(polynomial_of(text, values))
        return cls.of(parts)

    def repeated(self, times: Polynomial) -> "Polynomial | Count":
        """Return the count multiplied, in brackets if it is a sum."""
        if len(self.value.terms) < 2 or times == UNIT:
            return times * self.value
        return Count.of(self.parts, times)

    def __str__(self) -> str:
        """Return a Python expression.

        With several blocks, polynomials come first, and blocks with equal factors are merged.
        """
        blocks = [part for part in self.parts if isinstance(part, Count)]
        parts = list(self.parts)
        if len(blocks) > 1:
            insides: dict[str, list[Count]] = {}
            for block in blocks:
                insides.setdefault(str(block.times), []).append(block)
            first = total(part for part in self.parts if isinstance(part, Polynomial))
            parts = [first] * bool(first) + [
                Count.of((part for block in same for part in block.parts), same[0].times)
                for same in insides.values()
            ]
        text = join_terms(map(str, parts))
        return text if self.times == UNIT else f"{bracketed(str(self.times))}*{bracketed(text)}"


class Relation(Struct, frozen=True):
    """An equation between symbols that holds for one configuration.

    Attributes:
        name: the symbol to substitute.
        formula: what to substitute: ``4*D``, ``D//A``.
        text: the equation: ``I = 4*D``, ``A*K = D``.
    """

    name: str
    formula: str
    text: str


def relations(symbols: Iterable[Symbol]) -> tuple[Relation, ...]:
    """Return the usual relations between the symbols of a configuration that hold for it.

    Widths that are small multiples of the hidden state's (I = 4*D, E = D), heads that divide it
    (A*K = D), and equally many heads of queries and of keys and values (A_kv = A), within each
    part of the configuration.
    """
    by_part: dict[str, list[Symbol]] = {}
    for symbol in symbols:
        by_part.setdefault(config_part(symbol), []).append(symbol)
    return tuple(found for part in by_part.values() for found in _relations_in(part))


def substituted(formula: str, declared: Iterable[Relation]) -> str:
    """Return a count with relations substituted and like terms collected.

    Repeated blocks keep their brackets: ``N*(4*D**2 + 2*D*I + 9*D + I)`` becomes
    ``N*(12*D**2 + 13*D)``. A formula without any of the symbols is returned unchanged.

    Raises:
        FormulaError: the text is not a formula.
    """
    values = {relation.name: polynomial_of(relation.formula) for relation in declared}
    if names_in(formula).isdisjoint(values):
        return formula
    return str(Count.read(formula, values))


def _relations_in(symbols: list[Symbol]) -> Iterator[Relation]:
    by_name = {standard_name(symbol): symbol for symbol in symbols}
    width, heads = by_name.get("D"), by_name.get("A")
    for symbol in symbols:
        name = standard_name(symbol)
        if name == "A_kv" and heads is not None and heads.value == symbol.value:
            yield _equal(symbol, heads.name)
        if width is None or symbol is width or dimension_kind(symbol) != "width":
            continue
        if name == "K":
            if heads is not None and heads.value * symbol.value == width.value:
                text = f"{heads.name}*{symbol.name} = {width.name}"
                yield Relation(symbol.name, f"{width.name}//{heads.name}", text)
        elif name and symbol.value % width.value == 0 and symbol.value // width.value <= LARGEST:
            times = symbol.value // width.value
            yield _equal(symbol, f"{times}*{width.name}" if times > 1 else width.name)


def _equal(symbol: Symbol, formula: str) -> Relation:
    return Relation(symbol.name, formula, f"{symbol.name} = {formula}")


_INPUTS = (SENTENCES, TOKENS, TARGET_TOKENS)


def factored(polynomial: Polynomial, layers: Collection[str]) -> str:
    """Return a cost with layers, sentences and tokens factored out.

    Args:
        polynomial: the cost, expanded.
        layers: the symbols that are numbers of layers.

    Returns:
        An expression of the same value: ``N*B*S*(4*D**2 + 2*D*I + 2*S*D) + B*D**2``.
    """
    groups: dict[object, dict[Monomial, Fraction]] = {}
    for monomial, value in polynomial.terms.items():
        powers = dict(monomial)
        repeats = tuple((name, powers[name]) for name in layers if name in powers)
        tokens = frozenset(name for name in _INPUTS if name in powers)
        groups.setdefault((repeats, tokens), {})[monomial] = value
    return join_terms(_with_common_factors(Polynomial(terms), layers) for terms in groups.values())


def _with_common_factors(polynomial: Polynomial, layers: Collection[str]) -> str:
    """Return a polynomial with the common powers of layers and inputs factored out."""
    terms = [dict(monomial) for monomial in polynomial.terms]
    common = ((x, min(term.get(x, 0) for term in terms)) for x in (*layers, *_INPUTS))
    outside = [Polynomial.term(ONE, {x: power}) for x, power in common if power > 0]
    inside = polynomial // product(outside)
    ((monomial, value), *others) = sorted(
        inside.terms.items(), key=lambda term: sum(n for x, n in term[0] if x in _INPUTS)
    )
    is_divided = value.denominator != 1 or any(power < 0 for _, power in monomial)
    if not outside or (is_divided and not others):
        return str(polynomial)  # a division is written last
    factors = list(map(str, outside))
    if others:
        return "*".join((*factors, f"({Polynomial(dict([(monomial, value), *others]))})"))
    if value != 1:
        factors.insert(0, str(value))
    return "*".join((*factors, *([str(Polynomial({monomial: ONE}))] if monomial else [])))
