"""The formulas of a module, for scripts."""

from msgspec import Struct

from bertviewer.api.tables import paragraph_html, table_html
from bertviewer.core.formulas.catalogue import formula_of
from bertviewer.core.formulas.formula import Term
from bertviewer.core.schema.architecture import Architecture
from bertviewer.core.schema.count_steps import count_steps
from bertviewer.core.schema.modules import ModuleNode


class Formula(Struct, frozen=True):
    """A module's parameter count in three lines, and its forward computation.

        >>> import bertviewer
        >>> print(bertviewer.open("demo").formula("encoder.layer.0.output.dense"))
        D·I + D
        = 384·1536 + 384
        = 590,208

    Attributes:
        path: the module, "" for the model.
        class_name: its class.
        text: the count in symbols, such as ``12·D² + 13·D``; ``None`` if no formula was verified.
        numbers: the same with this model's numbers.
        result: the number of parameters.
        expression: the count as a Python expression of the symbols.
        domain: the condition under which it is valid; ``None`` for none.
        title: title of the forward formula; "" if it is not known, like the following ones.
        summary: one sentence.
        maths: its lines in Typst's notation.
        terms: its symbols with their meanings and this module's values.
        notes: remarks.
        source: the paper or code of the formula.
    """

    path: str
    class_name: str
    text: str | None
    numbers: str | None
    result: int
    expression: str
    domain: str | None
    title: str
    summary: str
    maths: tuple[str, ...]
    terms: tuple[Term, ...]
    notes: tuple[str, ...]
    source: str

    @property
    def mathml(self) -> tuple[str, ...]:
        """The forward formula's lines as MathML."""
        from bertviewer.core.formulas.notation import styled
        from bertviewer.report.mathml import MathLine, mathml_of

        lines = [MathLine(styled(maths), is_block=True) for maths in self.maths]
        found = mathml_of(lines)
        return tuple(found[line] for line in lines)

    @property
    def latex(self) -> tuple[str, ...]:
        """The forward formula's lines as LaTeX, without dollar signs."""
        from bertviewer.report.formats.maths import latex_maths

        return tuple(latex_maths(line) for line in self.mathml)

    def __repr__(self) -> str:
        count = self.text or f"{self.result:,}"
        return f"<bertviewer.Formula of {(self.path or self.class_name)!r}: {count}>"

    def __str__(self) -> str:
        steps = [line for line in (self.text, self.numbers, f"{self.result:,}") if line is not None]
        return "\n= ".join(steps)

    def _repr_html_(self) -> str:
        title = f"{self.path or self.class_name}: {self.title}".removesuffix(": ")
        rows = [[name, line] for name, line in self._lines() if line is not None]
        terms = [[term.meaning, term.value or ""] for term in self.terms]
        return "\n".join(
            (
                table_html(title, (), rows),
                *self.mathml,
                table_html("Symbols", (), terms) if terms else "",
                *(paragraph_html(note) for note in (self.summary, *self.notes) if note),
            )
        )

    def _lines(self) -> list[tuple[str, str | None]]:
        return [
            ("In symbols", self.text),
            ("With numbers", self.numbers),
            ("Parameters", f"{self.result:,}"),
            ("Valid if", self.domain),
        ]


def formula_at(node: ModuleNode, architecture: Architecture) -> Formula:
    """Return the formulas of a module."""
    steps, forward = count_steps(node, architecture), formula_of(node, architecture)
    return Formula(
        path=node.path,
        class_name=node.class_name,
        text=None if steps is None else steps.symbols,
        numbers=None if steps is None else steps.numbers,
        result=node.parameters,
        expression=node.count_formula,
        domain=node.domain,
        title="" if forward is None else forward.title,
        summary="" if forward is None else forward.summary,
        maths=() if forward is None else forward.maths,
        terms=() if forward is None else forward.terms,
        notes=() if forward is None else forward.notes,
        source="" if forward is None else forward.source,
    )
