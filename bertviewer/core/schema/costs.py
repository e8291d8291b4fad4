"""Formulas of a forward pass's costs, with values: multiply-adds, shapes, activations, KV cache.

For B sequences of S tokens. ``core.symbolic`` derives them; evaluating them needs no model.
"""

from collections.abc import Mapping
from typing import Any

from msgspec import Struct, field

from bertviewer.core.expressions.evaluation import (
    FormulaError,
    evaluate,
    names_in,
    names_in_conditions,
)
from bertviewer.core.expressions.symbols import Symbol
from bertviewer.core.util.serialization import Document, convert, struct_to_json

FLOPS_PER_MAC = 2
"""A multiply-add is a multiplication and an addition."""
BITS = {"float32": 32, "float16": 16, "int8": 8, "int4": 4}
"""The widths in which parameters are counted."""
WEIGHT_DTYPES = {
    "float32": "float32",
    "float16": "float16",
    "bfloat16": "float16",
    "int8": "int8",
    "int4": "int4",
}
"""The dtypes in which weights are counted, with the name of each one's width."""
CACHE_BITS = {"float32": 32, "float16": 16, "bfloat16": 16, "int8": 8}
"""The dtypes in which a KV cache's memory is given, with their widths."""


class ModuleCosts(Document, frozen=True, rename={"macs": "macs_formula"}):
    """The costs of one module in one forward pass, all of its calls together.

    Attributes:
        macs: multiply-adds of matrix products in the module and its submodules: an expression as
            in ``ModuleNode.count_formula``, also with ``Costs.symbols``; ``None`` if unknown.
        input_shape: symbolic shape of the first input tensor, ``("B", "S", "D")``; ``None`` if
            there is none or it is unknown.
        output_shape: symbolic shape of the first output tensor.
        reason: why ``macs`` is ``None``, one line; empty otherwise.
    """

    macs: str | None
    input_shape: tuple[str, ...] | None
    output_shape: tuple[str, ...] | None
    reason: str = ""


class Costs(Struct, frozen=True, rename={"peak": "peak_elements"}):
    """The costs of a model's forward pass.

    Attributes:
        symbols: the input's symbols B and S with default values. Their ``key`` is empty.
        modules: by path; modules that are never called are missing. A container that is not called
            itself has multiply-adds and no shapes.
        peak: elements of activations alive at once: an expression for each moment that may be the
            peak; the peak is their maximum. Empty if unknown. It is an estimate for floating-point
            tensors without weights, in eval mode, without gradients, returned hidden states or
            cache, with eager attention, which stores the scores of all heads; fused attention
            (SDPA) needs less, and so may a sequence of one token.
        peak_fixed: symbols for whose values in the model alone ``peak`` was verified, such as
            ``inner_group_num``: a second layer in an ALBERT group keeps a tensor longer.
        variables: for every symbol that could be changed, the symbol that formulas use: itself, or
            another one if the model only runs with both in proportion. Formulas are not valid for
            other proportions, nor for other values of symbols that are missing here.
        domain: the validity conditions of all formulas, as in ``expressions.evaluation``; ``None``
            for none. They do not concern B and S.
        reason: why there are no costs, one line; empty otherwise.
    """

    symbols: tuple[Symbol, ...]
    modules: Mapping[str, ModuleCosts]
    peak: tuple[str, ...]
    peak_fixed: Mapping[str, int] = field(default_factory=dict)
    variables: Mapping[str, str] = field(default_factory=dict)
    domain: str | None = None
    reason: str = ""

    @property
    def names(self) -> frozenset[str]:
        """The symbols in all formulas and in their domain."""
        texts = [*self.peak]
        for module in self.modules.values():
            texts += [module.macs or "0", *(module.input_shape or ()), *(module.output_shape or ())]
        return names_in_conditions(self.domain).union(*map(names_in, texts))

    def macs(self, path: str, values: Mapping[str, int]) -> int | None:
        """Return a module's multiply-adds for values of all symbols.

        ``None`` if there is no formula, or a ``//`` would leave a remainder.
        """
        module = self.modules.get(path)
        return None if module is None or module.macs is None else _value(module.macs, values)

    def peak_elements(self, values: Mapping[str, int]) -> int | None:
        """Return the largest number of elements of activations alive at once, see ``peak``.

        ``None`` if there is no formula, or it is not valid for these values.
        """
        if any(values.get(letter, value) != value for letter, value in self.peak_fixed.items()):
            return None
        moments = [_value(moment, values) for moment in self.peak]
        known = [moment for moment in moments if moment is not None]
        return max(known) if known and len(known) == len(moments) else None

    def reason_for(self, path: str) -> str:
        """Return why a module, or the model for "", has no formula of its multiply-adds.

        Empty if it has one, or needs none.
        """
        module = self.modules.get(path)
        return self.reason or ("" if module is None else module.reason)

    def to_json(self) -> dict[str, Any]:
        """Return the ``compute`` object of ``bertviewer.architecture/1``: modules in a list."""
        modules = [{"path": path, **module.to_json()} for path, module in self.modules.items()]
        return struct_to_json(self) | {"modules": modules}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> "Costs":
        """Read what ``to_json`` returned."""
        modules = {entry["path"]: entry for entry in data["modules"]}
        return convert({**data, "modules": modules}, cls)


