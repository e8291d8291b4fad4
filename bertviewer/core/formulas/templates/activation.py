"""Functions applied to each element by itself, and the operator each has in other formulas."""

from collections.abc import Mapping

from msgspec import Struct

from bertviewer.core.formulas.formula import Formula, Term
from bertviewer.core.formulas.module_view import ModuleView
from bertviewer.core.formulas.notation import GELU_TANH, NO_PARAMETERS, quoted
from bertviewer.core.formulas.templates.template import Template
from bertviewer.core.graph.module_graph import Step

_INPUT = Term("x", "one element of the input; the function is applied to each element")
_SIGMOID = Term("sigma", "the logistic sigmoid")
_NORMAL = Term("Phi", "cumulative distribution function of the standard normal distribution")


class Activation(Struct, frozen=True):
    """A function of one number: its symbol and meaning in other formulas, and its own formula."""

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
        'op("QuickGELU")(x) = x sigma(1.702 x), quad sigma(z) = 1 / (1 + e^(-z))',
        "Hendrycks & Gimpel 2016, section 2",
        ("It is cheaper but less accurate than the tanh form.",),
        (_SIGMOID,),
    ),
    "clipped GELU": Activation(
        'op("ClippedGELU")',
        "exact GELU, clipped to −10 and 10",
        "GELU, clipped",
        "A smooth gate: the exact GELU, clipped below and above.",
        'y = min(max(op("GELU")(x), a), b), quad op("GELU")(x) = x Phi(x), quad a = -10, quad '
        "b = 10",
        "Hendrycks & Gimpel 2016, section 2; bounds: Wu et al. 2020",
        ("The bounds keep values within the range of low-precision number formats.",),
        (Term("a", "lower bound", "-10"), Term("b", "upper bound", "10"), _NORMAL),
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
        'op("SiLU")(x) = x sigma(x), quad sigma(z) = 1 / (1 + e^(-z))',
        "Elfwing et al. 2018; Hendrycks & Gimpel 2016",
        ("Also known as Swish.",),
        (_SIGMOID,),
    ),
    "Mish": Activation(
        'op("Mish")',
        "x times tanh of its softplus",
        "Mish",
        "A smooth gate: each element is multiplied by the tanh of its softplus.",
        'op("Mish")(x) = x tanh(log(1 + e^x))',
        "Misra 2020, section 2",
    ),
    "softplus": Activation(
        'op("softplus")',
        "log(1 + eˣ), a smooth ReLU",
        "Softplus",
        "Maps each element to a positive number; far from 0 it is close to ReLU.",
        'op("softplus")(x) = log(1 + e^x)',
        "Dugas et al. 2001; torch.nn.Softplus",
    ),
    "tanh": Activation(
        "tanh",
        "hyperbolic tangent",
        "Hyperbolic tangent",
        "Maps each element to the range from −1 to 1.",
        "tanh(x) = (e^x - e^(-x)) / (e^x + e^(-x))",
        "Elementary function, as computed by torch.nn.Tanh",
        (
            "Near 0 it changes little; far from 0 it saturates, and where the output is near −1 "
            "or 1 the gradient is small.",
        ),
    ),
    "sigmoid": Activation(
        "sigma",
        "the logistic sigmoid",
        "Logistic function",
        "Maps each element to the range from 0 to 1.",
        "sigma(x) = 1 / (1 + e^(-x))",
        "Elementary function, as computed by torch.nn.Sigmoid",
    ),
}
"""The activations with a text, by the names that the graph gives them."""

FUNCTIONS = {"silu": "SiLU", "relu": "ReLU", "gelu": "GELU", "tanh": "tanh", "sigmoid": "sigmoid"}
"""The same by the names of torch's functions."""
_FIXED = ("softplus", "tanh", "sigmoid")
"""Activations that no key of a configuration chooses."""


def _name(step: Step) -> str:
    # Within experts, the graph has torch's function.
    found = step.node.details.get("activation") or FUNCTIONS.get(step.operation)
    return str(found or step.node.name)


def activation_term(step: Step) -> Term:
    """Return the term that explains an activation's operator."""
    known = ACTIVATIONS.get(_name(step))
    if known is None:
        return Term(f"op({quoted(_name(step))})", "the activation function")
    return Term(known.operator, f"the activation function: {known.meaning}")


def _formula(view: ModuleView) -> Formula | None:
    """The formula of a module that is one activation."""
    step = view.only("activation", *FUNCTIONS)
    name = "" if step is None or view.tensors else _name(step)
    known = ACTIVATIONS.get(name)
    if known is None:
        return None
    return Formula(
        title=known.title,
        summary=known.summary,
        maths=(known.maths,),
        terms=(_INPUT, *known.terms),
        notes=(*known.notes, NO_PARAMETERS),
        config_keys=() if name in _FIXED else view.keys("activation"),
        source=known.source,
    )


ACTIVATION = Template("activation", _formula)
