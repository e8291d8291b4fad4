"""Activations, and torch's modules without weights: dropout, identity, loss, containers.

torch's modules of the second kind leave nothing in the graph of a forward pass in evaluation mode,
so they are recognised by torch's classes.
"""

import re
from collections.abc import Callable, Mapping

from msgspec import Struct

from bertviewer.core.formulas.formula import (
    GELU_TANH,
    NO_PARAMETERS,
    SIGMOID,
    Term,
    listing,
    quoted,
)
from bertviewer.core.formulas.module_view import ModuleView
from bertviewer.core.formulas.template import Match, Template
from bertviewer.core.graph.module_graph import Step
from bertviewer.core.util.numbers import count_text

_INPUT = Term(
    "italic(x)", "one element of the input; the function is applied to each element separately"
)
_SIGMOID = Term(SIGMOID, "logistic sigmoid")
_SIGMOID_LINE = f"quad {SIGMOID}(x) = 1 / (1 + upright(e)^(-x))"
_SCALAR = re.compile(r"\bx\b")
_NORMAL = Term("Phi", "cumulative distribution function of the standard normal distribution")


class Activation(Struct, frozen=True):
    """A function of one number: symbol and meaning in other formulas, and its own formula."""

    operator: str
    meaning: str
    title: str
    summary: str
    maths: str
    source: str
    notes: tuple[str, ...] = ()
    terms: tuple[Term, ...] = ()


ACTIVATIONS: Mapping[str, Activation] = {
    "GELU": Activation(
        'op("GELU")',
        "exact GELU, x times Φ(x)",
        "GELU, exact",
        "A smooth gate: each element is multiplied by the probability that a standard normal "
        "variable is smaller than it.",
        'op("GELU")(x) = x Phi(x) = x/2 (1 + op("erf")(x / sqrt(2)))',
        "Hendrycks & Gimpel 2016, section 2",
        (
            "This is the exact form, computed with erf. The tanh form used elsewhere approximates "
            "it; the two differ by less than 0.001.",
            "Large positive values pass unchanged and large negative values become 0, as with "
            "ReLU, but the transition is smooth and the minimum is about −0.17, near x = −0.75.",
        ),
        (_NORMAL, Term('op("erf")', "Gauss error function")),
    ),
    "GELU (tanh)": Activation(
        GELU_TANH,
        "tanh approximation of GELU",
        "GELU, tanh form",
        "A smooth gate: the exact GELU, approximated with tanh.",
        f"{GELU_TANH}(x) = x/2 (1 + tanh(sqrt(2 / pi) (x + 0.044715 x^3)))",
        "Hendrycks & Gimpel 2016, section 2",
        (
            "The tanh replaces the error function of the exact form, x·Φ(x); the two differ by "
            "less than 0.001.",
            "GPT-2 and ALBERT were trained with this form, BERT in transformers with the exact "
            "form; a model keeps the form that it was trained with.",
        ),
    ),
    "quick GELU": Activation(
        'op("QuickGELU")',
        "sigmoid approximation of GELU",
        "GELU, sigmoid form",
        "A smooth gate: the exact GELU, approximated with a sigmoid.",
        f'op("QuickGELU")(x) = x {SIGMOID}(1.702 x), {_SIGMOID_LINE}',
        "Hendrycks & Gimpel 2016, section 2",
        ("It is cheaper but less accurate than the tanh form.",),
        (_SIGMOID,),
    ),
    "clipped GELU": Activation(
        'op("ClippedGELU")',
        "exact GELU, clipped to −10 and 10",
        "GELU, clipped",
        "A smooth gate: the exact GELU, clipped below and above.",
        'op("ClippedGELU")(x) = min(max(op("GELU")(x), -10), 10), quad op("GELU")(x) = x Phi(x)',
        "Hendrycks & Gimpel 2016, section 2; bounds: Wu et al. 2020",
        ("The bounds keep values within the range of low-precision number formats.",),
        (_NORMAL,),
    ),
    "ReLU": Activation(
        'op("ReLU")',
        "max(0, x)",
        "ReLU",
        "Keeps positive elements and sets all others to 0.",
        'op("ReLU")(x) = max(0, x)',
        "Nair & Hinton 2010; Vaswani et al. 2017, section 3.3",
        ("Its slope is 1 above 0 and 0 below.",),
    ),
    "ReLU²": Activation(
        'op("ReLU"^2)',
        "the square of max(0, x)",
        "Squared ReLU",
        "Squares positive elements and sets all others to 0.",
        'op("ReLU"^2)(x) = max(0, x)^2',
        "So et al. 2021, section 3.1",
        ("Unlike ReLU, it has no kink at 0: its slope there is 0 on both sides.",),
    ),
    "SiLU": Activation(
        'op("SiLU")',
        "x times its sigmoid",
        "SiLU",
        "A smooth gate: each element is multiplied by its own sigmoid.",
        f'op("SiLU")(x) = x {SIGMOID}(x), {_SIGMOID_LINE}',
        "Elfwing et al. 2018; Hendrycks & Gimpel 2016",
        ("Also known as Swish.",),
        (_SIGMOID,),
    ),
    "Mish": Activation(
        'op("Mish")',
        "x times tanh of its softplus",
        "Mish",
        "A smooth gate: each element is multiplied by the tanh of its softplus.",
        'op("Mish")(x) = x tanh(log(1 + upright(e)^x))',
        "Misra 2020, section 2",
    ),
    "softplus": Activation(
        'op("softplus")',
        "log(1 + eˣ), a smooth ReLU",
        "Softplus",
        "Maps each element to a positive number; far from 0 it is close to ReLU.",
        'op("softplus")(x) = log(1 + upright(e)^x)',
        "Dugas et al. 2001; torch.nn.Softplus",
    ),
    "tanh": Activation(
        "tanh",
        "hyperbolic tangent",
        "Hyperbolic tangent",
        "Maps each element to the range from −1 to 1.",
        "tanh(x) = (upright(e)^x - upright(e)^(-x)) / (upright(e)^x + upright(e)^(-x))",
        "Elementary function, as computed by torch.nn.Tanh",
        (
            "Near 0 it changes little; far from 0 it saturates, and where the output is near −1 "
            "or 1 the gradient is small.",
        ),
    ),
    "sigmoid": Activation(
        SIGMOID,
        "logistic sigmoid",
        "Logistic function",
        "Maps each element to the range from 0 to 1.",
        f"{SIGMOID}(x) = 1 / (1 + upright(e)^(-x))",
        "Elementary function, as computed by torch.nn.Sigmoid",
    ),
}
"""The activations with a text, by their names in the graph."""

