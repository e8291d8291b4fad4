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
    return token_bindings(architecture, () if run is None else run.tokens)


def token_bindings(architecture: Architecture, tokens: Sequence[Token]) -> dict[str, int]:
    """Return the bindings for a run of these tokens: the encoder's, then the decoder's."""
    values = architecture.symbol_values
    if architecture.costs is not None:
        values |= {symbol.name: symbol.value for symbol in architecture.costs.symbols}
    if tokens:
        source, target = split_source_target(architecture, tokens)
        values |= {"B": 1, "S": len(source)} | ({"S_d": len(target)} if target else {})
    return values


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
