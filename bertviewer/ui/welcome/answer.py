"""What was found out: what to select, and what there is to see there."""

from dataclasses import dataclass

from bertviewer.charts.place import Place


@dataclass(frozen=True, slots=True)
class Answer:
    """A place of the model and of its run, and a sentence about it."""

    place: Place
    text: str
