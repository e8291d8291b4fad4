"""Parts of an attention that are modules: a product of two matrices, and the softmax."""

from bertviewer.core.formulas.formula import Formula, Term
from bertviewer.core.formulas.module_view import ModuleView
from bertviewer.core.formulas.notation import NO_PARAMETERS
from bertviewer.core.formulas.place import places
from bertviewer.core.formulas.templates.template import Template


def _product(view: ModuleView) -> Formula | None:
    """A product of two of the module's inputs."""
    step = None if view.graph is None else view.graph.only
    if step is None or step.operation not in ("matmul", "bmm") or view.tensors:
        return None
    if len({operand.node for operand in step.tensors}) != 2:
        return None
    left, right = _operands(view)
    return Formula(
        title="Matrix product",
        summary="Multiplies two matrices; it is a separate module only so that its operations can "
        "be counted.",
        maths=("Y = A B",),
        terms=(Term("A", left), Term("B", right), Term("Y", "their product")),
        notes=(NO_PARAMETERS,),
        source="transformers’ code",
    )


def _operands(view: ModuleView) -> tuple[str, str]:
    """Return what is multiplied, as the attention around the module shows."""
    for place in places(view):
        inner = () if place.group is None else place.group.inner
        words = [each.operation for each in inner]
        if "softmax" in words:
            is_before = inner.index(place.steps[0]) < words.index("softmax")
            if is_before:
                return "a head’s queries", "its keys"
            return "probabilities", "a head’s values"
    return "the first input", "the second input"


def _softmax(view: ModuleView) -> Formula | None:
    """Softmax as torch.nn.Softmax computes it."""
    step = None if view.graph is None else view.graph.only
    if step is None or step.operation != "softmax" or view.tensors:
        return None
    return Formula(
        title="Softmax",
        summary="Converts scores to probabilities, which are positive and sum to 1.",
        maths=("p_i = e^(x_i) / (sum_j e^(x_j))",),
        terms=(Term("x_i", "score i"), Term("p_i", "its probability")),
        notes=(NO_PARAMETERS,),
        source="torch.nn.Softmax",
    )


ATTENTION_PARTS = (Template("product", _product), Template("softmax", _softmax))
