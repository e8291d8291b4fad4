"""Numbers of a configuration that formulas do not follow, as ids and places: where they matter."""

from collections.abc import Mapping

from bertviewer.core.counting.explaining import facts_of
from bertviewer.core.counting.proving import TENSOR
from bertviewer.core.counting.variants import ModelShapes, VariantBuilder, blanked, owners
from bertviewer.core.expressions.symbols import Symbol

Conditions = dict[str, dict[str, None]]


def conditions_of_others(
    variants: VariantBuilder, real: ModelShapes, others: tuple[Symbol, ...]
) -> Mapping[str, tuple[str, ...]]:
    """Move other numbers by one, and return the conditions on what is another there, by its name.

    A number that could not be moved in any model may matter to everything, and is a condition of
    all.

    Args:
        variants: builds the models, and knows those that were built.
        real: the model as it is.
        others: its configuration's integers that are no symbols of ``variants``.
    """
    found: Conditions = {}
    for by in (1, -1):
        _move(variants, real, [other for other in others if other.value + by >= 0], by, found)
    moved = {
        letter for key, model in variants.built.items() if model is not None for letter, _ in key
    }
    fixed = [f"{s.letter} == {s.value}" for s in variants.symbols if s.letter not in moved]
    return {name: (*found.get(name, ()), *fixed) for name in facts_of(real)}


def _move(
    variants: VariantBuilder, real: ModelShapes, others: list[Symbol], by: int, found: Conditions
) -> None:
    """Move all at once, and fewer where a model is another, or refuses them."""
    values = {symbol.letter: symbol.value for symbol in (*variants.symbols, *others)}
    facts = facts_of(real)
    waiting = [others] if others else []
    while waiting:
        some = waiting.pop()
        moved = {other.letter: other.value + by for other in some}
        model = variants.variant({**values, **moved}, tuple(others))
        now = {} if model is None else facts_of(model)
        if now == facts:
            continue
        if len(some) > 1:
            middle = len(some) // 2
            waiting += [some[:middle], some[middle:]]
            continue
        moved_names = {name for name in facts.keys() & now.keys() if now[name] != facts[name]}
        # What one more changes in one layer, some more may change in another.
        alike = set(map(blanked, moved_names))
        for name in (name for name in facts if blanked(name) in alike):
            for owner in (name, *owners(name.removeprefix(TENSOR))):
                condition = f"{some[0].letter} == {some[0].value}"
                found.setdefault(owner, {})[condition] = None
