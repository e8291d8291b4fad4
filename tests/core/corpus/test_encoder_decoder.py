"""Models with an encoder and a decoder: each module's rows are the tokens of one of the two."""

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
from bertviewer.core.tokenization.tokenization import with_decoder
from tests.core.checks.small_models import small_model
from tests.core.corpus.making_corpora import content, made

TOLERANCE = 1e-6
SENTENCES = 30
CHOICES = CorpusOptions(
    limit=SENTENCES, max_tokens=20, batch_tokens=120, shards=2, random_weights=True
)
CROSS = {"bart": "encoder_attn", "mbart": "encoder_attn", "t5": "EncDecAttention"}


class Alone:
    """What each call of a module gave for each sentence alone, and what the model gave."""

    def __init__(self, model: LoadedModel, texts: list[str]) -> None:
        module: Any = model.module(random_weights=True)
        self.values: dict[tuple[str, int], list[NDArray[np.float64]]] = defaultdict(list)
        self.tokens: list[tuple[list[Token], list[Token]]] = []
        self.outputs: list[Any] = []
        self._called: dict[str, int] = {}
        handles = [
            inner.register_forward_hook(self._note(path)) for path, inner in module.named_modules()
        ]
        used, tokenizer = module.config._attn_implementation, model.tokenizer()
        try:
            module.set_attn_implementation("eager")
            for text in texts:
                read = tokenizer.tokenize(Sentence(text))
                read = (*read[:19], read[-1]) if len(read) > 20 else read
                both = with_decoder(tokenizer, read, model.architecture)
                sides = [[t for t in both if t.segment == side] for side in (0, 1)]
                self.tokens.append((sides[0], sides[1]))
                ids = [torch.tensor([[token.id for token in side]]) for side in sides]
                self._called.clear()
                with torch.no_grad():
                    self.outputs.append(
                        module(
                            input_ids=ids[0],
                            decoder_input_ids=ids[1],
                            output_attentions=True,
                            output_hidden_states=True,
                            use_cache=False,
                        )
                    )
        finally:
            module.set_attn_implementation(used)
            for handle in handles:
                handle.remove()

    def _note(self, path: str) -> Any:
        def hook(_module: Any, _args: Any, output: Any) -> None:
            tensor = first_tensor(output)
            call = self._called.get(path, 0)
            self._called[path] = call + 1
            if tensor is not None:
                self.values[path, call].append(tensor.double().numpy())

        return hook


@pytest.fixture(scope="module", params=["bart", "mbart", "t5"])
def family(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(scope="module")
def model(family: str) -> LoadedModel:
    return small_model(family)


@pytest.fixture(scope="module")
def alone(model: LoadedModel, texts: list[str]) -> Alone:
    return Alone(model, texts[:SENTENCES])


@pytest.fixture(scope="module")
def folder(model: LoadedModel, data: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("out")
    made(model, data, out, CHOICES)
    return out


@pytest.fixture(scope="module")
def corpus(model: LoadedModel, data: Path, folder: Path) -> Corpus:
    found = made(model, data, folder, CHOICES)
    assert found is not None
    return found


def test_sums(corpus: Corpus, alone: Alone) -> None:
    assert corpus.tokens == sum(len(source) for source, _ in alone.tokens)
    left_out = {(one["path"], one["call"]) for one in corpus.manifest["modules"] if one["left_out"]}
    assert set(corpus.call_keys) == set(alone.values) - left_out
    for path, call in corpus.call_keys:
        values = np.concatenate([part.reshape(-1) for part in alone.values[path, call]])
        found = corpus.of(path, call)
        assert found is not None
        assert found.count == values.size, path
        assert abs(found.total - values.sum()) <= TOLERANCE * np.abs(values).sum(), path
        assert found.squares == pytest.approx((values * values).sum(), rel=1e-5), path
        assert found.max == pytest.approx(values.max(), rel=1e-4, abs=1e-6), path


def test_whose_tokens_they_are(corpus: Corpus, alone: Alone, family: str) -> None:
    rows: dict[str, dict[str, int]] = defaultdict(dict)
    for row in corpus.rows:
        if row.call == 0:
            rows[row.path][row.token_class] = row.count
    for path, counts in rows.items():
        of_decoder = {name.startswith("decoder_") for name in counts}
        reads_encoder = ".".join((CROSS[family], "")) in path and path.endswith(
            (".k", ".v", ".k_proj", ".v_proj")
        )
        if path.startswith("encoder") or reads_encoder:
            assert of_decoder == {False}, path
        elif path.startswith("decoder") or not path:
            assert of_decoder == {True}, path
    special = sum(token.is_special for _, target in alone.tokens for token in target)
    every = sum(len(target) for _, target in alone.tokens)
    last = rows["decoder"]
    width = sum(last.values()) // every
    assert last["decoder_content"] == (every - special) * width


def test_heads(corpus: Corpus, alone: Alone, family: str) -> None:
    assert len(corpus.heads) == 6
    for (path, _), heads in corpus.heads.items():
        is_cross = CROSS[family] in path
        name = "cross" if is_cross else path.partition(".")[0]
        layer = int(next(part for part in path.split(".") if part.isdecimal()))
        maps = [output[f"{name}_attentions"][layer][0].double().numpy() for output in alone.outputs]

        def mean(rows: list[NDArray[np.float64]]) -> NDArray[np.float64]:
            means: NDArray[np.float64] = np.concatenate(rows, axis=1).mean(axis=1)
            return means

        logs = [np.where(p > 0, p * np.log(np.maximum(p, 1e-38)), 0) for p in maps]
        assert heads.entropy == pytest.approx(mean([-x.sum(axis=2) for x in logs]), rel=1e-5)
        assert np.isnan(heads.distance).all() == is_cross
        # The end of the sentence is the last one that an encoder reads.
        if is_cross:
            last = mean([p[:, :, -1] for p in maps])
            assert heads.sep == pytest.approx(last, rel=1e-5)


def test_outliers(corpus: Corpus, alone: Alone) -> None:
    assert corpus.outliers is not None
    farthest = np.zeros(corpus.outliers.farthest.shape)
    tokens = np.zeros(farthest.shape, np.int64)
    for output in alone.outputs:
        states = (*output.encoder_hidden_states, *output.decoder_hidden_states)
        for number, state in enumerate(states):
            values = state[0].double().numpy()
            apart = (values - values.mean()) / values.std()
            tokens[number] += (np.abs(apart) > 6).sum(axis=0)
    assert corpus.outliers.tokens.tolist() == tokens.tolist()
    assert len(corpus.manifest["states"]) == len(farthest)
    assert corpus_state_names(corpus)[2:4] == ("encoder, layer 1", "decoder, embeddings")


def test_charts_of_it(model: LoadedModel, corpus: Corpus) -> None:
    assert len(quantile_chart(model.architecture, corpus).lines) == 2
    layers, figures = corpus_heads(model.architecture, corpus)
    assert len(layers) == 6
    assert sum(each.get("distance") is None for each in figures.values()) == 2


def test_padding_is_in_no_sum(
    model: LoadedModel, data: Path, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    chance = random.Random(1)

    def padded(*given: Any) -> Batch:
        batch = batches.batch_of(*given)
        assert batch.target is not None
        for row, length in enumerate(batch.lengths.tolist()):
            for side in (batch.source, batch.target):
                rest = batch.mask.shape[1] - length
                side.ids[row, length:] = [chance.randrange(3, 97) for _ in range(rest)]
        return batch

    monkeypatch.setattr(running, "batch_of", padded)
    made(model, data, tmp_path, CHOICES)
    assert content(tmp_path) == content(folder)
