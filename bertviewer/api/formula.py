"""What one module counts and computes, as a script reads it."""

from msgspec import Struct

from bertviewer.api.notebook import paragraph_html, table_html
from bertviewer.core.formulas.catalogue import formula_of
from bertviewer.core.formulas.formula import Term
from bertviewer.core.schema.architecture import Architecture
from bertviewer.core.schema.count_steps import count_steps
from bertviewer.core.schema.modules import ModuleNode


class Formula(Struct, frozen=True):
    """The count of a module's parameters in three lines, and its forward maths.

        >>> import bertviewer
        >>> print(bertviewer.open("demo").formula("encoder.layer.0.output.dense"))
        D·I + D
        = 384·1536 + 384
        = 590,208

    Attributes:
        path: the module, "" for the model itself.
        class_name: its class.
        text: the count in the configuration's symbols, ``12·D² + 13·D``; ``None`` where none is
            proven.
        numbers: the same with this model's numbers.
        result: what both give: the number of parameters.
        expression: the count as Python evaluates it with the symbols as integers.
        domain: the condition that it holds under; ``None`` for everywhere.
        title: what the forward maths is called; "" where none is known, as are the next ones.
        summary: it in a sentence.
        maths: its lines as Typst's mathematics.
        terms: its symbols, each with its meaning and this module's value.
        notes: what is worth knowing of it, in plain words.
        source: the paper or the code that it follows.
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
        """The lines of the maths as MathML, which browsers show."""
        from bertviewer.report.formats.mathml import Line, mathml_of

        lines = [Line(maths, is_block=True) for maths in self.maths]
        found = mathml_of(lines)
        return tuple(found[line] for line in lines)

    @property
    def latex(self) -> tuple[str, ...]:
        """The lines of the maths as LaTeX, without dollar signs."""
        from bertviewer.report.formats.latex_maths import latex_maths

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
    """Return what is known of a module."""
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
