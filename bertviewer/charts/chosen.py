"""Which of a chart's places a selection means."""

from collections.abc import Sequence
from dataclasses import fields

from bertviewer.charts.chart import GridChart
from bertviewer.charts.place import Place


def closest(places: Sequence[Place], selection: Place) -> tuple[int, ...]:
    """Return the indices of the places that meet a selection most closely.

    No part that both name may differ, and both have to name one. A module is met by the modules
    inside of it, but less closely than by itself. There are none where all of several places meet
    it equally: that tells none of them apart.
    """
    found = [_closeness(place, selection) for place in places]
    best = max((closeness for closeness in found if closeness is not None), default=None)
    indices = tuple(n for n, closeness in enumerate(found) if closeness == best is not None)
    return () if len(indices) == len(places) > 1 else indices


def chosen(chart: GridChart, selection: Place) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Return the rows and the columns of a grid that a selection means."""
    rows = closest(chart.row_places, selection) or closest(chart.split_places, selection)
    if len(rows) > 1:
        rows = ()  # the rows of a layer that is called again and again: it is each of them
    return rows, closest(chart.column_places, selection)


def _closeness(place: Place, selection: Place) -> int | None:
    """Return how closely a place meets a selection, ``None`` if not at all; more is closer."""
    closeness = None
    for part in fields(place):
        own, wanted = getattr(place, part.name), getattr(selection, part.name)
        if own is None or wanted is None:
            continue
        if own != wanted and not (part.name == "path" and own and wanted.startswith(f"{own}.")):
            return None
        closeness = (closeness or 0) + (len(own) if isinstance(own, str) else 1)
    return closeness
