"""What is shown for a module without a formula: its parts, which are facts and no claim."""

from collections.abc import Iterator, Sequence

from bertviewer.core.architecture.architecture import Architecture
from bertviewer.core.architecture.module_node import ModuleNode
from bertviewer.core.expressions.shape_text import shape_text
from bertviewer.core.formulas.formula import Formula, Term
from bertviewer.core.formulas.notation import quoted
from bertviewer.core.text.numerals import count_text

LINE = 60
"""How many characters of names stand in one line, the separators' markup included."""


def made_of(node: ModuleNode, architecture: Architecture) -> Formula:
    """Return the children, classes and tensors of ``node`` in the form of a formula.

    Equal numbered children stand in one line. The maths says what it is made of, and not in which
    order or how the parts are called: only the code knows that.
    """
    members = tuple(_members(node, architecture))
    tensors = tuple(_tensors(node, architecture))
    name = quoted(node.class_name)
    lines = tuple(_lines([term.symbol for term in (*members, *tensors)]))
    return Formula(
        title=node.class_name,
        summary=_summary(len(members), len(tensors)),
        maths=(f"{name} :", *lines) if lines else (f"y = {name}(x)",),
        terms=(*members, *tensors),
        notes=("Each part has its own page.",) if members else (),
        source=node.class_module or node.class_name,
    )


def _members(node: ModuleNode, architecture: Architecture) -> Iterator[Term]:
    for child in architecture.children(node.path):
        repeat = child.repeat
        if repeat is not None and child.name != str(repeat.first):
            continue
        name, times, count = child.name, "", child.parameters
        if repeat is not None:
            name, times = f"{repeat.first} … {repeat.last}", f"{repeat.count} × "
            count *= repeat.count
        held = count_text(count, "1 parameter", "{0} parameters")
        yield Term(quoted(name), f"{times}{child.class_name}", held)


def _tensors(node: ModuleNode, architecture: Architecture) -> Iterator[Term]:
    for tensor in architecture.tensors_below(node.path):
        if tensor.owner == node.path:
            name = tensor.name.rpartition(".")[2]
            yield Term(quoted(name), "tensor of this module", shape_text(tensor.shape))


def _lines(symbols: Sequence[str]) -> Iterator[str]:
    """Yield the symbols in lines that fit on a page: Typst does not break mathematics."""
    line = ""
    for symbol in symbols:
        if line and len(line) + len(symbol) > LINE:
            yield f"quad {line},"
            line = ""
        line = f"{line}, quad {symbol}" if line else symbol
    if line:
        yield f"quad {line}"


def _summary(members: int, tensors: int) -> str:
    held = []
    if members:
        held.append("the modules")
    if tensors:
        held.append("the tensors")
    if not held:
        return "No formula is known for this class. It contains neither modules nor tensors."
    return f"No formula is known for this class. It consists of {' and '.join(held)} below."
