"""The memory that a model keeps while it generates: keys, values and states, as formulas.

Plain data, free of torch; ``core.symbolic.kv_cache`` derives it.
"""

from collections.abc import Mapping
from typing import Any

from msgspec import Struct

from bertviewer.core.expressions.domains import letters_in
from bertviewer.core.expressions.evaluation import FormulaError, evaluate, letters_of
from bertviewer.core.util.serialization import Document, convert

CACHE_BITS = {"float32": 32, "float16": 16, "bfloat16": 16, "int8": 8}
"""The dtypes that cache memory is given in, with their widths."""


class CachedLayers(Document, frozen=True):
    """Layers that keep equally much.

    Attributes:
        layers: their numbers, in the order in which the cache lists them.
        count: how many they are, as an expression.
        tokens: the symbol of the tokens that they keep something of: ``S``, or ``S_d`` of a
            decoder with an encoder, whose tokens are ``S`` then; empty for a state that does not
            grow with the tokens.
        elements: for one sequence, and for one token if ``tokens`` is not empty, as an expression.
        most_tokens: the largest number of tokens that are kept, as an expression; ``None`` for all.
        bits: the width of an element if the model's dtype does not decide it.
    """

    layers: tuple[int, ...]
    count: str
    tokens: str
    elements: str
    most_tokens: str | None = None
    bits: int | None = None

    def kept_tokens(self, values: Mapping[str, int]) -> int:
        """Return how many tokens are kept, 1 for a state."""
        if not self.tokens:
            return 1
        tokens = values[self.tokens]
        return (
            tokens if self.most_tokens is None else min(tokens, evaluate(self.most_tokens, values))
        )

    def elements_per_token(self, values: Mapping[str, int]) -> int:
        """Return the elements of all these layers for one token, or of their states."""
        return evaluate(self.count, values) * evaluate(self.elements, values)


class KVCache(Struct, frozen=True):
    """What a model keeps of the tokens that it has read, to generate the next one faster.

    Attributes:
        layers: the layers in groups that keep equally much.
        formula: the elements of all layers for B sequences, an expression that plain Python
            evaluates; ``min`` limits the tokens of a sliding window.
        domain: the conditions under which the formula holds, as of ``expressions.domains``;
            ``None`` for everywhere.
    """

    layers: tuple[CachedLayers, ...]
    formula: str
    domain: str | None = None

    @property
    def letters(self) -> frozenset[str]:
        """The symbols in all formulas and their conditions, those of the inputs too."""
        texts = [
            text
            for x in self.layers
            for text in (x.count, x.tokens or "0", x.elements, x.most_tokens or "0")
        ]
        return letters_in(self.domain).union(*map(letters_of, texts))

    def elements(self, values: Mapping[str, int]) -> int | None:
        """Return the elements kept of ``B`` sequences of ``S`` tokens.

        ``None`` where the formula says nothing of these values.
        """
        try:
            return sum(self._elements_in(layers, values) for layers in self.layers)
        except FormulaError:
            return None

    def bytes(self, values: Mapping[str, int], dtype: str) -> int | None:
        """Return the bytes kept of ``B`` sequences of ``S`` tokens.

        Args:
            values: of the configuration's symbols, of B, S, and S_d if there is an encoder.
            dtype: one of ``CACHE_BITS``; some states always have another one.
        """
        try:
            bits = [
                self._elements_in(layers, values) * (layers.bits or CACHE_BITS[dtype])
                for layers in self.layers
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
        growing = {layers.tokens for layers in self.layers if layers.tokens}
        own = "S_d" if "S_d" in growing else "S"
        return sum(
            layers.elements_per_token(values) * (layers.bits or CACHE_BITS[dtype]) // 8
            for layers in self.layers
            if layers.tokens == own and not (long and layers.most_tokens)
        )

    def to_json(self, values: Mapping[str, int]) -> dict[str, Any]:
        """Return plain data, with the bytes for the symbols' values in the real model."""
        data: dict[str, Any] = {
            "formula": self.formula,
            "domain": self.domain,
            "bytes_per_token": {x: self.bytes_per_token(values, x) for x in CACHE_BITS},
            "layers": [layers.to_json() for layers in self.layers],
        }
        if any(layers.most_tokens for layers in self.layers):
            data["bytes_per_token_long"] = {
                x: self.bytes_per_token(values, x, long=True) for x in CACHE_BITS
            }
        return data

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> "KVCache":
        """Read what ``to_json`` gave."""
        layers = convert(data["layers"], tuple[CachedLayers, ...])
        return cls(layers, data["formula"], data.get("domain"))

    def _elements_in(self, layers: CachedLayers, values: Mapping[str, int]) -> int:
        return values["B"] * layers.kept_tokens(values) * layers.elements_per_token(values)
