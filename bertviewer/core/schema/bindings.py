"""What the letters of a model's formulas stand for: its configuration's numbers, and a run's."""

from collections.abc import Sequence

from bertviewer.core.schema.activation_run import ActivationRun, Token
from bertviewer.core.schema.architecture import Architecture


def bindings(architecture: Architecture, run: ActivationRun | None = None) -> dict[str, int]:
    """Return a value for each letter of a model's formulas.

    Args:
        architecture: the model.
        run: its last run; B, S and S_d are that run's, else those that costs are given for.
    """
    values = {symbol.letter: symbol.value for symbol in architecture.symbols}
    if architecture.costs is not None:
        values |= {symbol.letter: symbol.value for symbol in architecture.costs.symbols}
    return values if run is None else values | _sides(architecture, run.tokens)


def bindings_for(architecture: Architecture, tokens: Sequence[Token]) -> dict[str, int]:
    """Return the same for a sentence of these tokens, or the two of an encoder-decoder."""
    return bindings(architecture) | _sides(architecture, tokens)


def split_source_target(
    architecture: Architecture, tokens: Sequence[Token]
) -> tuple[tuple[Token, ...], tuple[Token, ...]]:
    """Return what the encoder and what the decoder reads; all for the one where there is one."""
    if not architecture.is_encoder_decoder:
        return tuple(tokens), ()
    return (
        tuple(token for token in tokens if not token.segment),
        tuple(token for token in tokens if token.segment),
    )


def _sides(architecture: Architecture, tokens: Sequence[Token]) -> dict[str, int]:
    source, target = split_source_target(architecture, tokens)
    return {"B": 1, "S": len(source)} | ({"S_d": len(target)} if target else {})
