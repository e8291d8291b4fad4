"""Forward passes that put derived costs to the proof."""

from typing import cast

from bertviewer.core.costs.forward_pass import ForwardPass
from bertviewer.core.counting.fresh_models import fresh_models
from bertviewer.core.counting.observations import Observations
from bertviewer.core.counting.proving import PROOFS
from bertviewer.core.counting.variants import Values, VariantBuilder
from bertviewer.core.flow.inputs.texts import SENTENCES, TARGET_TOKENS, TOKENS

LONGEST_TOKENS = 1400
"""Proofs go up to the model's longest sentence, and not beyond this many tokens."""

ForwardTrial = tuple[ForwardPass, Values]
"""A forward pass that no formula was fitted to, with the letters' values."""


def find_trials(variants: VariantBuilder, observed: Observations) -> list[ForwardTrial] | None:
    """Run what no fit has seen: other configurations, and the shortest and longest sentences.

    Returns:
        At least three with all letters changed, and those with other sentences that the model
        takes; ``None`` where it refuses too many configurations.
    """
    fresh = fresh_models(variants, observed, PROOFS)
    if len(fresh) < PROOFS:
        return None
    longest = min(observed.values.get("L", LONGEST_TOKENS), LONGEST_TOKENS)
    # RoBERTa's table has two rows that no token uses, so the very longest may be refused.
    lengths = (longest, longest - 2, longest * 3 // 4)
    for attempts in (((1, 1, 1),), ((3, 7, 5),), tuple((1, length, 9) for length in lengths)):
        for sizes in attempts:
            sentences = dict(zip((SENTENCES, TOKENS, TARGET_TOKENS), sizes, strict=True))
            values = {**observed.values, **sentences}
            model = variants.variant(values)
            if model is not None:
                fresh.append((model, values))
                break
    return cast(list[ForwardTrial], fresh)


def never_changed(variants: VariantBuilder, observed: Observations) -> dict[str, int]:
    """Return the letters whose number no observation changed, with that number."""
    changed = {symbol.letter for variable in observed.variables for symbol in variable.symbols}
    return {s.letter: s.value for s in variants.symbols if s.letter not in changed}
