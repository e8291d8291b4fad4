"""What the map has the worker do: plain functions.

What they need is imported inside them: nothing of it has to be there for the window to come.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

    from bertviewer.charts.levels import Levels, Values
    from bertviewer.core.analysis.attention_layers import AttentionLayer
    from bertviewer.core.loading.loaded_model import LoadedModel
    from bertviewer.core.util.progress import Progress
    from bertviewer.ui.jobs.recorded_run import RecordedRun

MOST_CELLS = 96
"""A tile is small: more rows or columns than these are put together."""


def heads_job(
    layers: Mapping[str, AttentionLayer],
    watched: RecordedRun,
    model: LoadedModel,
    progress: Progress,
) -> dict[str, tuple[Values, Levels]]:
    """Calculate what the heads of attentions look at, small, with the levels of their colours.

    An attention that does not show it is left out.
    """
    import numpy as np

    from bertviewer.charts.levels import levels_of
    from bertviewer.core.replay.attention import attention_of
    from bertviewer.core.util.errors import UserError
    from bertviewer.plots.color_scale import reduced

    found = {}
    for key, layer in layers.items():
        try:
            maps = attention_of(watched.cached(model), layer.path, progress, call=layer.call)
        except UserError:
            # The view of the attention says why; here the tiles stay as they are.
            continue
        shares = maps.probabilities
        if maps.masked is not None:
            # Nothing measured the 0 of what a mask hides.
            shares = np.where(maps.masked, np.nan, shares)
        values = reduced(shares, MOST_CELLS, MOST_CELLS)
        found[key] = values, (0.0, levels_of(values)[1])
    return found
