"""Functions applied to each number by itself, and the name each goes by inside other formulas."""

from bertviewer.core.families.module_kind import ModuleKind
from bertviewer.core.formulas.formula import Formula, Term
from bertviewer.core.formulas.module_view import ModuleView
from bertviewer.core.formulas.notation import GELU_TANH

_OPERATORS = {
    ModuleKind.EXACT_GELU: 'op("GELU")',
    ModuleKind.TANH_GELU: GELU_TANH,
    ModuleKind.QUICK_GELU: 'op("QuickGELU")',
    ModuleKind.RELU: 'op("ReLU")',
    ModuleKind.SILU: 'op("SiLU")',
    ModuleKind.TANH: "tanh",
}

# As transformers.activations.ACT2FN reads them.
_NAMES = {
    "gelu": 'op("GELU")',
    "gelu_new": GELU_TANH,
    "gelu_pytorch_tanh": GELU_TANH,
    "relu": 'op("ReLU")',
    "silu": 'op("SiLU")',
    "tanh": "tanh",
}

ACTIVATION_MEANINGS = {
    'op("GELU")': "the activation function: exact GELU, x times Φ(x)",
    GELU_TANH: "the activation function: GELU in its tanh form",
    'op("QuickGELU")': "the activation function: GELU in its sigmoid form",
    'op("ReLU")': "the activation function: max(0, x)",
    'op("SiLU")': "the activation function: x times its sigmoid",
    "tanh": "the activation function: hyperbolic tangent",
    "phi": "the activation function that this module was built with",
}

_INPUT = Term("x", "one number of the input; all are treated alike, on their own")


def operator_of(view: ModuleView, child: str) -> str:
    """Return the operator for the activation module ``child`` of ``view``."""
    kind = view.kind_below(child)
    if kind is ModuleKind.TORCH_GELU:
        return _torch_gelu(view.below(child))
    return "phi" if kind is None else _OPERATORS.get(kind, "phi")


def operator_named(name: str) -> str:
    """Return the operator for a configuration's name of an activation."""
    return _NAMES.get(name, "phi")


def torch_gelu(view: ModuleView) -> Formula:
    """torch.nn.GELU, which may ask for the tanh form."""
    return gelu_tanh(view) if _torch_gelu(view) == GELU_TANH else gelu(view)


def gelu(view: ModuleView) -> Formula:
    """Exact GELU (Hendrycks & Gimpel 2016, section 2)."""
    return Formula(
        title="GELU, exact",
        summary="A smooth gate: each number is weighted by how likely a standard normal "
        "variable is to be smaller than it.",
        maths=('op("GELU")(x) = x Phi(x) = x/2 (1 + op("erf")(x / sqrt(2)))',),
        terms=(
            _INPUT,
            Term("Phi", "distribution function of the standard normal distribution"),
            Term('op("erf")', "Gauss error function"),
        ),
        notes=(
            "This is the exact form, with erf. The tanh form seen elsewhere approximates it; the "
            "two differ by less than 0.001.",
            "Large positive numbers pass unchanged and large negative ones become 0, as with ReLU, "
            "but the bend is smooth and the lowest value is about −0.17, near x = −0.75.",
            "It has no parameters.",
        ),
        config_keys=view.keys("activation"),
        source="Hendrycks & Gimpel 2016, section 2",
    )


def gelu_tanh(view: ModuleView) -> Formula:
    """GELU by tanh (Hendrycks & Gimpel 2016, section 2, the approximation)."""
    return Formula(
        title="GELU, tanh form",
        summary="A smooth gate: the exact GELU, approximated with tanh.",
        maths=(f"{GELU_TANH}(x) = x/2 (1 + tanh(sqrt(2 / pi) (x + 0.044715 x^3)))",),
        terms=(_INPUT,),
        notes=(
            "The tanh stands in for the error function of the exact form, x·Φ(x); the two differ "
            "by less than 0.001.",
            "GPT-2 and ALBERT were trained with this form, BERT in transformers with the exact "
            "one; a model keeps the one that it was trained with.",
            "It has no parameters.",
        ),
        config_keys=view.keys("activation"),
        source="Hendrycks & Gimpel 2016, section 2",
    )


