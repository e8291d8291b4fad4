"""The figures of a corpus by their names: whoever adds one adds a line here."""

from collections.abc import Callable
from typing import Literal, get_args

from bertviewer.api.pictures import with_random_words
from bertviewer.core.corpus.corpus import Corpus
from bertviewer.core.schema.architecture import Architecture
from bertviewer.core.schema.source_info import SourceInfo
from bertviewer.core.util.errors import UserError
from bertviewer.report.pictures import Picture

CorpusFigureName = Literal["layers", "heads", "histogram"]
HeadMeasure = Literal["entropy", "distance", "cls", "sep"]


def picture_of_corpus(
    name: str, architecture: Architecture, corpus: Corpus, path: str, measure: str
) -> Picture:
    """Return a figure, not drawn yet.

    Raises:
        UserError: there is none of that name, or it has no such module or measure.
    """
    if name not in _PICTURES:
        raise UserError(f"there is no figure {name!r}; available: {', '.join(_PICTURES)}")
    picture = _PICTURES[name](architecture, corpus, path, measure)
    source = SourceInfo.from_json(corpus.manifest["source"])
    return with_random_words(picture, source, architecture)


def _layers(architecture: Architecture, corpus: Corpus, _path: str, _measure: str) -> Picture:
    from bertviewer.charts.corpus import quantile_chart

    return Picture(quantile_chart(architecture, corpus))


def _heads(architecture: Architecture, corpus: Corpus, _path: str, measure: str) -> Picture:
    from bertviewer.charts.attention import head_measures_chart
    from bertviewer.charts.corpus import corpus_heads

    chosen = next((known for known in get_args(HeadMeasure) if known == measure), None)
    if chosen is None:
        known = ", ".join(get_args(HeadMeasure))
        raise UserError(f"the heads of a corpus have no measure {measure!r}; available: {known}")
    layers, figures = corpus_heads(architecture, corpus)
    if not layers:
        raise UserError("this corpus has no attention to show")
    return Picture(head_measures_chart(layers, figures, chosen), 680, 90 + 22 * len(layers))


def _histogram(_architecture: Architecture, corpus: Corpus, path: str, _measure: str) -> Picture:
    from bertviewer.charts.corpus import corpus_histogram

    sums = corpus.of(path)
    if sums is None:
        raise UserError(f"{path or 'the model'} was not measured in this corpus")
    chart = corpus_histogram(sums)
    if chart is None:
        raise UserError(f"{path or 'the model'} has no two distinct values to plot")
    return Picture(chart)


_PICTURES: dict[str, Callable[[Architecture, Corpus, str, str], Picture]] = {
    "layers": _layers,
    "heads": _heads,
    "histogram": _histogram,
}
