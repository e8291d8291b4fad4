"""File name of an exported plot, from its title and content."""

import re
import unicodedata

from bertviewer.charts.chart import Chart, HistogramChart, LineChart

MAX_LENGTH = 60
"""Maximum length with the extension."""
_DIFFERENCE = "B − A"
_RUN = re.compile(r"^[AB] · ")
_RUNS = re.compile(rf"[AB]$|{_DIFFERENCE}$")


def file_name(chart: Chart, title: str, ending: str, fallback: str = "plot") -> str:
    """Return a name such as "attention-layer-3-head-4.png": ASCII letters, digits and hyphens.

    It consists of the title above the plot and the texts of the chart. ``fallback`` is used if
    these have no ASCII letters, as in Chinese.
    """
    # Numbers and notes follow a colon or a dot.
    head = _words(re.split(r":|·", title)[0])
    content = _content(chart, is_titled=bool(head))
    own = _words(content.replace(_DIFFERENCE, "") if _DIFFERENCE in title else content)
    if set(head) <= set(own):
        head = []
    stem = "-".join([*head, *_further(own, head)] or _words(fallback) or ["plot"])
    length = MAX_LENGTH - len(ending)
    if len(stem) > length:
        # Cut between words, if there are several.
        stem = stem[: length + 1].rpartition("-")[0] or stem[:length]
    return f"{stem}{ending}"


def _content(chart: Chart, is_titled: bool) -> str:
    """Return the texts that describe a chart."""
    if isinstance(chart, LineChart):
        labels = {_RUN.sub("", line.label): None for line in chart.lines}
        runs = {line.label[0]: None for line in chart.lines if _RUN.match(line.label)}
        name = next(iter(labels)) if len(labels) == 1 else ""
        return " ".join((chart.y_title, "" if is_titled else chart.x_title, name, *runs))
    if isinstance(chart, HistogramChart):
        return " ".join(("histogram", *(b.label for b in chart.series if _RUNS.match(b.label))))
    return f"{chart.value_title} {chart.subject}"


def _words(text: str) -> list[str]:
    """Return the words of a text in lower-case ASCII letters and digits."""
    text = text.replace("−", " minus ").replace("±", " ").replace("’", "'").replace("'s ", " ")
    # Accents become separate characters, which are dropped.
    plain = unicodedata.normalize("NFKD", text)
    letters = "".join(letter for letter in plain if not unicodedata.combining(letter))
    return re.findall(r"[a-z0-9]+", letters.lower())


def _further(own: list[str], head: list[str]) -> list[str]:
    """Return the words that the title lacks: "norms" contains "norm", and "layer 3" its number."""
    found = []
    is_known = False
    for word in own:
        if len(word) == 1 or word.isdecimal():
            is_known = is_known and word in head
        else:
            is_known = any(other.startswith(word) for other in head)
        if not is_known:
            found.append(word)
    return found