def clipped_gelu(view: ModuleView) -> Formula:
    """Exact GELU, cut off at both ends (transformers' "gelu_10", for small integer types)."""
    low, high = view.attribute("min"), view.attribute("max")
    return Formula(
        title="GELU, clipped",
        summary="A smooth gate: the exact GELU, cut off below and above.",
        maths=(
            'y = min(max(op("GELU")(x), a), b), quad '
            f'op("GELU")(x) = x Phi(x), quad a = {low}, quad b = {high}',
        ),
        terms=(
            _INPUT,
            Term("a", "lowest value", str(low)),
            Term("b", "highest value", str(high)),
            Term("Phi", "distribution function of the standard normal distribution"),
        ),
        notes=("The bounds keep numbers in the range of small types.", "It has no parameters."),
        config_keys=view.keys("activation"),
        source="Hendrycks & Gimpel 2016, section 2; bounds: Wu et al. 2020",
    )


def quick_gelu(view: ModuleView) -> Formula:
    """GELU by a sigmoid (Hendrycks & Gimpel 2016, section 2)."""
    return Formula(
        title="GELU, sigmoid form",
        summary="A smooth gate: the exact GELU, approximated with a sigmoid.",
        maths=('op("QuickGELU")(x) = x sigma(1.702 x), quad sigma(z) = 1 / (1 + e^(-z))',),
        terms=(_INPUT, Term("sigma", "the logistic sigmoid")),
        notes=("It is cheaper than the tanh form and less accurate.", "It has no parameters."),
        config_keys=view.keys("activation"),
        source="Hendrycks & Gimpel 2016, section 2",
    )


def relu(view: ModuleView) -> Formula:
    """ReLU (Nair & Hinton 2010)."""
    return Formula(
        title="ReLU",
        summary="Keeps what is positive and sets the rest to 0.",
        maths=('op("ReLU")(x) = max(0, x)',),
        terms=(_INPUT,),
        notes=("Its slope is 1 above 0 and 0 below.", "It has no parameters."),
        config_keys=view.keys("activation"),
        source="Nair & Hinton 2010; Vaswani et al. 2017, section 3.3",
    )


def silu(view: ModuleView) -> Formula:
    """SiLU, also called swish (Hendrycks & Gimpel 2016; Elfwing et al. 2018)."""
    return Formula(
        title="SiLU",
        summary="A smooth gate: each number is weighted by its own sigmoid.",
        maths=('op("SiLU")(x) = x sigma(x), quad sigma(z) = 1 / (1 + e^(-z))',),
        terms=(_INPUT, Term("sigma", "the logistic sigmoid")),
        notes=("Also known as swish.", "It has no parameters."),
        config_keys=view.keys("activation"),
        source="Elfwing et al. 2018; Hendrycks & Gimpel 2016",
    )


def tanh(view: ModuleView) -> Formula:
    """Hyperbolic tangent."""
    return Formula(
        title="Hyperbolic tangent",
        summary="Squeezes each number into the range from −1 to 1.",
        maths=("tanh(x) = (e^x - e^(-x)) / (e^x + e^(-x))",),
        terms=(_INPUT,),
        notes=(
            "Close to 0 it changes little; far from 0 it flattens, and outputs near −1 or 1 "
            "carry little gradient.",
            "It has no parameters.",
        ),
        config_keys=(),
        source="Elementary function, as computed by torch.nn.Tanh",
    )


def sigmoid(view: ModuleView) -> Formula:
    """The logistic function."""
    return Formula(
        title="Logistic function",
        summary="Squeezes each number into the range from 0 to 1.",
        maths=("sigma(x) = 1 / (1 + e^(-x))",),
        terms=(_INPUT,),
        notes=("It has no parameters.",),
        config_keys=(),
        source="Elementary function, as computed by torch.nn.Sigmoid",
    )


def _torch_gelu(view: ModuleView) -> str:
    """Return the operator of torch.nn.GELU, whose form is an attribute."""
    return GELU_TANH if view.attribute("approximate") == "tanh" else 'op("GELU")'
