"""Statistics of a model over many sentences, for scripts."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from msgspec.structs import asdict

from bertviewer.api.comparison import CorpusComparison
from bertviewer.api.errors import with_error_lines
from bertviewer.api.tables import Row, quantile_names, table_html
from bertviewer.core.util.errors import UserError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from bertviewer.api.figure import Figure
    from bertviewer.api.pictures import CorpusFigureName, HeadMeasure
    from bertviewer.core.corpus import corpus as core
    from bertviewer.core.loading.loaded_model import LoadedModel

QUANTILES = (0.01, 0.05, 0.25, 0.5, 0.75, 0.95, 0.99)


class BinnedValues(NamedTuple):
    """The number of finite values in each bin, and the edges of the bins.

    All modules and corpora have the same bins: counts can be added.
    """

    counts: NDArray[Any]
    edges: NDArray[Any]


class Corpus:
    """Statistics of a model over many sentences, stored in a folder.

    Tables are lists of plain dicts. A module that returns another one's tensor has its statistics.

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
        folder: the folder.
    """

    def __init__(
        self, folder: Path, data: core.Corpus | None = None, model: LoadedModel | None = None
    ) -> None:
        """Use ``Model.corpus`` or ``bertviewer.open_corpus``."""
        self.folder = folder
        self._data = data
        self._model = model

    def __repr__(self) -> str:
        return f"<bertviewer.Corpus {str(self.folder)!r}>"

    def __getstate__(self) -> dict[str, Any]:
        # Another process opens its own model.
        return {**self.__dict__, "_model": None}

    def _repr_html_(self) -> str:
        name = self.to_json()["source"].get("name")
        title = f"{name}: {self.sentences:,} sentences, {self.tokens:,} tokens"
        if self.is_random:
            title += " (random weights)"
        names = ("path", "class", "mean", "std", "q5", "q50", "q95", "min", "max")
        header = ("Module", "Class", "Mean", "Std", "5%", "50%", "95%", "Min", "Max")
        rows = ([row[name] for name in names] for row in self.statistics())
        return table_html(title, header, rows)

    @property
    @with_error_lines
    def data(self) -> core.Corpus:
        """The corpus as frozen data; the first process has it, others read it when needed."""
        if self._data is None:
            from bertviewer.core.corpus.reading import read_corpus

            self._data = read_corpus(self.folder)
        return self._data

    @property
    def sentences(self) -> int:
        """The number of sentences."""
        return self.data.sentences

    @property
    def tokens(self) -> int:
        """The number of tokens, without padding."""
        return self.data.tokens

    @property
    def is_random(self) -> bool:
        """Whether all weights are random, so that results are meaningless."""
        return bool(self.to_json()["source"].get("weights") == "random")

    def to_json(self) -> dict[str, Any]:
        """Return the document ``bertviewer.corpus/1``, the content of manifest.json."""
        return dict(self.data.manifest)

    def summary(self) -> str:
        """Return the output of ``bertviewer corpus``."""
        from bertviewer.report.corpus_text import corpus_text

        return corpus_text(self.data)

    @with_error_lines
    def statistics(
        self, *, by_class: bool = False, quantiles: Sequence[float] = QUANTILES
    ) -> list[Row]:
        """Return a row for each call of a module: statistics and quantiles of its output.

        Args:
            by_class: whether to return a row for each class of tokens: content, cls, sep, mask and
                special; "sentence" for outputs that are not per token.
            quantiles: fractions from 0 to 1; ``q5`` is the value below which 5% lie. They are
                interpolated from histograms, with a relative error of at most 25%.
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

    @with_error_lines
    def histogram(self, path: str = "", *, call: int | None = None) -> BinnedValues:
        """Return the histogram of a module's output at all tokens.

        Args:
            path: the module, "" for the model.
            call: index of one of its calls; all together by default.
        """
        from bertviewer.core.statistics.histograms import float_edges, in_order

        return BinnedValues(in_order(_sums(self.data, path, call).histogram), float_edges()[1])

    @with_error_lines
    def features(self, path: str = "", *, call: int = 0) -> dict[str, NDArray[Any]]:
        """Return statistics of each feature of a module's output over all tokens, [D] each.

        They are ``count``, ``mean``, ``variance``, ``min`` and ``max``.
        """
        _sums(self.data, path, call)
        found = self.data.features.get(_origin(self.data, path, call))
        if found is None:
            raise UserError(f"{path or 'the model'} has no features in this corpus")
        return _arrays(found)

    def attentions(self) -> list[Row]:
        """Return a row for each attention module that was measured."""
        return [
            {"path": path, "call": call, "heads": len(found.queries)}
            for (path, call), found in self.data.heads.items()
        ]

    @with_error_lines
    def heads(self, layer: int | str = 0, *, call: int = 0) -> dict[str, NDArray[Any]]:
        """Return measures of the heads of an attention module, means over all queries, [A] each.

        They are ``queries``, ``entropy`` in nats, ``distance`` in tokens, and the attention to
        the start token and to separators, ``cls`` and ``sep``.

        Args:
            layer: number of a layer, or path of an attention module as in ``attentions()``.
            call: index of a shared module's call, if ``layer`` is a path.
        """
        if not isinstance(layer, str):
            from bertviewer.charts.corpus import corpus_heads
            from bertviewer.report.run_details import find_attention

            known, _ = corpus_heads(self._opened.architecture, self.data)
            attention = find_attention(known, layer, call)
            layer, call = attention.path, attention.call
        found = self.data.heads.get((layer, call))
        if found is None:
            paths = ", ".join(dict.fromkeys(path for path, _ in self.data.heads)) or "none"
            raise UserError(f"there is no attention {layer!r}; available: {paths}")
        return _arrays(found)

    def outlier_features(self) -> list[Row]:
        """Return a row for each feature that is an outlier in at least 5% of the sentences.

        ``state`` is the hidden state where this is most frequent, ``share`` the fraction of
        sentences, ``farthest`` the largest deviation from a sentence's mean in standard
        deviations.
        """
        from bertviewer.core.corpus.corpus import outlier_rows

        return [asdict(row) for row in outlier_rows(self.data)]

    @with_error_lines
    def figure(
        self, name: CorpusFigureName, *, path: str = "", measure: HeadMeasure = "entropy"
    ) -> Figure:
        """Return a figure of the corpus. A built-in model is opened for it.

        Args:
            name: ``layers`` (median and 5% to 95% of each layer's output), ``heads`` (a measure
                of all heads) or ``histogram`` (of the output of the module at ``path``).
            path: a module.
            measure: entropy, distance, cls or sep.
        """
        from bertviewer.api.figure import Figure
        from bertviewer.api.pictures import picture_of_corpus

        model = self._opened
        picture = picture_of_corpus(name, model.architecture, self.data, path, measure)
        return Figure(name, picture, model.architecture, model.source)

    @with_error_lines
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
    """Open the model of a corpus, if it is built in."""
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
    """Return the sums of a module's output at all tokens."""
    found = data.of(path, call)
    if found is None:
        name = path or "the model"
        is_known = call is not None and data.of(path) is not None
        which = f"call {call} of {name}" if is_known else name
        raise UserError(f"{which} was not measured in this corpus")
    return found


def _origin(data: core.Corpus, path: str, call: int) -> tuple[str, int]:
    """Return the call that computed a module's output: the same, or one whose tensor it returns."""
    for module in data.manifest["modules"]:
        if (module["path"], module["call"]) == (path, call) and module["same_as"]:
            other, number = module["same_as"]
            return other, number
    return path, call


def _arrays(found: core.Features | core.Heads) -> dict[str, NDArray[Any]]:
    return {name: getattr(found, name) for name in found.__struct_fields__}
