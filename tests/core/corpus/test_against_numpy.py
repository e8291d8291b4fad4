"""The sums of 200 sentences in batches, against each sentence alone, added up by numpy."""

from collections import defaultdict
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from numpy.typing import NDArray

from bertviewer.core.analysis.outliers import outlier_features
from bertviewer.core.corpus.corpus import Corpus
from bertviewer.core.corpus.options import CorpusOptions
from bertviewer.core.loading.loaded_model import LoadedModel
from bertviewer.core.runs.recording import first_tensor
from bertviewer.core.runs.running import run_sentence
from bertviewer.core.schema.activation_run import Sentence
from bertviewer.core.statistics.histograms import float_bins
from tests.core.corpus.making_corpora import made

TOLERANCE = 1e-6
FEW = 40


class Alone:
    """What each module gave for each sentence alone, in float64, and what the heads look at."""

    def __init__(self, model: LoadedModel, texts: list[str]) -> None:
        module: Any = model.module(random_weights=False)
        self.values: dict[str, list[NDArray[np.float64]]] = defaultdict(list)
        self.heads: dict[int, list[NDArray[np.float64]]] = defaultdict(list)
        self.tokens = 0
        handles = [
            inner.register_forward_hook(self._note(path)) for path, inner in module.named_modules()
        ]
        used = module.config._attn_implementation
        try:
            module.set_attn_implementation("eager")
            for text in texts:
                ids = torch.tensor([[t.id for t in model.tokenizer().tokenize(Sentence(text))]])
                self.tokens += ids.shape[1]
                with torch.no_grad():
                    output = module(input_ids=ids, output_attentions=True)
                for layer, shares in enumerate(output.attentions):
                    self.heads[layer].append(shares[0].double().numpy())
        finally:
            module.set_attn_implementation(used)
            for handle in handles:
                handle.remove()

    def _note(self, path: str) -> Any:
        def hook(_module: Any, _args: Any, output: Any) -> None:
            tensor = first_tensor(output)
            assert tensor is not None
            self.values[path].append(tensor[0].double().numpy())

        return hook


@pytest.fixture(scope="module")
def alone(model: LoadedModel, texts: list[str]) -> Alone:
    return Alone(model, texts)


@pytest.fixture(scope="module")
def corpus(model: LoadedModel, data: Path, tmp_path_factory: pytest.TempPathFactory) -> Corpus:
    found = made(
        model, data, tmp_path_factory.mktemp("out"), CorpusOptions(batch_tokens=300, shards=3)
    )
    assert found is not None
    return found


def test_all_modules_are_there(corpus: Corpus, alone: Alone) -> None:
    assert {path for path, _ in corpus.call_keys} == set(alone.values)
    assert (corpus.sentences, corpus.tokens) == (200, alone.tokens)


def test_sums(corpus: Corpus, alone: Alone) -> None:
    for path, parts in alone.values.items():
        values = np.concatenate([part.reshape(-1) for part in parts])
        found = corpus.of(path)
        assert found is not None
        assert found.count == values.size, path
        size = np.abs(values).sum()
        assert abs(found.total - values.sum()) <= TOLERANCE * size, path
        assert found.squares == pytest.approx((values * values).sum(), rel=TOLERANCE), path
        # One value in float32, a few roundings away from that of another order of additions.
        assert found.min == pytest.approx(values.min(), rel=1e-5), path
        assert found.max == pytest.approx(values.max(), rel=1e-5), path
        assert found.histogram.sum() == values.size
        bins = np.bincount(float_bins(values.astype(np.float32)), minlength=len(found.histogram))
        # What lies within a rounding of an edge may be on its other side.
        assert np.abs(found.histogram - bins).sum() <= 1e-3 * values.size, path


def test_features(corpus: Corpus, alone: Alone) -> None:
    for (path, _call), features in corpus.features.items():
        rows = np.concatenate([part.reshape(-1, part.shape[-1]) for part in alone.values[path]])
        size = np.abs(rows).mean(axis=0)
        assert (np.abs(features.mean - rows.mean(axis=0)) <= TOLERANCE * size).all(), path
        squares = (rows * rows).mean(axis=0)
        assert (np.abs(features.variance - rows.var(axis=0)) <= TOLERANCE * squares).all(), path
        assert features.max == pytest.approx(rows.max(axis=0), rel=1e-5, abs=1e-6), path


def test_heads(corpus: Corpus, alone: Alone) -> None:
    for layer, ((path, _call), heads) in enumerate(corpus.heads.items()):
        assert path == f"encoder.layer.{layer}.attention.self"
        maps = alone.heads[layer]
        assert heads.queries.tolist() == [alone.tokens] * 4

        def mean(rows: list[NDArray[np.float64]]) -> NDArray[np.float64]:
            means: NDArray[np.float64] = np.concatenate(rows, axis=1).mean(axis=1)
            return means

        entropy = mean([-(p * np.log(p)).sum(axis=2) for p in maps])
        apart = [np.abs(np.subtract.outer(*[np.arange(p.shape[1])] * 2)) for p in maps]
        distance = mean([(p * a).sum(axis=2) for p, a in zip(maps, apart, strict=True)])
        assert heads.entropy == pytest.approx(entropy, rel=TOLERANCE)
        assert heads.distance == pytest.approx(distance, rel=TOLERANCE)
        assert heads.cls == pytest.approx(mean([p[:, :, 0] for p in maps]), rel=TOLERANCE)
        assert heads.sep == pytest.approx(mean([p[:, :, -1] for p in maps]), rel=TOLERANCE)


def test_outliers(model: LoadedModel, data: Path, texts: list[str], tmp_path: Path) -> None:
    corpus = made(model, data, tmp_path, CorpusOptions(limit=FEW))
    assert corpus is not None
    assert corpus.outliers is not None
    tokens = np.zeros_like(corpus.outliers.tokens)
    sentences = np.zeros_like(tokens)
    for text in texts[:FEW]:
        for feature in outlier_features(run_sentence(model, Sentence(text))):
            for outlier in feature.outliers:
                tokens[outlier.state, feature.index] += outlier.tokens
                sentences[outlier.state, feature.index] += 1
    assert tokens.any()
    assert np.abs(corpus.outliers.tokens - tokens).sum() <= 1e-3 * tokens.sum()
    assert np.abs(corpus.outliers.sentences - sentences).sum() <= 1e-3 * sentences.sum()


def test_classes_of_tokens(corpus: Corpus) -> None:
    rows = {row.token_class: row for row in corpus.rows if row.path == "encoder"}
    assert list(rows) == ["content", "cls", "sep"]
    assert rows["cls"].count == rows["sep"].count == 200 * 32
    assert [row.token_class for row in corpus.rows if row.path == "pooler"] == ["sentence"]
