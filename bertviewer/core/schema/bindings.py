"""Values of the symbols in a model's formulas: from its configuration and from a run."""

from collections.abc import Sequence

from bertviewer.core.schema.activation_run import ActivationRun, Token
from bertviewer.core.schema.architecture import Architecture


def bindings(architecture: Architecture, run: ActivationRun | None = None) -> dict[str, int]:
    """Return the value of each symbol by its letter.

    Args:
        architecture: the model.
        run: its last run, which determines B, S and S_d; else they have the values that costs are
            given for.
    """
    values = {symbol.name: symbol.value for symbol in architecture.symbols}
    if architecture.costs is not None:
        values |= {symbol.name: symbol.value for symbol in architecture.costs.symbols}
    return values if run is None else values | _lengths(architecture, run.tokens)


def bindings_for(architecture: Architecture, tokens: Sequence[Token]) -> dict[str, int]:
    """Return the same for a sentence of these tokens, or an encoder-decoder's two."""
    return bindings(architecture) | _lengths(architecture, tokens)


def split_source_target(
    architecture: Architecture, tokens: Sequence[Token]
) -> tuple[tuple[Token, ...], tuple[Token, ...]]:
    """Return an encoder's and a decoder's tokens; all and () if the model is not both."""
    if not architecture.is_encoder_decoder:
        return tuple(tokens), ()
    return (
        tuple(token for token in tokens if not token.segment),
        tuple(token for token in tokens if token.segment),
    )


def _lengths(architecture: Architecture, tokens: Sequence[Token]) -> dict[str, int]:
    source, target = split_source_target(architecture, tokens)
    return {"B": 1, "S": len(source)} | ({"S_d": len(target)} if target else {})
