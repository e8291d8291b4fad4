"""What formulas were tried at: a number that was always a multiple has to stay one.

A model rounds numbers to whole parts, and large models are tried with a few changes only.
"""

from collections.abc import Iterable, Iterator, Mapping
from math import gcd, lcm

from bertviewer.core.counting.observations import Observations
from bertviewer.core.counting.proving import Trial
from bertviewer.core.expressions.domains import divisors_in, is_met
from bertviewer.core.expressions.evaluation import evaluate, letters_of

Conditions = Mapping[str, Iterable[str]]  # by the name of the formula that they limit


def untried(
    formulas: Mapping[str, tuple[str, ...]],
    conditions: Conditions,
    trials: Iterable[Trial],
    observed: Observations,
    divisors: Mapping[str, frozenset[str]],
) -> Iterator[tuple[str, str]]:
    """Yield the multiples that a formula's numbers were at in all models that it says something of.

    Args:
        formulas: expressions by name.
        conditions: those that are known.
        trials: the models that the formulas were tried on.
        observed: the models that they were fitted to.
        divisors: the letters that models may demand to divide others, by those.

    Yields:
        A formula's name, and a condition that it has to be limited by.
    """
    sizes = set(observed.sizes_alone())
    fitted = {x: [value for value, _ in observed.seen[x]] for x in sizes}
    tried = list(trials)
    met: dict[str, frozenset[int]] = {}
    found: dict[tuple[frozenset[str], frozenset[str]], tuple[str, ...]] = {}
    for name, formula in formulas.items():
        letters = frozenset(sizes & {x for part in formula for x in letters_of(part)})
        known = frozenset(conditions.get(name, ()))
        key = letters, known
        if key not in found:
            for text in known - met.keys():
                met[text] = frozenset(
                    place for place, trial in enumerate(tried) if is_met(text, trial.values)
                )
            inside = frozenset(range(len(tried))).intersection(*(met[text] for text in known))
            models = [tried[place].values for place in inside]
            found[key] = tuple(
                f"{x} % {step} == 0"
                for x in sorted(letters)
                if (step := gcd(observed.values[x], *fitted[x], *(values[x] for values in models)))
                and lcm(
                    _known_step(x, known, observed.values),
                    *(observed.values[part] for part in divisors.get(x, ())),
                )
                % step
            )
        yield from ((name, text) for text in found[key])


def _known_step(letter: str, conditions: Iterable[str], values: Mapping[str, int]) -> int:
    """Return what the letter has to be a multiple of anyway.

    0, a multiple of all, where it has no other value, or has to divide another number.
    """
    for text in conditions:
        _, sign, part = text.removesuffix(" == 0").partition(" % ")
        if text.startswith(f"{letter} == ") or (sign and letter in letters_of(part)):
            return 0
    return lcm(*(evaluate(divisor, values) for divisor in divisors_in(conditions, letter)))
