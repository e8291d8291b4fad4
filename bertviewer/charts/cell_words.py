"""Where an element of a tensor stands and what it is, in words."""

from collections.abc import Sequence

from bertviewer.charts.naming import LONGEST, shortened, visible
from bertviewer.charts.translation import translate
from bertviewer.core.tensors.axes import Axis
from bertviewer.core.util.numbers import with_minus
from bertviewer.core.util.text import isolated


def place_text(index: Sequence[int], axes: tuple[Axis, Axis]) -> str:
    """Return where an element of a run is, "" where no dimension is known.

    ``token 3 “bank”, feature 211``: what stands before the last two dimensions is left out.
    """
    # A vector has but its rows.
    pairs = zip(axes, index[-2:], strict=False)
    return ", ".join(filter(None, (_on(axis, number) for axis, number in pairs)))


def cell_text(value: float | bool) -> str:
    """Return a number with six digits behind the point, so that they stand below one another.

    Very small ones, and those of more than two digits before the point, have an exponent;
    integers and booleans are as they are.
    """
    if isinstance(value, bool | int):
        text = str(value)
    elif value == 0 or 1e-4 <= round(abs(value), 6) < 100:
        text = f"{value:.6f}"
    else:
        text = f"{value:.3e}"
    return with_minus(text)


def exact_text(value: float | bool) -> str:
    """Return a number with seven digits, and with all of them where that is more."""
    if isinstance(value, bool | int):
        return with_minus(str(value))
    seven, every = f"{value:.7g}", repr(value)
    same = float(seven) == value or value != value  # noqa: PLR0124 - NaN is not itself
    return with_minus(seven if same else f"{seven}  ({every})")


def _on(axis: Axis, number: int) -> str:
    if axis.kind == "token" and number < len(axis.names):
        name = isolated(shortened(visible(axis.names.names[number]), LONGEST))
        return translate("charts", "token {0} “{1}”").format(axis.positions[number], name)
    return translate("charts", "feature {0}").format(number) if axis.kind == "feature" else ""
