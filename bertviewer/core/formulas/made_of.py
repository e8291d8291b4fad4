"""What is shown for a module without a formula: its parts, which are facts and no claim."""

from collections.abc import Iterator

from bertviewer.core.expressions.shape_text import shape_text
from bertviewer.core.formulas.formula import Formula, Term
from bertviewer.core.formulas.notation import quoted
from bertviewer.core.schema.architecture import Architecture
from bertviewer.core.schema.modules import ModuleNode
from bertviewer.core.util.numbers import count_text


def made_of(node: ModuleNode, architecture: Architecture) -> Formula:
    """Return the children, classes and tensors of ``node`` in the form of a formula.

    Equal numbered children are one entry. In which order parts are called, only the code knows.
    """
    members = tuple(_members(node, architecture))
    tensors = tuple(
        Term(quoted(each.name.rpartition(".")[2]), "tensor of this module", shape_text(each.shape))
        for each in architecture.tensors_below(node.path)
        if each.owner == node.path
    )
    held = [name for name, found in (("modules", members), ("tensors", tensors)) if found]
    parts = f"consists of the {' and the '.join(held)} below"
    return Formula(
        title=node.class_name,
        summary="No formula is known for this class. It "
        f"{parts if held else 'contains neither modules nor tensors'}.",
        maths=(f"y = {quoted(node.class_name)}(x)",),
        terms=(*members, *tensors),
        notes=("Each part has its own page.",) if members else (),
        source=node.class_module or node.class_name,
    )


def _members(node: ModuleNode, architecture: Architecture) -> Iterator[Term]:
    for child in architecture.children(node.path):
        name, times, count = child.name, "", child.parameters
        if (repeat := child.repeat) is not None:
            if name != str(repeat.first):
                continue
            name, times = f"{repeat.first} … {repeat.last}", f"{repeat.count} × "
            count *= repeat.count
        held = count_text(count, "1 parameter", "{0} parameters")
        yield Term(quoted(name), f"{times}{child.class_name}", held)