class CachedLayers(Document, frozen=True):
    """Layers whose KV caches have equal sizes.

    Attributes:
        layers: their indices in the cache.
        count: their number, as an expression.
        tokens: the symbol of the cached tokens: ``S``, or ``S_d`` for a decoder with an encoder
            (whose tokens are ``S``); empty for a state that does not grow with the tokens.
        elements: for one sequence, and for one token if ``tokens`` is not empty, as an expression.
        most_tokens: the maximum number of cached tokens, as an expression; ``None`` for no limit.
        bits: the width of an element if the model's dtype does not decide it.
    """

    layers: tuple[int, ...]
    count: str
    tokens: str
    elements: str
    most_tokens: str | None = None
    bits: int | None = None

    def cached_elements(self, values: Mapping[str, int]) -> int:
        """Return the elements cached for ``B`` sequences of ``S`` tokens."""
        tokens = values[self.tokens] if self.tokens else 1
        if self.tokens and self.most_tokens is not None:
            tokens = min(tokens, evaluate(self.most_tokens, values))
        return values["B"] * tokens * self.elements_per_token(values)

    def elements_per_token(self, values: Mapping[str, int]) -> int:
        """Return the elements of all these layers for one token, or of their states."""
        return evaluate(self.count, values) * evaluate(self.elements, values)


class KVCache(Struct, frozen=True):
    """The keys, values and states that a model keeps while it generates.

    Attributes:
        layers: groups of layers with equal sizes.
        formula: the elements of all layers for B sequences, as a Python expression; ``min`` limits
            the tokens of a sliding window.
        domain: the validity conditions, as in ``expressions.evaluation``; ``None`` for none.
    """

    layers: tuple[CachedLayers, ...]
    formula: str
    domain: str | None = None

    @property
    def names(self) -> frozenset[str]:
        """The symbols in all formulas and their conditions, those of the inputs too."""
        texts = [
            text
            for group in self.layers
            for text in (group.count, group.tokens or "0", group.elements, group.most_tokens or "0")
        ]
        return names_in_conditions(self.domain).union(*map(names_in, texts))

    def elements(self, values: Mapping[str, int]) -> int | None:
        """Return the elements cached for ``B`` sequences of ``S`` tokens.

        ``None`` if the formula is not valid for these values.
        """
        try:
            return sum(group.cached_elements(values) for group in self.layers)
        except FormulaError:
            return None

    def bytes(self, values: Mapping[str, int], dtype: str) -> int | None:
        """Return the bytes cached for ``B`` sequences of ``S`` tokens; ``None`` as in ``elements``.

        Args:
            values: of the configuration's symbols, of B, S, and S_d if there is an encoder.
            dtype: one of ``CACHE_BITS``; some states always have another one.
        """
        try:
            bits = [
                group.cached_elements(values) * (group.bits or CACHE_BITS[dtype])
                for group in self.layers
            ]
        except FormulaError:
            return None
        return sum(bits) // 8

    def bytes_per_token(self, values: Mapping[str, int], dtype: str, *, long: bool = False) -> int:
        """Return the bytes that one more token of one sequence takes.

        Args:
            values: of the configuration's symbols.
            dtype: one of ``CACHE_BITS``.
            long: whether sliding windows are full, so that only the other layers grow.
        """
        growing = {group.tokens for group in self.layers if group.tokens}
        own = "S_d" if "S_d" in growing else "S"
        return sum(
            group.elements_per_token(values) * (group.bits or CACHE_BITS[dtype]) // 8
            for group in self.layers
            if group.tokens == own and not (long and group.most_tokens)
        )

    def to_json(self, values: Mapping[str, int]) -> dict[str, Any]:
        """Return plain data, with the bytes for the model's values of the symbols."""
        data: dict[str, Any] = {
            "formula": self.formula,
            "domain": self.domain,
            "bytes_per_token": {x: self.bytes_per_token(values, x) for x in CACHE_BITS},
            "layers": [group.to_json() for group in self.layers],
        }
        if any(group.most_tokens for group in self.layers):
            data["bytes_per_token_long"] = {
                x: self.bytes_per_token(values, x, long=True) for x in CACHE_BITS
            }
        return data

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> "KVCache":
        """Read what ``to_json`` returned."""
        return convert(data, cls)


def bytes_by_dtype(parameters: int) -> dict[str, int]:
    """Return the bytes of this many elements for each width of ``BITS``, rounded up."""
    return {dtype: (parameters * bits + 7) // 8 for dtype, bits in BITS.items()}


def weights_bytes(parameters: int, dtype: str) -> int:
    """Return the bytes of this many weights, rounded up.

    Raises:
        KeyError: ``dtype`` is not one of ``WEIGHT_DTYPES``.
    """
    return bytes_by_dtype(parameters)[WEIGHT_DTYPES[dtype]]


def _value(formula: str, values: Mapping[str, int]) -> int | None:
    try:
        return evaluate(formula, values)
    except FormulaError:
        return None
