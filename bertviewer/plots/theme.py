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


# The series' colours are Okabe and Ito's, which people with colour blindness tell apart.
LIGHT = PlotTheme("#ffffff", "#1f2933", "#8a96a3", ("#0072b2", "#d55e00", "#009e73"), "viridis")
DARK = PlotTheme("#1b1f24", "#e3e8ee", "#7d8894", ("#56b4e9", "#e69f00", "#35c79a"), "viridis")
