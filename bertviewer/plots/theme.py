"""The colours of plots, for light and dark windows and for paper."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class PlotTheme:
    """Colours as ``#rrggbb``; ``series`` in the order in which lines are drawn."""

    background: str
    foreground: str
    muted: str
    series: tuple[str, ...]
    colormap: str


LEAST_SPAN = 1e-3
"""An axis covers at least this part of its values' size.

Without it a quantity that is constant by construction, as the std after a layer norm is, would
fill the plot with rounding errors.
"""


def widened(low: float, high: float) -> tuple[float, float]:
    """Return a range around both values that does not magnify noise; never an empty one."""
    least = LEAST_SPAN * max(abs(low), abs(high)) or 1.0
    missing = max(0.0, least - (high - low))
    return low - missing / 2, high + missing / 2


# The series' colours are Okabe and Ito's, which people with colour blindness tell apart.
LIGHT = PlotTheme("#ffffff", "#1f2933", "#8a96a3", ("#0072b2", "#d55e00", "#009e73"), "viridis")
DARK = PlotTheme("#1b1f24", "#e3e8ee", "#7d8894", ("#56b4e9", "#e69f00", "#35c79a"), "viridis")
