"""Conditions on numbers that no formula follows: ids, places of layers, what is 0, fixed depths."""

from collections.abc import Iterator, Sequence
from dataclasses import replace

from bertviewer.core.budget import OverBudget
from bertviewer.core.expressions.symbols import Symbol
from bertviewer.core.symbolic.models import (
    ModelBuilder,
    ModelSizes,
    blanked,
    owners,
    refused_items,
)


def fixed_numbers(
    builder: ModelBuilder, real: ModelSizes, numbers: Sequence[Symbol]
) -> dict[str, dict[str, None]]:
    """Return which formulas need which of some numbers to keep their values, by name.

    They are changed by one, all of them at once, and fewer where a model differs or refuses them.

    Raises:
        OverBudget: a limit was reached, and not all numbers are among the builder's symbols.
    """
    every = replace(builder, symbols=tuple(dict.fromkeys((*builder.symbols, *numbers))))
    wrong: list[Symbol] = []
    try:
        for by in (1, -1):

            def changes_nothing(some: Sequence[Symbol], by: int = by) -> bool:
                model = every.variant(every.values | {s.letter: s.value + by for s in some})
                return model is not None and model.facts == real.facts

            wrong += refused_items((s for s in numbers if s.value + by >= 0), changes_nothing)
    except OverBudget:
        if not {*numbers} <= {*builder.symbols}:
            raise
        wrong += numbers  # the models that were built have to do
    found: dict[str, dict[str, None]] = {}
    for symbol in dict.fromkeys(wrong):
        models = [
            m for key, m in builder.built.items() if m and dict(key).keys() == {symbol.letter}
        ]
        names = [name for model in models for name in _affected(real, model)]
        if not models and symbol in builder.symbols:
            names += real.facts
        for name in names:
            found.setdefault(name, {})[f"{symbol.letter} == {symbol.value}"] = None
    return found


def _affected(real: ModelSizes, model: ModelSizes) -> Iterator[str]:
    """Yield the names that have another size in a changed model, and those that may in others.

    What one more changes in one layer, some more may change in another.
    """
    facts, now = real.facts, model.facts
    like = {blanked(name) for name in facts.keys() & now.keys() if now[name] != facts[name]}
    lists = {path for path, n in real.lengths.items() if model.lengths.get(path, 0) != n}
    for name in facts:
        around = list(owners(name))
        if blanked(name) in like or not lists.isdisjoint((name, *around)):
            yield from (name, *around)
