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
_NORMAL = Term("Phi", "distribution function of the standard normal distribution")

ACTIVATION_MEANINGS = {
    GELU: "the activation function: exact GELU, x times Φ(x)",
    GELU_TANH: "the activation function: GELU in its tanh form",
    'op("QuickGELU")': "the activation function: GELU in its sigmoid form",
    'op("ReLU")': "the activation function: max(0, x)",
    'op("SiLU")': "the activation function: x times its sigmoid",
    "tanh": "the activation function: hyperbolic tangent",
    "phi": "the activation function that this module was built with",
}

_INPUT = Term("x", "one number of the input; all are treated alike, on their own")


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
    "A smooth gate: each number is weighted by how likely a standard normal variable is to be "
    "smaller than it.",
    'op("GELU")(x) = x Phi(x) = x/2 (1 + op("erf")(x / sqrt(2)))',
    "Hendrycks & Gimpel 2016, section 2",
    "This is the exact form, with erf. The tanh form seen elsewhere approximates it; the two "
    "differ by less than 0.001.",
    "Large positive numbers pass unchanged and large negative ones become 0, as with ReLU, but the "
    "bend is smooth and the lowest value is about −0.17, near x = −0.75.",
    terms=(_NORMAL, Term('op("erf")', "Gauss error function")),
)
gelu_tanh = _activation(
    "GELU, tanh form",
    "A smooth gate: the exact GELU, approximated with tanh.",
    f"{GELU_TANH}(x) = x/2 (1 + tanh(sqrt(2 / pi) (x + 0.044715 x^3)))",
    "Hendrycks & Gimpel 2016, section 2",
    "The tanh stands in for the error function of the exact form, x·Φ(x); the two differ by less "
    "than 0.001.",
    "GPT-2 and ALBERT were trained with this form, BERT in transformers with the exact one; a "
    "model keeps the one that it was trained with.",
)
quick_gelu = _activation(
    "GELU, sigmoid form",
    "A smooth gate: the exact GELU, approximated with a sigmoid.",
    'op("QuickGELU")(x) = x sigma(1.702 x), quad sigma(z) = 1 / (1 + e^(-z))',
    "Hendrycks & Gimpel 2016, section 2",
    "It is cheaper than the tanh form and less accurate.",
    terms=(_SIGMOID,),
)
relu = _activation(
    "ReLU",
    "Keeps what is positive and sets the rest to 0.",
    'op("ReLU")(x) = max(0, x)',
    "Nair & Hinton 2010; Vaswani et al. 2017, section 3.3",
    "Its slope is 1 above 0 and 0 below.",
)
silu = _activation(
    "SiLU",
    "A smooth gate: each number is weighted by its own sigmoid.",
    'op("SiLU")(x) = x sigma(x), quad sigma(z) = 1 / (1 + e^(-z))',
    "Elfwing et al. 2018; Hendrycks & Gimpel 2016",
    "Also known as swish.",
    terms=(_SIGMOID,),
)
tanh = _activation(
    "Hyperbolic tangent",
    "Squeezes each number into the range from −1 to 1.",
    "tanh(x) = (e^x - e^(-x)) / (e^x + e^(-x))",
    "Elementary function, as computed by torch.nn.Tanh",
    "Close to 0 it changes little; far from 0 it flattens, and outputs near −1 or 1 carry little "
    "gradient.",
    is_chosen=False,
)
sigmoid = _activation(
    "Logistic function",
    "Squeezes each number into the range from 0 to 1.",
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
        "A smooth gate: the exact GELU, cut off below and above.",
        f'y = min(max(op("GELU")(x), a), b), quad op("GELU")(x) = x Phi(x), quad a = {low}, quad '
        f"b = {high}",
        "Hendrycks & Gimpel 2016, section 2; bounds: Wu et al. 2020",
        "The bounds keep numbers in the range of small types.",
        terms=(Term("a", "lowest value", str(low)), Term("b", "highest value", str(high)), _NORMAL),
    )(view)


def _torch_gelu(view: ModuleView) -> str:
    """Return the operator of torch.nn.GELU, whose form is an attribute."""
    return GELU_TANH if view.attribute("approximate") == "tanh" else GELU
