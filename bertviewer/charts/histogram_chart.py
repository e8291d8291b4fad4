"""What a histogram shows: counts over bins, of one series or of two."""

from msgspec import Struct

from bertviewer.charts.table import Cell, Table, column_header


class Bars(Struct, frozen=True):
    """How many values lie in each bin; parts of one, or differences of them, where so made.

    Attributes:
        label: its name in the legend.
        counts: one for each bin.
        nan_count, inf_count: values that are NaN or infinite, in no bin.
        mean, std: mean and standard deviation of the finite values, to be marked.
    """

    label: str
    counts: tuple[float, ...]
    nan_count: float = 0
    inf_count: float = 0
    mean: float | None = None
    std: float | None = None

    @property
    def total(self) -> float:
        """All values, those in no bin too."""
        return sum(self.counts) + self.nan_count + self.inf_count


class HistogramChart(Struct, frozen=True):
    """One or two series of counts over the same bins: bin i is from edge i to edge i + 1.

    ``is_log`` draws them on a logarithmic axis. ``is_density`` is for bins of uneven width: bars
    are as high as their share of all counts is dense, so that their areas are the shares.
    """

    edges: tuple[float, ...]
    series: tuple[Bars, ...]
    x_title: str = ""
    y_title: str = ""
    is_log: bool = False
    is_density: bool = False

    def heights(self, bars: Bars) -> tuple[float, ...]:
        """Return how high the bars are."""
        if not self.is_density:
            return bars.counts
        total = sum(bars.counts) or 1
        return tuple(
            count / total / (high - low)
            for count, low, high in zip(bars.counts, self.edges[:-1], self.edges[1:], strict=True)
        )

    def table(self) -> Table:
        """Return a row for each bin, and one for NaN and one for Inf where there are any."""
        bins = zip(self.edges[:-1], self.edges[1:], strict=True)
        rows: list[tuple[Cell, ...]] = [
            (low, high, *(bars.counts[index] for bars in self.series))
            for index, (low, high) in enumerate(bins)
        ]
        for name, counts in (
            ("NaN", [bars.nan_count for bars in self.series]),
            ("Inf", [bars.inf_count for bars in self.series]),
        ):
            if any(counts):
                rows.append((name, None, *counts))
        edges = (column_header(self.x_title, edge) for edge in ("from", "to"))
        # A table has the counts themselves.
        measure = "" if self.is_density else self.y_title
        return (*edges, *(column_header(b.label, measure) for b in self.series)), rows
