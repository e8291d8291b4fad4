"""torch's modules that a forward pass in evaluation mode skips or only iterates over.

They leave nothing in the graph to recognise, so they are known by torch's own classes.
"""

from collections.abc import Callable

from bertviewer.core.formulas.formula import Formula, Term
from bertviewer.core.formulas.module_view import ModuleView
from bertviewer.core.formulas.notation import NO_PARAMETERS, listing
from bertviewer.core.formulas.templates.template import Template
from bertviewer.core.text.numerals import count_text


def _of_class(
    name: str, build: Callable[[ModuleView], Formula]
) -> Callable[[ModuleView], Formula | None]:
    """Return what builds the formula of modules of one class of torch.nn."""

    def formula(view: ModuleView) -> Formula | None:
        is_torch = view.node.class_module.startswith("torch.nn.modules.")
        return build(view) if is_torch and view.node.class_name == name else None

    return formula


def _dropout(view: ModuleView) -> Formula:
    """Dropout (Srivastava et al. 2014, section 4), scaled during training as torch does."""
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
        config_keys=_dropout_keys(view),
        source="Srivastava et al. 2014, section 4",
    )


def _dropout_keys(view: ModuleView) -> tuple[str, ...]:
    """Return the keys that can have set this dropout: those of its place with its value."""
    *_, holder, name = ("", *view.node.path.split("."))
    if "embed" in holder or name == "drop":
        choice = "embedding dropout"
    elif "att" in name or (holder in ("self", "attention", "attn") and name == "dropout"):
        choice = "attention dropout"
    elif view.node.depth == 1 or "classifier" in holder:
        choice = "head dropout"
    else:
        choice = "dropout"
    return tuple(key for key in view.keys(choice) if view.config[key] == view.attribute("p"))


def _identity(_view: ModuleView) -> Formula:
    return Formula(
        title="Identity",
        summary="Returns its input unchanged; it is a placeholder for a step that is not used.",
        maths=("y = x",),
        terms=(Term("x", "the input"),),
        notes=(NO_PARAMETERS,),
        source="torch.nn.Identity",
    )


def _cross_entropy(_view: ModuleView) -> Formula:
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


def _module_list(view: ModuleView) -> Formula:
    return _composition(
        view,
        title="List of modules",
        summary="Holds {}; the enclosing module decides how they are called.",
        maths="({})",
    )


def _sequential(view: ModuleView) -> Formula:
    return _composition(
        view,
        title="Sequence of modules",
        summary="Runs {} in order, each on the output of the previous one.",
        maths=f"X_(l+1) = f_l (X_l), quad (f_l) = ({{}}), quad Y = X_{len(view.children)}",
    )


def _composition(view: ModuleView, *, title: str, summary: str, maths: str) -> Formula:
    """Return the formula of a container; ``{}`` is its members, in words or as symbols."""
    count = len(view.children)
    members = count_text(count, "1 module", "{0} modules")
    return Formula(
        title=title,
        summary=summary.format(members),
        maths=(maths.format(listing("f_{}", count) if count else ""),),
        terms=(Term("f_0", "first member; members are counted from 0", members),) if count else (),
        notes=("It has no parameters besides those of its members.",),
        config_keys=tuple(
            key for key in view.keys("layers", "groups") if view.config[key] == count
        ),
        source="torch.nn",
    )


TORCH_NN = (
    Template("dropout", _of_class("Dropout", _dropout)),
    Template("identity", _of_class("Identity", _identity)),
    Template("loss", _of_class("CrossEntropyLoss", _cross_entropy)),
    Template("composition", _of_class("ModuleList", _module_list)),
    Template("composition", _of_class("Sequential", _sequential)),
)
