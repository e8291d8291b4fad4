"""Sums over batches are those of each sentence alone, added up by NumPy.

BERT has one stack; in encoder-decoders the rows of each module are tokens of one of the two.
"""

import random
from collections import defaultdict
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from numpy.typing import NDArray

from bertviewer.charts.corpus import corpus_heads, corpus_state_names, quantile_chart
from bertviewer.core.corpus import batches, running
from bertviewer.core.corpus.batches import Batch
from bertviewer.core.corpus.corpus import Corpus
from bertviewer.core.corpus.options import CorpusOptions
from bertviewer.core.loading.loaded_model import LoadedModel
from bertviewer.core.runs.recording import first_tensor
from bertviewer.core.schema.activation_run import Sentence, Token
from bertviewer.core.statistics.histograms import float_bins
from bertviewer.core.tokenization.tokenization import with_decoder
from tests.core.checks.small_models import small_model
from tests.core.corpus.making_corpora import content, corpus_of, made

Floats = NDArray[np.float64]
TOLERANCE = 1e-6
CROSS = {"bart": "encoder_attn", "t5": "EncDecAttention"}
LENGTH = 20


class Alone:
    """The outputs of all modules, and of the model, for each sentence alone."""

    def __init__(self, model: LoadedModel, texts: list[str]) -> None:
        module: Any = model.module(random_weights=True)
        self.values: dict[tuple[str, int], list[Floats]] = defaultdict(list)
        self.tokens: list[tuple[Token, ...]] = []
        self.outputs: list[Any] = []
        self._called: dict[str, int] = {}
        handles = [
            inner.register_forward_hook(self._hook(path)) for path, inner in module.named_modules()
        ]
        used, tokenizer = module.config._attn_implementation, model.tokenizer()
        module.set_attn_implementation("eager")
        try:
            for text in texts:
                tokens = tokenizer.tokenize(Sentence(text))
                if model.architecture.is_encoder_decoder:
                    tokens = (*tokens[: LENGTH - 1], tokens[-1]) if len(tokens) > LENGTH else tokens
                    tokens = with_decoder(tokenizer, tokens, model.architecture)
                self.tokens.append(tokens)
                self.outputs.append(self._run(module, tokens))
        finally:
            module.set_attn_implementation(used)
            for handle in handles:
                handle.remove()

    def _run(self, module: Any, tokens: tuple[Token, ...]) -> Any:
        ids = [[token.id for token in tokens if token.segment == side] for side in (0, 1)]
        more = {"decoder_input_ids": torch.tensor([ids[1]])} if ids[1] else {}
        self._called.clear()
        with torch.no_grad():
            return module(
                input_ids=torch.tensor([ids[0]]),
                output_attentions=True,
                output_hidden_states=True,
                use_cache=False,
                **more,
            )

    def _hook(self, path: str) -> Any:
        def see(_module: Any, _args: Any, output: Any) -> None:
            call = self._called.get(path, 0)
            self._called[path] = call + 1
            if (tensor := first_tensor(output)) is not None:
                self.values[path, call].append(tensor.squeeze(0).double().numpy())

        return see

    def maps(self, kind: str, layer: int) -> list[Floats]:
        """Return the attention weights of a layer, [A, S, S] for each sentence."""
        return [output[kind][layer][0].double().numpy() for output in self.outputs]


