"""Two corpora side by side, as a script reads it."""

from typing import TYPE_CHECKING, Any

from bertviewer.api.tables import Row, quantile_names

if TYPE_CHECKING:
    from bertviewer.core.corpus import comparison as core

_SIDES = ("left", "right")


class CorpusComparison:
    """How the right corpus differs from the left one; columns of the tables say which of the two.

    Attributes:
        data: all of it, as plain frozen data.
    """

    def __init__(self, data: "core.CorpusComparison") -> None:
        """They come from ``bertviewer.compare`` and ``Corpus.compare``."""
        self.data = data

    def __repr__(self) -> str:
        counts = " and ".join(f"{one.sentences:,}" for one in (self.data.left, self.data.right))
        return f"<bertviewer.CorpusComparison of {counts} sentences>"

    def _repr_html_(self) -> str:
        from bertviewer.api.notebook import table_html

        names = ("path", "distance", "left_mean", "right_mean", "left_std", "right_std")
        rows = ([row[name] for name in names] for row in self.modules())
        title = " → ".join(
            f"{one.manifest['source'].get('name')}, {one.sentences:,} sentences"
            for one in (self.data.left, self.data.right)
        )
        return table_html(title, ("Module", "Distance", "Mean", "→", "Std", "→"), rows)

    def modules(self) -> list[Row]:
        """Return a row for each call that both have: figures, quantiles, and ``distance``.

        That is Jensen-Shannon's of the histograms, from 0 to 1; the farthest are first.
        """
        document = self.to_json()
        names = quantile_names(document["quantiles"])
        rows = []
        for module in document["modules"]:
            row = {key: module[key] for key in ("path", "call", "distance")}
            for side in _SIDES:
                figures = dict(module[side])
                quantiles = figures.pop("quantiles") or [None] * len(names)
                figures |= zip(names, quantiles, strict=True)
                row |= {f"{side}_{name}": value for name, value in figures.items()}
            rows.append(row)
        return rows

    def heads(self) -> list[Row]:
        """Return a row for each head that both have: entropy, distance, shares at [CLS], [SEP]."""
        return [
            {
                **{key: head[key] for key in ("path", "call", "head")},
                **{f"{side}_{key}": value for side in _SIDES for key, value in head[side].items()},
            }
            for head in self.to_json()["heads"]
        ]

    def outlier_features(self) -> list[Row]:
        """Return a row for each feature that is an outlier in either, with its shares of both."""
        rows: list[Row] = self.to_json()["outlier_features"]
        return rows

    def summary(self) -> str:
        """Return what ``bertviewer compare`` prints of two corpora."""
        from bertviewer.report.corpus_text import comparison_text

        return comparison_text(self.data)

    def to_json(self) -> dict[str, Any]:
        """Return the document ``bertviewer.corpus-comparison/1``."""
        return self.data.to_json()
