"""torch's modules that a forward pass in evaluation mode skips or only iterates over.

They leave nothing in the graph to recognise, so they are known by torch's own classes.
"""

from collections.abc import Callable

from bertviewer.core.formulas.formula import Term
from bertviewer.core.formulas.module_view import ModuleView
from bertviewer.core.formulas.notation import NO_PARAMETERS, listing
from bertviewer.core.formulas.templates.template import Match, Template
from bertviewer.core.util.numbers import count_text


def _of_class(
    name: str, match: Callable[[ModuleView], Match]
) -> Callable[[ModuleView], Match | None]:
    """Return what recognises modules of one class of torch.nn."""
    return lambda view: match(view) if view.is_torch and view.node.class_name == name else None


def _dropout(view: ModuleView) -> Match:
    chance = view.attribute("p")
    *_, holder, name = ("", *view.node.path.split("."))
    if "embed" in holder or name == "drop":
        choice = "embedding dropout"
    elif "att" in name or (holder in ("self", "attention", "attn") and name == "dropout"):
        choice = "attention dropout"
    elif view.node.depth == 1 or "classifier" in holder:
        choice = "head dropout"
    else:
        choice = "dropout"
    return Match(
        maths=(
            'y = x quad "in evaluation"',
            'y_i = m_i / (1 - p) x_i, quad m_i tilde op("Bernoulli")(1 - p) quad "in training"',
        ),
        terms=(
            Term(
                "p",
                "probability that an element is dropped",
                f"{chance:g}" if isinstance(chance, float | int) else None,
            ),
            Term("m_i", "1 if the element is kept, 0 if it is dropped"),
        ),
        # Those keys of its place that have its value can have set it.
        keys=tuple(key for key in view.keys(choice) if view.config[key] == chance),
    )


def _composition(line: str) -> Callable[[ModuleView], Match]:
    """Return what recognises a container; in its line, ``{f}`` are its members."""

    def match(view: ModuleView) -> Match:
        count = len(view.children)
        members = count_text(count, "1 module", "{0} modules")
        first = Term("f_0", "first member; members are counted from 0", members)
        return Match(
            maths=(line.format(f=listing("f_{}", count) if count else "", count=count),),
            terms=(first,) if count else (),
            values={"members": members},
            keys=tuple(key for key in view.keys("layers", "groups") if view.config[key] == count),
        )

    return match


_OF_MEMBERS = "It has no parameters besides those of its members."

TORCH_NN = (
    Template(
        "dropout",
        _of_class("Dropout", _dropout),
        title="Dropout",
        summary="Randomly sets elements to 0 during training; has no effect in evaluation mode.",
        notes=(
            "All figures here are for evaluation mode, where dropout is the identity.",
            "PyTorch scales the kept elements by 1 / (1 − p) during training, so that no scaling "
            "is needed afterwards.",
            NO_PARAMETERS,
        ),
        source="Srivastava et al. 2014, section 4",
    ),
    Template(
        "identity",
        _of_class("Identity", lambda _view: Match(("y = x",), (Term("x", "the input"),))),
        title="Identity",
        summary="Returns its input unchanged; it is a placeholder for a step that is not used.",
        notes=(NO_PARAMETERS,),
        source="torch.nn.Identity",
    ),
    Template(
        "loss",
        _of_class(
            "CrossEntropyLoss",
            lambda _view: Match(
                ("cal(L) = -1/n sum_(i=0)^(n-1) log (e^(z_(i, y_i))) / (sum_c e^(z_(i, c)))",),
                (
                    Term("z_(i, c)", "score of class c for item i"),
                    Term("y_i", "correct class of item i"),
                    Term("n", "number of labelled items"),
                ),
            ),
        ),
        title="Cross-entropy loss",
        summary="Measures, during training, how little probability the scores assign to the "
        "correct answers; a normal forward pass does not call it.",
        notes=(NO_PARAMETERS, "Items labelled −100 are ignored."),
        source="torch.nn.CrossEntropyLoss",
    ),
    Template(
        "composition",
        _of_class("ModuleList", _composition("({f})")),
        title="List of modules",
        summary="Holds {members}; the enclosing module decides how they are called.",
        notes=(_OF_MEMBERS,),
        source="torch.nn",
    ),
    Template(
        "composition",
        _of_class(
            "Sequential",
            _composition("X_(l+1) = f_l (X_l), quad (f_l) = ({f}), quad Y = X_{count}"),
        ),
        title="Sequence of modules",
        summary="Runs {members} in order, each on the output of the previous one.",
        notes=(_OF_MEMBERS,),
        source="torch.nn",
    ),
)
