"""Typst mathematics that knows how tightly it binds, and the terms gathered while it is written."""

import re
from dataclasses import dataclass, field

from bertviewer.core.formulas.formula import Term
from bertviewer.core.frozen import frozen

SUM, EACH, PRODUCT, ATOM = 1, 2, 3, 4
"""How tightly an expression binds; ``EACH`` is a product number by number."""

_SMALL = re.compile(r'op\(|limits\(|thick|thin|dot\.o|quad|["\\()]')


@frozen
class Expression:
    """Mathematics, and how tightly it binds."""

    text: str
    binds: int = ATOM

    def within(self, binds: int) -> str:
        """Return it for a place that binds so tightly, in brackets where needed."""
        return self.text if self.binds >= binds else f"({self.text})"

    @property
    def width(self) -> int:
        """About how many letters wide it is when it is set."""
        return len(_SMALL.sub("", self.text))


def call(function: str, *arguments: str) -> Expression:
    """Return a function of its arguments; of many the first ones and the last."""
    shown = arguments if len(arguments) <= _SHOWN else (*arguments[:2], "dots", arguments[-1])
    return Expression(f"{function}({', '.join(shown)})")


_SHOWN = 6


@dataclass(slots=True)
class Legend:
    """Terms by their symbols, in the order in which they come up."""

    terms: dict[str, Term] = field(default_factory=dict)

    def add(self, symbol: str, meaning: str, value: str | None = None) -> None:
        """Explain a symbol, once."""
        if symbol:
            self.terms.setdefault(symbol, Term(symbol, meaning, value))

    def put(self, *terms: Term) -> None:
        """Add terms that are made already."""
        for term in terms:
            self.terms.setdefault(term.symbol, term)
