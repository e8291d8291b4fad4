"""Places that a configuration names, as the layers whose attention is global: where they matter."""

from bertviewer.core.counting.dimensions import Blueprint, Laboratory, owners
from bertviewer.core.counting.explaining import facts_of
from bertviewer.core.counting.proving import TENSOR
from bertviewer.core.symbols import Symbol


def conditions_of_places(
    lab: Laboratory, real: Blueprint, places: tuple[Symbol, ...]
) -> dict[str, tuple[str, ...]]:
    """Move each place alone, and return the conditions on what is another there, by its name.

    Args:
        lab: builds the models.
        real: the model as it is.
        places: those that its configuration names.
    """
    found: dict[str, dict[str, None]] = {}
    values = {symbol.letter: symbol.value for symbol in (*lab.symbols, *places)}
    facts = facts_of(real)
    for place in places:
        for value in (place.value - 1, place.value + 1):
            model = lab.variant({**values, place.letter: value}, places)
            moved = {} if model is None else facts_of(model)
            for name in facts.keys() & moved.keys():
                if moved[name] != facts[name]:
                    for owner in (name, *owners(name.removeprefix(TENSOR))):
                        found.setdefault(owner, {})[f"{place.letter} == {place.value}"] = None
    return {name: tuple(conditions) for name, conditions in found.items()}
