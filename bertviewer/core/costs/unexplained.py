"""Why modules have no formula of their multiply-adds, each in a line."""

from collections.abc import Collection, Mapping, Sequence

from bertviewer.core.architecture.count_steps import readable
from bertviewer.core.costs.forward_pass import PRODUCT, ForwardPass, entry_kind, owner_of
from bertviewer.core.counting.fitting import moving_letters
from bertviewer.core.counting.observations import Observations
from bertviewer.core.counting.proving import Formulas
from bertviewer.core.counting.templates import template_path
from bertviewer.core.counting.variants import Values, owners
from bertviewer.core.expressions.evaluation import FormulaError, evaluate

NOT_ALWAYS = "modified models do not all multiply there, or not equally often"


def unexplained(
    observed: Observations,
    fitted: Collection[str],
    formulas: Formulas,
    lengths: Mapping[str, int],
    trials: Sequence[tuple[ForwardPass, Values]],
    *,
    paths: Collection[str],
) -> dict[str, str]:
    """Return why modules have no formula: their own cause, or the first part's that has one.

    Args:
        observed: what formulas were fitted to.
        fitted: the entries whose every dimension was explained.
        formulas: all that came of them, by the names of the smallest model.
        lengths: the numbers of blocks in that model.
        trials: what they were tried on, the real model last.
        paths: the modules without a formula, in the order of ``named_modules()``.
    """
    wrong = _refuted(formulas, lengths, trials)
    parts = {owner for path in paths for owner in owners(path) if path}
    reasons: dict[str, str] = {}
    for path in paths:
        if path in parts:
            continue  # as what holds a part without a formula, it needs no cause of its own
        template = template_path(path, lengths)
        cause = wrong.get(template) or _unfitted(observed, template, fitted) or NOT_ALWAYS
        reasons[path] = cause
        for above in owners(path) if path else ():
            reasons.setdefault(above, f"{path}: {cause}")
    return {path: reasons[path] for path in paths}


def _unfitted(observed: Observations, path: str, fitted: Collection[str]) -> str:
    """Say what moves a product of a module's own that was not explained, "" if there is none."""
    for name, shape in observed.base.shapes.items():
        if entry_kind(name) != PRODUCT or owner_of(name) != path or name in fitted:
            continue
        axes = range(len(shape))
        moving = {letter for axis in axes for letter in _moving(observed, name, axis)}
        letters = ", ".join(letter for letter in observed.seen if letter in moving)
        return f"no formula fits the sizes of its products, which vary with {letters}"
    return ""


def _moving(observed: Observations, name: str, axis: int) -> tuple[str, ...]:
    return moving_letters(observed.base.shapes[name][axis], observed.sizes(name, axis))


def _refuted(
    formulas: Formulas, lengths: Mapping[str, int], trials: Sequence[tuple[ForwardPass, Values]]
) -> dict[str, str]:
    """Say what each formula of a module gives in a trial that it is wrong in."""
    wrong: dict[str, str] = {}
    for model, values in trials:
        for path, size in model.sizes.items():
            template = template_path(path, lengths)
            if template in formulas and template not in wrong:
                (formula,) = formulas[template]
                result = _result(formula, values)
                if result != f"{size:,}":
                    inputs = ", ".join(f"{k} = {values[k]}" for k in ("B", "S") if k in values)
                    wrong[template] = (
                        f"{readable(formula)} gives {result} for {inputs} in a model that was "
                        f"tried, where {size:,} is correct"
                    )
    return wrong


def _result(formula: str, values: Values) -> str:
    try:
        return f"{evaluate(formula, values):,}"
    except FormulaError:
        return "a non-integer"
