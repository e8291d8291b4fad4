"""torch's own small modules: linear layers, dropout, and what only holds a place."""

from bertviewer.core.expressions.shape_text import shape_text
from bertviewer.core.formulas.facts import is_called, works_by_position
from bertviewer.core.formulas.formula import Formula, Term
from bertviewer.core.formulas.linear_purposes import DROPOUT_PLACES, LINEAR_USES, use_of
from bertviewer.core.formulas.module_view import ModuleView
from bertviewer.core.formulas.notation import NO_PARAMETERS, indices, sized
from bertviewer.core.formulas.notes import Note
from bertviewer.core.text.special_floats import Scalar


def linear(view: ModuleView) -> Formula:
    """A linear layer: torch.nn.Linear, or the Conv1D of Radford et al. 2018.

    Raises:
        LookupError: its weight is multiplied by another module.
    """
    if not is_called(view):
        raise LookupError(f"{view.node.path} is never called")
    layer = view.affine()
    order = (
        "PyTorch stores the weight as [out, in], so the formula transposes it: row j of W "
        "produces output feature j."
        if layer.transposed
        else "Conv1D stores the weight as [in, out], unlike torch.nn.Linear, so nothing is "
        "transposed: column j of W produces output feature j."
    )
    entry = "W_(j, i)" if layer.transposed else "W_(i, j)"
    bias = " + b_j" if layer.bias else ""
    notes = [
        order,
        Note(
            "x is the vector of one position: the same weights are applied to every position "
            "independently.",
            works_by_position,
        ),
    ]
    if not layer.bias:
        notes.append("This layer has no bias.")
    return Formula(
        title="Linear layer" if layer.transposed else "Linear layer, stored transposed (Conv1D)",
        summary=use_of(view, LINEAR_USES, "Maps each vector to a new one, made of weighted sums."),
        maths=(
            f"{sized('y', layer.outputs)} = {layer.maths(sized('x', layer.inputs))}",
            f"y_j = sum_(i=0)^({layer.inputs - 1}) x_i {entry}{bias}, "
            f"quad j = {indices(layer.outputs)}",
        ),
        terms=(
            Term("x", "input vector of one position", shape_text((layer.inputs,))),
            *layer.terms("this layer"),
            Term("y", "output vector of that position", shape_text((layer.outputs,))),
        ),
        notes=tuple(notes),
        source="torch.nn.Linear"
        if layer.transposed
        else "Conv1D of transformers, after the code of Radford et al. 2018",
    )


def dropout(view: ModuleView) -> Formula:
    """Dropout (Srivastava et al. 2014, section 4), scaled while training as torch does."""
    chance = view.attribute("p")
    p = f"{chance:g}" if isinstance(chance, float | int) else None
    return Formula(
        title="Dropout",
        summary="Randomly sets elements to 0 during training; has no effect in evaluation mode.",
        maths=(
            'y = x quad "in evaluation"',
            'y_i = m_i / (1 - p) x_i, quad m_i tilde op("Bernoulli")(1 - p) quad "in training"',
        ),
        terms=(
            Term("p", "probability that an element is dropped", p),
            Term("m_i", "1 if the element is kept, 0 if it is dropped"),
        ),
        notes=(
            "All figures here are for evaluation mode, where dropout is the identity.",
            "PyTorch scales the kept elements by 1 / (1 − p) during training, so that no scaling "
            "is needed afterwards.",
            NO_PARAMETERS,
        ),
        config_keys=_dropout_keys(view, chance),
        source="Srivastava et al. 2014, section 4",
    )


def identity(view: ModuleView) -> Formula:
    """A place holder that hands its input on."""
    return Formula(
        title="Identity",
        summary="Returns its input unchanged; it is a placeholder for a step that is not used.",
        maths=("y = x",),
        terms=(Term("x", "the input"),),
        notes=(NO_PARAMETERS,),
        source="torch.nn.Identity",
    )


def loss(view: ModuleView) -> Formula:
    """Cross entropy as torch.nn.CrossEntropyLoss computes it with its defaults."""
    return Formula(
        title="Cross-entropy loss",
        summary="Measures, during training, how little probability the scores assign to the "
        "correct answers; a normal forward pass does not call it.",
        maths=("cal(L) = -1/n sum_(i=0)^(n-1) log (e^(z_(i, y_i))) / (sum_c e^(z_(i, c)))",),
        terms=(
            Term("z_(i, c)", "score of class c for item i"),
            Term("y_i", "correct class of item i"),
            Term("n", "number of labelled items"),
        ),
        notes=(NO_PARAMETERS, "Items labelled −100 are ignored."),
        source="torch.nn.CrossEntropyLoss",
    )


def _dropout_keys(view: ModuleView, chance: Scalar) -> tuple[str, ...]:
    """Return the keys that can have set this dropout: those of its place with its value."""
    choice = use_of(view, DROPOUT_PLACES, "dropout")
    if choice == "dropout" and view.node.depth == 1:
        choice = "head dropout"
    return tuple(key for key in view.keys(choice) if view.config[key] == chance)
