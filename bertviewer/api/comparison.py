"""Comparisons of two models and of two corpora, for scripts."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from bertviewer.api.tables import Row, quantile_names, table_html

if TYPE_CHECKING:
    from bertviewer.core.comparison import comparison as models
    from bertviewer.core.corpus import comparison as corpora

_SIDES = ("left", "right")


class Comparison:
    """The differences between two models, right − left.

    Attributes:
        data: the comparison as frozen data.
    """

    def __init__(self, data: "models.Comparison") -> None:
        """Use ``bertviewer.compare`` or ``Model.compare``."""
        self.data = data

    def __repr__(self) -> str:
        left, right = self.data.left.name, self.data.right.name
        return f"<bertviewer.Comparison of {left!r} with {right!r}>"

    def _repr_html_(self) -> str:
        rows = [
            (row["name"], row["state"], row["relative"], row["max_abs"])
            for row in self.tensors()
            if row["state"] != "same"
        ]
        title = f"{self.data.left.name} → {self.data.right.name}: " + ", ".join(
            f"{count:,} {state}" for state, count in self.counts.items() if count
        )
        return table_html(title, ("Tensor", "State", "‖Δ‖ / ‖left‖", "Max |Δ|"), rows)

    @property
    def counts(self) -> Mapping[str, int]:
        """The number of tensors by state: same, changed, other shape, only left, only right …."""
        return {str(state): count for state, count in self.data.counts.items()}

    @property
    def config(self) -> Mapping[str, tuple[Any, Any]]:
        """The configuration keys that differ, with both values; ``None`` for no value."""
        return {key.key: (key.left, key.right) for key in self.data.keys}

    def tensors(self) -> list[Row]:
        """Return a row for each tensor: state, shape and dtype on both sides, and distances.

        Distances are NaN, and counts 0, for tensors that cannot be compared.
        """
        return [_tensor_row(tensor) for tensor in self.data.tensors]

    def summary(self) -> str:
        """Return the output of ``bertviewer compare``."""
        from bertviewer.report.summary import comparison_text

        return comparison_text(self.data)

    def to_json(self) -> dict[str, Any]:
        """Return the document ``bertviewer.comparison/1``."""
        return self.data.to_json()


def _tensor_row(tensor: "models.ComparedTensor") -> Row:
    change, nan = tensor.change, float("nan")
    measures = ("max_abs", "rms", "relative", "cosine")
    found = {name: None if change is None else getattr(change, name) for name in measures}
    return {
        "name": tensor.name,
        "state": tensor.state,
        "left_shape": [] if tensor.left is None else list(tensor.left.shape),
        "left_dtype": "" if tensor.left is None else tensor.left.dtype,
        "right_shape": [] if tensor.right is None else list(tensor.right.shape),
        "right_dtype": "" if tensor.right is None else tensor.right.dtype,
        "equal": 0 if change is None else change.equal,
        "count": 0 if change is None else change.count,
        **{name: nan if value is None else value for name, value in found.items()},
    }


class CorpusComparison:
    """The differences between two corpora; columns of its tables start with left or right.

    Attributes:
        data: the comparison as frozen data.
    """

    def __init__(self, data: "corpora.CorpusComparison") -> None:
        """Use ``bertviewer.compare`` or ``Corpus.compare``."""
        self.data = data

    def __repr__(self) -> str:
        counts = " and ".join(f"{each.sentences:,}" for each in (self.data.left, self.data.right))
        return f"<bertviewer.CorpusComparison of {counts} sentences>"

    def _repr_html_(self) -> str:
        names = ("path", "distance", "left_mean", "right_mean", "left_std", "right_std")
        rows = ([row[name] for name in names] for row in self.modules())
        title = " → ".join(
            f"{each.manifest['source'].get('name')}, {each.sentences:,} sentences"
            for each in (self.data.left, self.data.right)
        )
        return table_html(title, ("Module", "Distance", "Mean", "→", "Std", "→"), rows)

    def modules(self) -> list[Row]:
        """Return a row for each call in both corpora: statistics, quantiles and ``distance``.

        The distance is the Jensen-Shannon distance of the histograms, from 0 to 1; the largest
        comes first.
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
        """Return a row for each head in both corpora: entropy, distance, cls and sep."""
        return [
            {
                **{key: head[key] for key in ("path", "call", "head")},
                **{f"{side}_{key}": value for side in _SIDES for key, value in head[side].items()},
            }
            for head in self.to_json()["heads"]
        ]

    def outlier_features(self) -> list[Row]:
        """Return a row for each outlier feature of either corpus, with its share of sentences."""
        rows: list[Row] = self.to_json()["outlier_features"]
        return rows

    def summary(self) -> str:
        """Return the output of ``bertviewer compare`` for two corpora."""
        from bertviewer.report.corpus_text import comparison_text

        return comparison_text(self.data)

    def to_json(self) -> dict[str, Any]:
        """Return the document ``bertviewer.corpus-comparison/1``."""
        return self.data.to_json()
