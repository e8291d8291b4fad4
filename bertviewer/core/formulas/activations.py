"""Functions applied to each number by itself, and the name each goes by inside other formulas."""

from collections.abc import Callable

from bertviewer.core.families.module_kind import ModuleKind
from bertviewer.core.formulas.formula import Formula, Term
from bertviewer.core.formulas.module_view import ModuleView
from bertviewer.core.formulas.notation import GELU_TANH, NO_PARAMETERS

GELU = 'op("GELU")'

_OPERATORS = {
    ModuleKind.EXACT_GELU: GELU,
    ModuleKind.TANH_GELU: GELU_TANH,
    ModuleKind.QUICK_GELU: 'op("QuickGELU")',
    ModuleKind.RELU: 'op("ReLU")',
    ModuleKind.SILU: 'op("SiLU")',
    ModuleKind.TANH: "tanh",
}

# As transformers.activations.ACT2FN reads them.
_NAMES = {
    "gelu": GELU,
    "gelu_new": GELU_TANH,
    "gelu_pytorch_tanh": GELU_TANH,
    "relu": 'op("ReLU")',
    "silu": 'op("SiLU")',
    "tanh": "tanh",
}

_SIGMOID = Term("sigma", "the logistic sigmoid")
_NORMAL = Term("Phi", "cumulative distribution function of the standard normal distribution")

ACTIVATION_MEANINGS = {
    GELU: "the activation function: exact GELU, x times Φ(x)",
    GELU_TANH: "the activation function: tanh approximation of GELU",
    'op("QuickGELU")': "the activation function: sigmoid approximation of GELU",
    'op("ReLU")': "the activation function: max(0, x)",
    'op("SiLU")': "the activation function: x times its sigmoid",
    "tanh": "the activation function: hyperbolic tangent",
    "phi": "the activation function this module was built with",
}

_INPUT = Term("x", "one element of the input; the function is applied to each element")


def operator_of(view: ModuleView, child: str, otherwise: str = "phi") -> str:
    """Return the operator for the activation module ``child``, ``otherwise`` if there is none."""
    if child not in view.children:
        return otherwise
    kind = view.kind_below(child)
    if kind is ModuleKind.TORCH_GELU:
        return _torch_gelu(view.below(child))
    return "phi" if kind is None else _OPERATORS.get(kind, "phi")


def operator_named(name: str) -> str:
    """Return the operator for a configuration's name of an activation."""
    return _NAMES.get(name, "phi")


def _activation(
    title: str,
    summary: str,
    maths: str,
    source: str,
    *notes: str,
    terms: tuple[Term, ...] = (),
    is_chosen: bool = True,
) -> Callable[[ModuleView], Formula]:
    """Return what writes the formula of a function; a configuration names it if it is chosen."""
    return lambda view: Formula(
        title=title,
        summary=summary,
        maths=(maths,),
        terms=(_INPUT, *terms),
        notes=(*notes, NO_PARAMETERS),
        config_keys=view.keys("activation") if is_chosen else (),
        source=source,
    )


gelu = _activation(
    "GELU, exact",
    "A smooth gate: each element is multiplied by the probability that a standard normal variable "
    "is smaller than it.",
    'op("GELU")(x) = x Phi(x) = x/2 (1 + op("erf")(x / sqrt(2)))',
    "Hendrycks & Gimpel 2016, section 2",
    "This is the exact form, computed with erf. The tanh form used elsewhere approximates it; the "
    "two differ by less than 0.001.",
    "Large positive values pass unchanged and large negative values become 0, as with ReLU, but "
    "the transition is smooth and the minimum is about −0.17, near x = −0.75.",
    terms=(_NORMAL, Term('op("erf")', "Gauss error function")),
)
gelu_tanh = _activation(
    "GELU, tanh form",
    "A smooth gate: the exact GELU, approximated with tanh.",
    f"{GELU_TANH}(x) = x/2 (1 + tanh(sqrt(2 / pi) (x + 0.044715 x^3)))",
    "Hendrycks & Gimpel 2016, section 2",
    "The tanh replaces the error function of the exact form, x·Φ(x); the two differ by less than "
    "0.001.",
    "GPT-2 and ALBERT were trained with this form, BERT in transformers with the exact form; a "
    "model keeps the form that it was trained with.",
)
quick_gelu = _activation(
    "GELU, sigmoid form",
    "A smooth gate: the exact GELU, approximated with a sigmoid.",
    'op("QuickGELU")(x) = x sigma(1.702 x), quad sigma(z) = 1 / (1 + e^(-z))',
    "Hendrycks & Gimpel 2016, section 2",
    "It is cheaper but less accurate than the tanh form.",
    terms=(_SIGMOID,),
)
relu = _activation(
    "ReLU",
    "Keeps positive elements and sets all others to 0.",
    'op("ReLU")(x) = max(0, x)',
    "Nair & Hinton 2010; Vaswani et al. 2017, section 3.3",
    "Its slope is 1 above 0 and 0 below.",
)
silu = _activation(
    "SiLU",
    "A smooth gate: each element is multiplied by its own sigmoid.",
    'op("SiLU")(x) = x sigma(x), quad sigma(z) = 1 / (1 + e^(-z))',
    "Elfwing et al. 2018; Hendrycks & Gimpel 2016",
    "Also known as Swish.",
    terms=(_SIGMOID,),
)
tanh = _activation(
    "Hyperbolic tangent",
    "Maps each element to the range from −1 to 1.",
    "tanh(x) = (e^x - e^(-x)) / (e^x + e^(-x))",
    "Elementary function, as computed by torch.nn.Tanh",
    "Near 0 it changes little; far from 0 it saturates, and where the output is near −1 or 1 the "
    "gradient is small.",
    is_chosen=False,
)
sigmoid = _activation(
    "Logistic function",
    "Maps each element to the range from 0 to 1.",
    "sigma(x) = 1 / (1 + e^(-x))",
    "Elementary function, as computed by torch.nn.Sigmoid",
    is_chosen=False,
)


def torch_gelu(view: ModuleView) -> Formula:
    """torch.nn.GELU, which may ask for the tanh form."""
    return gelu_tanh(view) if _torch_gelu(view) == GELU_TANH else gelu(view)


def clipped_gelu(view: ModuleView) -> Formula:
    """Exact GELU, cut off at both ends (transformers' "gelu_10", for small integer types)."""
    low, high = view.attribute("min"), view.attribute("max")
    return _activation(
        "GELU, clipped",
        "A smooth gate: the exact GELU, clipped below and above.",
        f'y = min(max(op("GELU")(x), a), b), quad op("GELU")(x) = x Phi(x), quad a = {low}, quad '
        f"b = {high}",
        "Hendrycks & Gimpel 2016, section 2; bounds: Wu et al. 2020",
        "The bounds keep values within the range of low-precision number formats.",
        terms=(Term("a", "lower bound", str(low)), Term("b", "upper bound", str(high)), _NORMAL),
    )(view)


def _torch_gelu(view: ModuleView) -> str:
    """Return the operator of torch.nn.GELU, whose form is an attribute."""
    return GELU_TANH if view.attribute("approximate") == "tanh" else GELU
