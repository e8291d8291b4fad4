"""What a file is called that a plot is saved in: after what the plot shows."""

import re
import unicodedata

from bertviewer.charts.chart import Chart, HistogramChart, LineChart

MAX_LENGTH = 60
"""Characters, its ending among them."""
_DIFFERENCE = "B − A"
_RUN = re.compile(r"^[AB] · ")
_RUNS = re.compile(rf"[AB]$|{_DIFFERENCE}$")


def file_name(chart: Chart, title: str, ending: str, fallback: str = "plot") -> str:
    """Return a name as "attention-layer-3-head-4.png": ASCII letters, digits and hyphens.

    It is made of the title above the plot and of what the chart tells of itself. ``fallback`` is
    the name where nothing of these can be written so, as in Chinese.
    """
    # What follows a colon or a dot are figures and notes.
    head = _words(re.split(r":|·", title)[0])
    content = _content(chart, is_titled=bool(head))
    own = _words(content.replace(_DIFFERENCE, "") if _DIFFERENCE in title else content)
    if set(head) <= set(own):
        head = []
    stem = "-".join([*head, *_further(own, head)] or _words(fallback) or ["plot"])
    room = MAX_LENGTH - len(ending)
    if len(stem) > room:
        # Whole words, if there is more than one.
        stem = stem[: room + 1].rpartition("-")[0] or stem[:room]
    return f"{stem}{ending}"


def _content(chart: Chart, is_titled: bool) -> str:
    """Return what a chart is of, in its own words."""
    if isinstance(chart, LineChart):
        labels = dict.fromkeys(_RUN.sub("", line.label) for line in chart.lines)
        runs = dict.fromkeys(line.label[0] for line in chart.lines if _RUN.match(line.label))
        # Several lines have too many names.
        name = next(iter(labels)) if len(labels) == 1 else ""
        return " ".join((chart.y_title, "" if is_titled else chart.x_title, name, *runs))
    if isinstance(chart, HistogramChart):
        runs = dict.fromkeys(bars.label for bars in chart.series if _RUNS.match(bars.label))
        return " ".join(("histogram", *runs))
    return f"{chart.value_title} {chart.subject}"


def _words(text: str) -> list[str]:
    """Return the words of a text in small ASCII letters and digits."""
    text = text.replace("−", " minus ").replace("±", " ").replace("’", "'").replace("'s ", " ")
    plain = unicodedata.normalize("NFKD", text)
    # Accents are letters of their own by now; what is in another script leaves nothing.
    letters = "".join(letter for letter in plain if not unicodedata.combining(letter))
    return re.findall(r"[a-z0-9]+", letters.lower())


def _further(own: list[str], head: list[str]) -> list[str]:
    """Return what the head does not say yet; "norms" says "norm", and "layer 3" its number too."""
    found = []
    is_said = False
    for word in own:
        is_said = (
            word in head and is_said
            if len(word) == 1 or word.isdecimal()
            else any(other.startswith(word) for other in head)
        )
        if not is_said:
            found.append(word)
    return found