@pytest.fixture(scope="module", params=["bert", "bart", "t5"])
def family(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(scope="module")
def options(family: str) -> CorpusOptions:
    if family == "bert":
        return CorpusOptions(batch_tokens=300, shards=3)
    return CorpusOptions(
        limit=30, max_tokens=LENGTH, batch_tokens=120, shards=2, random_weights=True
    )


@pytest.fixture(scope="module")
def own_model(family: str, model: LoadedModel) -> LoadedModel:
    return model if family == "bert" else small_model(family)


@pytest.fixture(scope="module")
def alone(own_model: LoadedModel, texts: list[str], options: CorpusOptions) -> Alone:
    return Alone(own_model, texts[: options.limit])


@pytest.fixture(scope="module")
def out(family: str, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp(family)


@pytest.fixture(scope="module")
def corpus(own_model: LoadedModel, data: Path, out: Path, options: CorpusOptions) -> Corpus:
    return corpus_of(own_model, data, out, options)


def test_sums_of_modules(corpus: Corpus, alone: Alone) -> None:
    source = [token for tokens in alone.tokens for token in tokens]
    is_pair = len(corpus.stacks) == 2
    assert corpus.sentences == len(alone.tokens)
    assert corpus.tokens == len(source) / (2 if is_pair else 1)
    left_out = {(one["path"], one["call"]) for one in corpus.manifest["modules"] if one["left_out"]}
    assert set(corpus.call_keys) == set(alone.values) - left_out
    for path, call in corpus.call_keys:
        values = np.concatenate([part.ravel() for part in alone.values[path, call]])
        found = corpus.of(path, call)
        assert found is not None
        assert found.count == found.histogram.sum() == values.size, path
        assert abs(found.total - values.sum()) <= TOLERANCE * np.abs(values).sum(), path
        assert found.squares == pytest.approx((values * values).sum(), rel=1e-5), path
        # A few roundings away from the sum in another order.
        assert found.min == pytest.approx(values.min(), rel=1e-4, abs=1e-6), path
        assert found.max == pytest.approx(values.max(), rel=1e-4, abs=1e-6), path
        bins = np.bincount(float_bins(values.astype(np.float32)), minlength=len(found.histogram))
        # Values next to an edge may be on its other side.
        assert np.abs(found.histogram - bins).sum() <= 2e-3 * values.size, path


def test_features(corpus: Corpus, alone: Alone) -> None:
    for key, features in corpus.features.items():
        parts = alone.values[key]
        if any(part.ndim > 2 for part in parts):
            continue  # heads and queries have other axes
        rows = np.concatenate([part.reshape(-1, part.shape[-1]) for part in parts])
        size, squares = np.abs(rows).mean(axis=0), (rows * rows).mean(axis=0)
        assert (np.abs(features.mean - rows.mean(axis=0)) <= 1e-5 * size).all(), key
        assert (np.abs(features.variance - rows.var(axis=0)) <= 1e-5 * squares).all(), key
        assert features.max == pytest.approx(rows.max(axis=0), rel=1e-4, abs=1e-6), key


def test_heads(corpus: Corpus, alone: Alone, family: str) -> None:
    def mean(rows: list[Floats]) -> Floats:
        means: Floats = np.concatenate(rows, axis=1).mean(axis=1)
        return means

    assert len(corpus.heads) == (2 if family == "bert" else 6)
    for (path, _), heads in corpus.heads.items():
        is_cross = CROSS.get(family, "-") in path
        stack = "cross_" if is_cross else f"{path.partition('.')[0]}_"
        layer = int(next(part for part in path.split(".") if part.isdecimal()))
        maps = alone.maps("attentions" if family == "bert" else f"{stack}attentions", layer)
        assert set(heads.queries.tolist()) == {sum(p.shape[1] for p in maps)}
        logs = [np.log(np.maximum(p, np.finfo(np.float32).tiny)) for p in maps]
        entropy = [-(p * log).sum(axis=2) for p, log in zip(maps, logs, strict=True)]
        assert heads.entropy == pytest.approx(mean(entropy), rel=1e-5)
        apart = [np.abs(np.subtract.outer(*[np.arange(p.shape[1])] * 2)) for p in maps]
        if is_cross:
            assert np.isnan(heads.distance).all()
        else:
            distance = [(p * a).sum(axis=2) for p, a in zip(maps, apart, strict=True)]
            assert heads.distance == pytest.approx(mean(distance), rel=1e-5)
        if family == "bert":
            assert heads.cls == pytest.approx(mean([p[:, :, 0] for p in maps]), rel=1e-5)
        if family == "bert" or is_cross:  # an encoder's last token is the end of the sentence
            assert heads.sep == pytest.approx(mean([p[:, :, -1] for p in maps]), rel=1e-5)


def test_outliers_of_hidden_states(corpus: Corpus, alone: Alone) -> None:
    assert corpus.outliers is not None
    tokens = np.zeros(corpus.outliers.tokens.shape, np.int64)
    sentences = np.zeros_like(tokens)
    for output in alone.outputs:
        kinds = ("hidden_states", "encoder_hidden_states", "decoder_hidden_states")
        states = [state for kind in kinds for state in output.get(kind) or ()]
        for number, state in enumerate(states):
            values = state[0].double().numpy()
            is_outlier = np.abs(values - values.mean()) > 6 * values.std()
            tokens[number] += is_outlier.sum(axis=0)
            sentences[number] += is_outlier.any(axis=0)
    assert corpus.outliers.tokens.tolist() == tokens.tolist()
    assert corpus.outliers.sentences.tolist() == sentences.tolist()
    assert len(corpus.manifest["states"]) == len(tokens)


def test_classes_of_tokens(corpus: Corpus, alone: Alone, family: str) -> None:
    rows: dict[str, dict[str, int]] = defaultdict(dict)
    for row in corpus.rows:
        if row.call == 0:
            rows[row.path][row.token_class] = row.count
    if family == "bert":
        assert list(rows["encoder"]) == ["content", "cls", "sep"]
        assert rows["encoder"]["cls"] == rows["encoder"]["sep"] == 200 * 32
        assert list(rows["pooler"]) == ["sentence"]
        return
    for path, counts in rows.items():
        of_decoder = {name.startswith("decoder_") for name in counts}
        projections = (".k", ".v", ".k_proj", ".v_proj")
        reads_encoder = f"{CROSS[family]}." in path and path.endswith(projections)
        if path.startswith("encoder") or reads_encoder:
            assert of_decoder == {False}, path
        elif path.startswith("decoder") or not path:
            assert of_decoder == {True}, path
    target = [token for tokens in alone.tokens for token in tokens if token.segment]
    content_tokens = sum(not token.is_special for token in target)
    assert rows["decoder"]["decoder_content"] == content_tokens * 24


def test_charts_of_two_stacks(own_model: LoadedModel, corpus: Corpus, family: str) -> None:
    if family == "bert":
        return
    assert corpus_state_names(corpus)[2:4] == ("encoder, layer 1", "decoder, embeddings")
    assert len(quantile_chart(own_model.architecture, corpus).lines) == 2
    layers, figures = corpus_heads(own_model.architecture, corpus)
    assert len(layers) == 6
    assert sum(each.get("distance") is None for each in figures.values()) == 2


def test_padding_is_in_no_sum(  # noqa: PLR0917
    own_model: LoadedModel,
    data: Path,
    out: Path,
    corpus: Corpus,
    options: CorpusOptions,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    chance = random.Random(1)

    def padded(*arguments: Any) -> Batch:
        batch = batches.batch_of(*arguments)
        for side in filter(None, (batch.source, batch.target)):
            for row, length in enumerate(batch.lengths.tolist()):
                rest = batch.mask.shape[1] - length
                side.ids[row, length:] = [chance.randrange(3, 97) for _ in range(rest)]
        return batch

    monkeypatch.setattr(running, "batch_of", padded)
    made(own_model, data, tmp_path, options)
    assert content(tmp_path) == content(out)
