"""What the letters of a model's formulas stand for: its configuration's numbers, and a run's."""

from bertviewer.core.architecture import Architecture
from bertviewer.core.run.activation_run import ActivationRun, Token


def letter_values(architecture: Architecture, run: ActivationRun | None = None) -> dict[str, int]:
    """Return a value for each letter of a model's formulas.

    Args:
        architecture: the model.
        run: its last run; B, S and S_d are that run's, else those that costs are given for.
    """
    values = {symbol.letter: symbol.value for symbol in architecture.symbols}
    if architecture.compute is not None:
        values |= {symbol.letter: symbol.value for symbol in architecture.compute.symbols}
    if run is not None:
        source, target = two_sides(architecture, run)
        values |= {"B": 1, "S": len(source)} | ({"S_d": len(target)} if target else {})
    return values


def two_sides(
    architecture: Architecture, run: ActivationRun
) -> tuple[tuple[Token, ...], tuple[Token, ...]]:
    """Return what the encoder and what the decoder reads; all for the one where there is one."""
    if not architecture.config.get("is_encoder_decoder"):
        return run.tokens, ()
    return (
        tuple(token for token in run.tokens if not token.segment),
        tuple(token for token in run.tokens if token.segment),
    )
