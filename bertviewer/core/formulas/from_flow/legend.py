"""The terms of a formula, gathered while it is written."""

from dataclasses import dataclass, field

from bertviewer.core.formulas.formula import Term


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
