"""The ways of tokens through the hidden states, as charts: how long they are, how far they turn."""

from collections.abc import Sequence

from msgspec import Struct

from bertviewer.charts.chart import Line, LineChart
from bertviewer.charts.levels import COSINES, SIZES, Levels
from bertviewer.charts.naming import axis_labels, state_ticks
from bertviewer.charts.place import Place
from bertviewer.charts.translation import translate
from bertviewer.core.analysis.similarity import token_path
from bertviewer.core.schema.activation_run import ActivationRun


class Traced(Struct, frozen=True):
    """A token whose way is drawn: its place in the run, its name, the number of its colour."""

    token: int
    label: str
    color: int


class PathCharts(Struct, frozen=True):
    """A chart for each figure of ``TokenPath``, each with a line for each token."""

    norms: LineChart
    to_start: LineChart
    to_before: LineChart


def path_charts(run: ActivationRun, traced: Sequence[Traced]) -> PathCharts:
    """Return the ways of these tokens through the hidden states, the embeddings first."""
    paths = [(token, token_path(run, token.token)) for token in traced]
    places = {token.token: state_places(run, token.token) for token in traced}

    def chart(name: str, title: str, bounds: Levels = COSINES) -> LineChart:
        lines = tuple(
            Line(token.label, getattr(path, name), places[token.token], color=token.color)
            for token, path in paths
        )
        return LineChart(
            lines,
            translate("charts", "Layer"),
            title,
            axis_labels(run),
            tick_names=state_ticks(run),
            bounds=bounds,
        )

    return PathCharts(
        chart("norms", translate("charts", "Norm"), SIZES),
        chart("to_start", translate("charts", "Cosine to embedding")),
        chart("to_before", translate("charts", "Cosine to previous layer")),
    )


def state_places(run: ActivationRun, token: int) -> tuple[Place, ...]:
    """Return what a token's vector stands for in each hidden state: a module, and the token."""
    states = range(len(run.token_norms))
    # A state whose module is not known has the name of none, and not that of the whole model.
    return tuple(Place(run.state_path(state, token) or None, token) for state in states)
