"""A module's forward formula as plain data, and pieces of Typst mathematics that formulas share."""

import json

from msgspec import Struct

from bertviewer.core.expressions.symbols import shape_text


class Term(Struct, frozen=True):
    """One symbol of a formula, explained.

    ``symbol`` is Typst mathematics; ``meaning`` and ``value`` are plain text. ``value`` is this
    module's number or shape, ``None`` for data.
    """

    symbol: str
    meaning: str
    value: str | None = None


class Formula(Struct, frozen=True):
    """The forward computation of one module in evaluation mode.

    ``maths`` are display lines of Typst mathematics without dollar signs; other texts are plain.
    ``config_keys`` are the keys of the configuration that affect the module; ``source`` is the
    paper and section, or the code, that the formula follows.
    """

    title: str
    summary: str
    maths: tuple[str, ...]
    terms: tuple[Term, ...]
    source: str
    notes: tuple[str, ...] = ()
    config_keys: tuple[str, ...] = ()


LAYER_NORM = 'op("LayerNorm")'
RMS_NORM = 'op("RMSNorm")'
ROTATION = 'op("RoPE")'
SOFTMAX = 'op("softmax")'
GROUP = 'op("group")'
SIGMOID = 'op("sigmoid")'

# Typst reads a parenthesis right after a subscript as part of it, so the index is inside op().
GELU_TANH = 'op("GELU"_"tanh")'
TOKENS = Term("S", "number of tokens (the batch dimension is omitted)")
POSITIONS = Term("S", "number of positions (the batch dimension is omitted)")
NO_PARAMETERS = "It has no parameters."
TARGET = Term("S_d", "number of target tokens (the batch dimension is omitted)")


def sized(symbol: str, *dimensions: int | str) -> str:
    """Return ``symbol`` with its dimensions set below it."""
    return f"limits({symbol})_({' times '.join(str(size) for size in dimensions)})"


def quoted(text: str) -> str:
    """Return any text as a Typst string, which is set upright."""
    plain = "".join(letter if letter.isprintable() else "�" for letter in text)
    return json.dumps(plain, ensure_ascii=False)


def number_maths(value: float) -> str:
    """Return a number, with a power of ten if it is small or large."""
    mantissa, _, exponent = f"{value:g}".partition("e")
    if not exponent:
        return mantissa
    power = f"10^({int(exponent)})"
    return power if mantissa == "1" else f"{mantissa} times {power}"


def listing(pattern: str, count: int) -> str:
    """Return ``pattern`` for 0 to ``count`` - 1, abbreviated: ``O_0, dots, O_11``."""
    first, last = pattern.format(0), pattern.format(count - 1)
    if count <= 2:
        return first if count == 1 else f"{first}, {last}"
    return f"{first}, dots, {last}"


def indices(count: int) -> str:
    """Return the indices 0 to ``count`` - 1: ``0, dots, 11``."""
    return listing("{}", count)


class Affine(Struct, frozen=True):
    """A linear layer with the shape of its weight.

    torch.nn.Linear stores [out, in] and computes x Wᵀ + b. GPT-2's Conv1D stores [in, out] and
    computes x W + b; there ``transposed`` is false. A convolution with kernel size 1 is a linear
    layer as well, perhaps in groups; ``convolution`` is its name.
    """

    shape: tuple[int, ...]
    bias: bool
    transposed: bool = True
    convolution: str = ""

    @property
    def inputs(self) -> int:
        """The number of input features."""
        return self.shape[1] if self.transposed else self.shape[0]

    @property
    def outputs(self) -> int:
        """The number of output features."""
        return self.shape[0] if self.transposed else self.shape[1]

    def maths(self, argument: str, index: str = "", *, sizes: bool = True) -> str:
        """Return the layer applied to ``argument``, with the tensors' ``sizes`` below them."""
        suffix = f"_{index}" if index else ""
        if self.convolution:
            return f'op("Conv"){suffix} ({argument})'
        weight = f"W{suffix}^top" if self.transposed else f"W{suffix}"
        bias = f"b{suffix}"
        if sizes:
            weight = sized(weight, self.inputs, self.outputs)
            bias = sized(bias, self.outputs)
        # Sizes are wider than symbols.
        product = f"{argument} {'thick' if sizes else ''} {weight}"
        return f"{product} + {bias}" if self.bias else product

    def terms(self, use: str, index: str = "") -> tuple[Term, ...]:
        """Return the terms of weight and bias; ``use`` describes the layer."""
        suffix = f"_{index}" if index else ""
        if self.convolution:
            meaning = f"the convolution “{self.convolution}”, over one position at a time"
            return (Term(f'op("Conv"){suffix}', meaning, shape_text(self.shape)),)
        order = "[out, in]" if self.transposed else "[in, out]"
        weight = Term(f"W{suffix}", f"weight of {use}, stored {order}", shape_text(self.shape))
        bias = Term(f"b{suffix}", f"bias of {use}", shape_text((self.outputs,)))
        return (weight, bias) if self.bias else (weight,)
