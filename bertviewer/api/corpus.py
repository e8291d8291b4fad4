"""What a model does to many sentences, as a script reads it."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from msgspec.structs import asdict

from bertviewer.api.corpus_comparison import CorpusComparison
from bertviewer.api.errors import in_one_line
from bertviewer.api.tables import Row, quantile_names
from bertviewer.core.util.errors import UserError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from bertviewer.api.corpus_pictures import CorpusFigureName, HeadMeasure
    from bertviewer.api.figure import Figure
    from bertviewer.core.corpus import corpus as core
    from bertviewer.core.loading.loaded_model import LoadedModel

QUANTILES = (0.01, 0.05, 0.25, 0.5, 0.75, 0.95, 0.99)


class BinnedValues(NamedTuple):
    """How many finite values are in each bin, and the edges around the bins.

    The bins of every module and every corpus are the same: counts may be added.
    """

    counts: NDArray[Any]
    edges: NDArray[Any]


class Corpus:
    """Many sentences' way through a model: the sums that are in a folder.

    Tables are lists of plain dicts. Modules whose tensor is another one's have the other's figures.

        >>> import bertviewer
        >>> from pathlib import Path
        >>> sentences = "Hello, BERT.", "The cat sat on the mat."
        >>> _ = Path("lines.txt").write_text(chr(10).join(sentences))
        >>> corpus = bertviewer.open("demo").corpus("lines.txt", folder="out")
        >>> corpus.sentences, corpus.tokens
        (2, 15)
        >>> corpus.heads(0)["entropy"].shape
        (12,)

    Attributes:
        folder: where it is.
    """

    def __init__(
        self, folder: Path, data: core.Corpus | None = None, model: LoadedModel | None = None
    ) -> None:
        """Corpora come from ``Model.corpus`` and ``bertviewer.open_corpus``."""
        self.folder = folder
        self._data = data
        self._model = model

    def __repr__(self) -> str:
        return f"<bertviewer.Corpus {str(self.folder)!r}>"

    def __getstate__(self) -> dict[str, Any]:
        # Whoever reads it elsewhere has its model there, or opens it.
        return {**self.__dict__, "_model": None}

    def _repr_html_(self) -> str:
        from bertviewer.api.notebook import table_html

        name = self.to_json()["source"].get("name")
        title = f"{name}: {self.sentences:,} sentences, {self.tokens:,} tokens"
        if self.is_random:
            title += " (random weights)"
        names = ("path", "class", "mean", "std", "q5", "q50", "q95", "min", "max")
        header = ("Module", "Class", "Mean", "Std", "5%", "50%", "95%", "Min", "Max")
        rows = ([row[name] for name in names] for row in self.statistics())
        return table_html(title, header, rows)

    @property
    @in_one_line
    def data(self) -> core.Corpus:
        """All figures, as plain frozen data; read now in a process that was not the first one."""
        if self._data is None:
            from bertviewer.core.corpus.reading import read_corpus

            self._data = read_corpus(self.folder)
        return self._data

    @property
    def sentences(self) -> int:
        """How many sentences were run."""
        return self.data.sentences

    @property
    def tokens(self) -> int:
        """How many tokens, without padding."""
        return self.data.tokens

    @property
    def is_random(self) -> bool:
        """Whether all weights were drawn at random, so that no figure means anything."""
        return bool(self.to_json()["source"].get("weights") == "random")

    def to_json(self) -> dict[str, Any]:
        """Return the document ``bertviewer.corpus/1``: what manifest.json says."""
        return dict(self.data.manifest)

    def summary(self) -> str:
        """Return what ``bertviewer corpus`` prints."""
        from bertviewer.report.corpus_text import corpus_text

        return corpus_text(self.data)

    @in_one_line
    def statistics(
        self, *, by_class: bool = False, quantiles: Sequence[float] = QUANTILES
    ) -> list[Row]:
        """Return a row for each call of a module: statistics and quantiles of what it gave.

        Args:
            by_class: whether there is a row for each class of tokens: content, cls, sep, mask and
                special; "sentence" for what is given once for each.
            quantiles: shares from 0 to 1; ``q5`` is the value below which 5 % lie. They are read
                off bins a quarter of their lower end wide at most.
        """
        from bertviewer.core.schema.statistics import STATISTIC_NAMES, statistic_value

        if not all(0 <= share <= 1 for share in quantiles):
            raise UserError(f"quantiles must be from 0 to 1, not {list(quantiles)}")
        names, shares = quantile_names(quantiles), tuple(quantiles)
        classes = {module["path"]: module["class"] for module in self.data.manifest["modules"]}
        rows = self.data.rows if by_class else self.data.calls.values()
        return [
            {
                "path": row.path,
                "class": classes.get(row.path, ""),
                "call": row.call,
                "tokens": row.token_class if by_class else "all",
                "count": row.count,
                **{name: statistic_value(row.statistics, name) for name in STATISTIC_NAMES},
                **dict(zip(names, row.quantiles(shares) or [None] * len(names), strict=True)),
            }
            for row in rows
        ]

    @in_one_line
    def histogram(self, path: str = "", *, call: int | None = None) -> BinnedValues:
        """Return the values that a module gave, at all tokens, in the corpus's own fine bins.

        Args:
            path: the module, "" for the model itself.
            call: one of its calls; all together if left out.
        """
        from bertviewer.core.statistics.histograms import float_edges, in_order

        return BinnedValues(in_order(_sums(self.data, path, call).histogram), float_edges()[1])

    @in_one_line
    def features(self, path: str = "", *, call: int = 0) -> dict[str, NDArray[Any]]:
        """Return the features of what a module gave, [D] each, over all tokens.

        They are ``count``, ``mean``, ``variance``, ``min`` and ``max``.
        """
        _sums(self.data, path, call)
        found = self.data.features.get(_origin(self.data, path, call))
        if found is None:
            raise UserError(f"{path or 'the model'} has no features in this corpus")
        return _arrays(found)

    def attentions(self) -> list[Row]:
        """Return a row for each attention whose heads were measured."""
        return [
            {"path": path, "call": call, "heads": len(found.queries)}
            for (path, call), found in self.data.heads.items()
        ]

    @in_one_line
    def heads(self, layer: int | str = 0, *, call: int = 0) -> dict[str, NDArray[Any]]:
        """Return the heads of an attention, means over all queries, [A] each.

        They are ``queries``, ``entropy`` in nats, ``distance`` in tokens, and the shares that go to
        the start token and to separators, ``cls`` and ``sep``.

        Args:
            layer: the number of a layer, or the path of an attention, as ``attentions()`` has it.
            call: which call of an attention that layers share, if it is named by its path.
        """
        if not isinstance(layer, str):
            from bertviewer.api.closer_look import chosen_attention
            from bertviewer.charts.corpus import corpus_heads

            known, _ = corpus_heads(self._opened.architecture, self.data)
            one = chosen_attention(known, layer, call)
            layer, call = one.path, one.call
        found = self.data.heads.get((layer, call))
        if found is None:
            paths = ", ".join(dict.fromkeys(path for path, _ in self.data.heads)) or "none"
            raise UserError(f"there is no attention {layer!r}; available: {paths}")
        return _arrays(found)

    def outlier_features(self) -> list[Row]:
        """Return a row for each feature that is an outlier in a twentieth of the sentences or more.

        ``state`` is the hidden state where it is one in most, ``share`` in how many of them,
        ``farthest`` how many standard deviations it was from a sentence's mean at most.
        """
        from bertviewer.core.corpus.corpus import outlier_rows

        return [asdict(row) for row in outlier_rows(self.data)]

    @in_one_line
    def figure(
        self, name: CorpusFigureName, *, path: str = "", measure: HeadMeasure = "entropy"
    ) -> Figure:
        """Return a figure of the corpus; its model is opened for it if that comes with the program.

        Args:
            name: ``layers`` (the median of each layer's output, and 5 % to 95 %), ``heads`` (a
                measure of all heads) or ``histogram`` (of what the module at ``path`` gave).
            path: a module.
            measure: entropy, distance, cls or sep.
        """
        from bertviewer.api.corpus_pictures import picture_of_corpus
        from bertviewer.api.figure import Figure

        model = self._opened
        picture = picture_of_corpus(name, model.architecture, self.data, path, measure)
        return Figure(name, picture, model.architecture, model.source)

    @in_one_line
    def compare(self, right: Corpus) -> CorpusComparison:
        """Compare another corpus with this one: modules, heads and outlier features."""
        from bertviewer.core.corpus.comparison import compare_corpora

        return CorpusComparison(compare_corpora(self.data, right.data))

    @property
    def _opened(self) -> LoadedModel:
        if self._model is None:
            self._model = _own_model(self.folder, self.data)
        return self._model


def _own_model(folder: Path, data: core.Corpus) -> LoadedModel:
    """Open the model that a corpus is of, if it comes with the program."""
    from bertviewer.core.corpus.corpus import check_model
    from bertviewer.core.loading.opening import open_model
    from bertviewer.core.sources.parsing import parse_source

    source = data.manifest["source"]
    if source.get("kind") not in ("preset", "demo"):
        raise UserError(
            f"{folder}: this needs the model of the corpus, {source.get('name')}; use "
            "bertviewer.open_corpus(folder, model)"
        )
    model = open_model(parse_source(source["name"], source["task"]))
    check_model(data, model.architecture)
    return model


def _sums(data: core.Corpus, path: str, call: int | None) -> core.ClassSums:
    """Return what a module gave at all tokens."""
    found = data.of(path, call)
    if found is None:
        name = path or "the model"
        is_known = call is not None and data.of(path) is not None
        which = f"call {call} of {name}" if is_known else name
        raise UserError(f"{which} was not measured in this corpus")
    return found


def _origin(data: core.Corpus, path: str, call: int) -> tuple[str, int]:
    """Return which call made what this one gave: the same, or one whose tensor it hands on."""
    for module in data.manifest["modules"]:
        if (module["path"], module["call"]) == (path, call) and module["same_as"]:
            other, number = module["same_as"]
            return other, number
    return path, call


def _arrays(found: core.Features | core.Heads) -> dict[str, NDArray[Any]]:
    return {name: getattr(found, name) for name in found.__struct_fields__}
