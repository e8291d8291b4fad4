"""A count as a person writes it: one sum, in which repeated blocks keep their brackets."""

from collections.abc import Iterable, Mapping

from bertviewer.core.expressions.evaluation import terms_of
from bertviewer.core.expressions.polynomials import (
    Polynomial,
    bracketed,
    join_terms,
    polynomial_of,
    total,
)
from bertviewer.core.frozen import frozen


@frozen
class Block:
    """A part of a count that stays in brackets: ``N*(12*D**2 + 13*D)``."""

    times: Polynomial
    inside: "Count"

    @property
    def value(self) -> Polynomial:
        """The part without brackets."""
        return self.times * self.inside.value

    def __str__(self) -> str:
        """Write it as Python reads it."""
        return f"{bracketed(str(self.times))}*{bracketed(str(self.inside))}"


@frozen
class Count:
    """A count: expanded, and in parts in reading order."""

    value: Polynomial
    parts: tuple[Polynomial | Block, ...]

    @classmethod
    def of(cls, parts: Iterable[Polynomial | Block]) -> "Count":
        """Add up; parts that follow each other without a block between are one tidied sum."""
        kept: list[Polynomial | Block] = []
        for part in parts:
            if isinstance(part, Polynomial) and kept and isinstance(kept[-1], Polynomial):
                kept[-1] = kept[-1] + part
            else:
                kept.append(part)
        value = total(part.value if isinstance(part, Block) else part for part in kept)
        return cls(value, tuple(part for part in kept if isinstance(part, Block) or part))

    @classmethod
    def read(cls, formula: str) -> "Count":
        """Read a formula back as what it was written from.

        Raises:
            FormulaError: the text is not a formula, or divides by a sum.
        """
        parts: list[Polynomial | Block] = []
        for text in terms_of(formula):
            term = text.removeprefix("+ ")
            times, inside = _last_brackets(term)
            if len(terms_of(inside)) > 1:
                sign = "-" if times.startswith("- ") else ""
                factor = polynomial_of(sign + times.removeprefix("- "))
                parts.append(cls.read(inside).times(factor))
            else:
                parts.append(polynomial_of(term))
        return cls.of(parts)

    def times(self, factor: Polynomial) -> Polynomial | Block:
        """Return it so many times, in brackets if it is a sum."""
        if len(self.value.terms) < 2 or factor == Polynomial.constant(1):
            return factor * self.value
        return Block(factor, self)

    def replaced(self, values: Mapping[str, Polynomial]) -> "Count":
        """Return it with polynomials in place of some letters, brackets left where they are."""
        return Count.of(
            part.inside.replaced(values).times(part.times.replaced(values))
            if isinstance(part, Block)
            else part.replaced(values)
            for part in self.parts
        )

    def __str__(self) -> str:
        """Write it as Python reads it.

        Around one stack of blocks terms keep their order; with several stacks the like terms of
        all of them come first, so that none is written twice.
        """
        blocks = [part for part in self.parts if isinstance(part, Block)]
        if len(blocks) < 2:
            return join_terms(map(str, self.parts))
        first = total(part for part in self.parts if isinstance(part, Polynomial))
        insides: dict[str, list[Block]] = {}
        for block in blocks:
            insides.setdefault(str(block.times), []).append(block)
        together = (
            Block(same[0].times, Count.of(part for block in same for part in block.inside.parts))
            for same in insides.values()
        )
        return join_terms([str(first)] * bool(first) + [str(block) for block in together])


def _last_brackets(term: str) -> tuple[str, str]:
    """Split ``(N - 1)*(2*D + 3)`` before its last factor, if that is in brackets."""
    depth = 0
    for place in range(len(term) - 1, -1, -1):
        depth += (term[place] == ")") - (term[place] == "(")
        if not depth:
            is_factor = term.endswith(")") and term[place - 1 : place] == "*"
            return (term[: place - 1], term[place + 1 : -1]) if is_factor else (term, "1")
    return term, "1"
