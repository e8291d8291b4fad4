"""One feature of the hidden states, as charts: over the layers, and token by token."""

from collections.abc import Sequence

import numpy as np

from bertviewer.core.analysis.outliers import DEVIATIONS, FeaturePath
from bertviewer.core.analysis.token_classes import TokenClass
from bertviewer.core.run.activation_run import ActivationRun
from bertviewer.plots.chart import GridChart, Line, LineChart, Place
from bertviewer.plots.token_norms import norms_chart, state_labels

_REFERENCE_COLOR = 5


def feature_chart(
    run: ActivationRun, feature: int, path: FeaturePath, classes: Sequence[TokenClass]
) -> LineChart:
    """Return a feature's mean over the tokens of each class, with its extremes, state by state.

    A further line is the mean of all features, in a band of six standard deviations to either
    side: what is outside of the band is an outlier.
    """
    lines = [_class_line(run, path, kind, f"feature {feature}") for kind in classes]
    limits = [
        (None, None) if mean is None or std is None else (mean, DEVIATIONS * std)
        for mean, std in zip(path.state_means, path.state_stds, strict=True)
    ]
    reference = Line(
        f"all features ± {DEVIATIONS:g} std",
        path.state_means,
        low=tuple(None if m is None or s is None else m - s for m, s in limits),
        high=tuple(None if m is None or s is None else m + s for m, s in limits),
        color=_REFERENCE_COLOR,
    )
    ticks = state_labels(len(path.means))
    return LineChart((*lines, reference), "Layer", f"feature {feature}", ticks)


def feature_grid(run: ActivationRun, feature: int, path: FeaturePath) -> GridChart:
    """Return a feature's value for every token (columns) in every hidden state (rows)."""
    like = norms_chart(run)
    return GridChart(
        values=path.values,
        rows=like.rows,
        columns=like.columns,
        row_places=like.row_places,
        column_places=like.column_places,
        x_title=like.x_title,
        y_title=like.y_title,
        value_title=f"feature {feature}",
        is_signed=True,
        row_names=like.row_names,
        column_names=like.column_names,
        split=like.split,
        split_places=like.split_places,
    )


def _class_line(run: ActivationRun, path: FeaturePath, kind: TokenClass, name: str) -> Line:
    places = tuple(Place(run.state_path(n, kind.tokens[0])) for n in range(len(path.values)))
    label = name if kind.name == "all" else f"{name} · {kind.label}"
    if kind.name == "all":
        return Line(label, path.means, places, min=path.mins, max=path.maxs)
    rows = [row[np.isfinite(row)] for row in path.values[:, list(kind.tokens)]]
    return Line(
        label,
        tuple(float(row.mean()) if row.size else None for row in rows),
        places,
        min=tuple(float(row.min()) if row.size else None for row in rows),
        max=tuple(float(row.max()) if row.size else None for row in rows),
    )
