"""The colours of plots, for light and dark windows and for paper."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class PlotTheme:
    """Colours as ``#rrggbb``.

    Attributes:
        background: what is behind all.
        foreground: texts, and what is selected.
        muted: axes.
        series: lines, in the order in which they are drawn.
        colormap: pyqtgraph's name of the map for values from low to high.
        diverging: the map for values about 0, from the most negative to the most positive. Its
            middle is close to the background and yet no empty cell.
    """

    background: str
    foreground: str
    muted: str
    series: tuple[str, ...]
    colormap: str
    diverging: tuple[str, ...]


# The series' colours are Okabe and Ito's, which people with colour blindness tell apart; those
# too pale or too dark for their background are a shade darker or lighter. Blue against orange
# is told apart likewise.
LIGHT = PlotTheme(
    background="#ffffff",
    foreground="#1f2933",
    muted="#8a96a3",
    series=("#0072b2", "#d55e00", "#009e73", "#b8589a", "#8f6b00", "#4b5563"),
    colormap="viridis",
    diverging=("#08306b", "#2171b5", "#8fbfe0", "#ebebeb", "#f5b27f", "#d55e00", "#6b2400"),
)
DARK = PlotTheme(
    background="#1b1f24",
    foreground="#e3e8ee",
    muted="#7d8894",
    series=("#56b4e9", "#e69f00", "#35c79a", "#e08fc4", "#f0e442", "#b6c0ca"),
    colormap="viridis",
    diverging=("#c6e4fa", "#56b4e9", "#1f6396", "#353b43", "#9a5410", "#f0912d", "#ffe3b8"),
)