FUNCTIONS = {"silu": "SiLU", "relu": "ReLU", "gelu": "GELU", "tanh": "tanh", "sigmoid": "sigmoid"}
"""Names in the graph by names of torch's functions."""

_FIXED = ("softplus", "tanh", "sigmoid")
"""Activations that no key of a configuration chooses."""


def _name(step: Step) -> str:
    # Within experts the graph has torch's functions.
    found = step.node.details.get("activation") or FUNCTIONS.get(step.operation)
    return str(found or step.node.name)


def activation_term(step: Step) -> Term:
    """Return the term that explains an activation's operator."""
    known = ACTIVATIONS.get(_name(step))
    if known is None:
        return Term(f"op({quoted(_name(step))})", "the activation function")
    return Term(known.operator, f"the activation function: {known.meaning}")


def _activation(view: ModuleView) -> Match | None:
    """A module that is one activation."""
    step = view.only("activation", *FUNCTIONS)
    name = "" if step is None or view.tensors else _name(step)
    known = ACTIVATIONS.get(name)
    if known is None:
        return None
    values = {"known": known, "notes": [*known.notes, None, None]}
    keys = () if name in _FIXED else view.config_keys("activation")
    maths = _SCALAR.sub("italic(x)", known.maths)
    return Match((maths,), (_INPUT, *known.terms), values, keys)


ACTIVATION = Template(
    "activation",
    _activation,
    title="{known.title}",
    summary="{known.summary}",
    notes=("{notes[0]}", "{notes[1]}", NO_PARAMETERS),
    source="{known.source}",
)


def _of_class(
    name: str, match: Callable[[ModuleView], Match]
) -> Callable[[ModuleView], Match | None]:
    """Return a ``Template.match`` for modules of one class of torch.nn."""
    return lambda view: match(view) if view.is_torch and view.node.class_name == name else None


def _dropout(view: ModuleView) -> Match:
    chance = view.attribute("p")
    shown = f"{chance:g}" if isinstance(chance, float | int) else None
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
                shown,
            ),
            Term("m_i", "1 if the element is kept, 0 if it is dropped"),
        ),
        values={"chance": "" if not shown else f" with probability {shown}"},
        # The keys for its use that have its value.
        keys=tuple(key for key in view.config_keys(choice) if view.config[key] == chance),
    )


def _composition(line: str) -> Callable[[ModuleView], Match]:
    """Return a match function for containers; ``{f}`` are the members in its line."""

    def match(view: ModuleView) -> Match:
        count = len(view.children)
        members = count_text(count, "1 module", "{0} modules")
        first = Term('op("f")_0', "first member; members are counted from 0", members)
        return Match(
            maths=(line.format(f=listing('op("f")_{}', count) if count else "", count=count),),
            terms=(first,) if count else (),
            values={"members": members},
            keys=tuple(k for k in view.config_keys("layers", "groups") if view.config[k] == count),
        )

    return match


_OF_MEMBERS = "It has no parameters besides those of its members."
TORCH_NN = (
    Template(
        "dropout",
        _of_class("Dropout", _dropout),
        title="Dropout",
        summary="Sets each element to 0{chance} during training; has no effect in evaluation mode.",
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
                (
                    "cal(L) = -1/n sum_(i=0)^(n-1) log (upright(e)^(z_(i, y_i))) / "
                    "(sum_k upright(e)^(z_(i, k)))",
                ),
                (
                    Term("z_(i, k)", "score (logit) of class k for item i"),
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
            _composition('X_(l+1) = op("f")_l (X_l), quad (op("f")_l) = ({f}), quad Y = X_{count}'),
        ),
        title="Sequence of modules",
        summary="Runs {members} in order, each on the output of the previous one.",
        notes=(_OF_MEMBERS,),
        source="torch.nn",
    ),
)
