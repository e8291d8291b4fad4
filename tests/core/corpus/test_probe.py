"""What is measured of other models than BERT, and whether padding changes their tokens."""

from pathlib import Path
from typing import Any

import pytest
import torch
from msgspec.structs import replace

from bertviewer.core.corpus.measurement_spec import FIRST, SECOND, Layout, layout_of
from bertviewer.core.corpus.options import CorpusOptions
from bertviewer.core.loading.loaded_model import LoadedModel
from bertviewer.core.runs.running import run_sentence
from bertviewer.core.schema.activation_run import Sentence
from bertviewer.core.util.errors import UserError
from bertviewer.report.corpus_text import corpus_text
from tests.core.checks.small_models import small_model
from tests.core.corpus.making_corpora import corpus_of, made
from tests.core.formulas.formula_models import TINY

BERT = {**TINY["bert"], "vocab_size": 300, "max_position_embeddings": 64}
RANDOM = CorpusOptions(random_weights=True)
B, S = (FIRST.sentences, SECOND.sentences), (FIRST.tokens, SECOND.tokens)


@pytest.fixture
def line(tmp_path: Path) -> Path:
    file = tmp_path / "line.txt"
    file.write_text("the cat sat on a mat and saw\n")
    return file


@pytest.mark.parametrize(
    ("axes", "expected"),
    [
        ((B, S, 24), Layout("tokens", (0, 1, 2), 24, 0, 1)),
        ((B, 3, S, 8), Layout("tokens", (0, 2, 1, 3), 24, 0, 1)),
        (((B[0] * S[0], B[1] * S[1]), 24), Layout("tokens", (0, 1), 24, 0, 0)),
        ((1, S, 24), Layout("positions", (1, 0, 2), 24, -1, 0)),
        ((B, 24), Layout("sentences", (0, 1), 24, 0, -1)),
        ((B, 3, S, S), "each value belongs to a pair of tokens"),
        ((24,), "none of its dimensions is the sentence or the token"),
        ((B, (4, 7)), "its shape depends on the sentences"),
        ((B, S, 0), "it is empty"),
    ],
)
def test_layouts(axes: tuple[Any, ...], expected: Layout | str) -> None:
    """An axis with two sizes has the first in one batch and the second in the other."""
    first, second = (
        tuple(axis[n] if isinstance(axis, tuple) else axis for axis in axes) for n in (0, 1)
    )
    found = layout_of(first, second)
    assert found == expected
    if isinstance(found, Layout):
        assert found.fits(first, FIRST)
        assert not found.fits(second, FIRST)


FAMILIES: dict[str, dict[str, Any]] = {
    "gpt2": {"n_positions": 64, "vocab_size": 300},
    "albert": BERT,
    "roberta": BERT,
    "fnet": BERT,
    "squeezebert": {"max_position_embeddings": 64, "vocab_size": 300},
}


@pytest.mark.parametrize("family", FAMILIES)
def test_batches_are_measured_as_single_sentences(family: str, data: Path, tmp_path: Path) -> None:
    model = small_model(family, **FAMILIES[family])
    options = replace(RANDOM, limit=12, batch_tokens=150)
    corpus = corpus_of(model, data, tmp_path / "out", options)
    alone = corpus_of(model, data, tmp_path / "alone", replace(options, batch_size=1))
    # FNet mixes all tokens and ignores masks: only sentences of equal length share a batch.
    assert corpus.manifest["equal_lengths"] is (family == "fnet")
    assert corpus.call_keys == alone.call_keys
    for path, call in corpus.call_keys:
        found, wanted = corpus.of(path, call), alone.of(path, call)
        assert found is not None
        assert wanted is not None
        assert found.count == wanted.count
        assert found.squares == pytest.approx(wanted.squares, rel=1e-5), path
    if family == "albert":
        calls = {call for path, call in corpus.call_keys if path.endswith("albert_layers.0")}
        assert calls == {0, 1}
    # SqueezeBERT's attention does not return its weights.
    assert bool(corpus.heads) is (family not in ("fnet", "squeezebert"))


@pytest.mark.parametrize("family", ["gpt2", "bart", "t5"])
def test_classifiers_that_look_for_the_last_token(family: str, data: Path, tmp_path: Path) -> None:
    model = small_model(family, "sequence-classification")
    options = replace(RANDOM, limit=9, max_tokens=20)
    corpus = corpus_of(model, data, tmp_path / "out", options)
    alone = corpus_of(model, data, tmp_path / "alone", replace(options, batch_size=1))
    found = next(row for row in corpus.rows if row.token_class == "sentence")
    wanted = alone.of(found.path, found.call)
    assert wanted is not None
    assert found.squares == pytest.approx(wanted.squares, rel=1e-4)
    assert found.count == wanted.count
    config: Any = model.running_module.config
    assert config.pad_token_id == (None if family == "gpt2" else model.config.pad_token_id)


REQUESTED: dict[str, dict[str, Any]] = {
    "mpnet": BERT,
    "deberta-v2": {**BERT, "relative_attention": True, "pos_att_type": ["c2p"]},
    "xlnet": {"vocab_size": 300},
    "falcon": BERT,
}


@pytest.mark.parametrize("family", REQUESTED)
def test_heads_of_attentions_that_return_weights_on_request(
    family: str, line: Path, tmp_path: Path
) -> None:
    model = small_model(family, **REQUESTED[family])
    corpus = corpus_of(model, line, tmp_path / "out", RANDOM)
    assert corpus.manifest["attentions_left_out"] == []
    module: Any = model.running_module
    ids = [token.id for token in model.tokenizer().tokenize(Sentence(line.read_text()))]
    module.config._attn_implementation = "eager"
    with torch.no_grad():
        output = module(input_ids=torch.tensor([ids]), output_attentions=True)
    assert len(corpus.heads) == len(output.attentions) == 2
    for heads, weights in zip(corpus.heads.values(), output.attentions, strict=True):
        exact = weights[0].double()
        entropy = -(exact * exact.clamp(min=1e-300).log()).sum(-1)
        assert heads.entropy == pytest.approx(entropy.mean(-1).numpy(), rel=1e-5)


def test_eager_attention_that_computes_something_else_is_not_used(
    line: Path, tmp_path: Path
) -> None:
    """Falcon's adds the biases of ALiBi twice."""
    model = small_model("falcon", **BERT, alibi=True)
    corpus = corpus_of(model, line, tmp_path / "out", RANDOM)
    run = run_sentence(model, Sentence(line.read_text()), random_weights=True)
    found, activation = corpus.of("h.1.self_attention"), run.activation("h.1.self_attention")
    assert found is not None
    assert activation is not None
    assert found.statistics.std == pytest.approx(activation.statistics.std, rel=1e-5)
    assert not corpus.heads
    assert len(corpus.manifest["attentions_left_out"]) == 2


def test_attentions_without_weights_are_listed(line: Path, tmp_path: Path) -> None:
    corpus = corpus_of(small_model("yoso", **BERT), line, tmp_path / "out", RANDOM)
    assert not corpus.heads
    paths = [one["path"] for one in corpus.manifest["attentions_left_out"]]
    assert paths == [f"encoder.layer.{layer}.attention.self" for layer in (0, 1)]
    assert (
        "Heads not measured: 2 attention modules (YosoSelfAttention): it returns no attention "
        "weights"
    ) in corpus_text(corpus)


def test_a_model_whose_tokens_depend_on_padding(data: Path, tmp_path: Path) -> None:
    """ProphetNet's decoder sees the number of padding tokens."""
    config: dict[str, Any] = {
        **{"hidden_size": 24, "decoder_ffn_dim": 32, "encoder_ffn_dim": 32, "vocab_size": 300},
        **{"num_encoder_attention_heads": 3, "num_decoder_attention_heads": 3},
        **{"num_encoder_layers": 1, "num_decoder_layers": 1, "max_position_embeddings": 64},
    }
    model = small_model("prophetnet", **config)
    corpus = corpus_of(model, data, tmp_path / "out", replace(RANDOM, limit=6))
    assert corpus.manifest["equal_lengths"] is True


def test_a_model_that_pads_sentences_itself(data: Path, tmp_path: Path) -> None:
    """Longformer's layers get whole windows, with padding, which is in no sum."""
    model = small_model("longformer", **BERT, attention_window=16, pad_token_id=1)
    corpus = corpus_of(model, data, tmp_path / "out", replace(RANDOM, limit=4))
    left_out = {one["path"]: one["left_out"] for one in corpus.manifest["modules"]}
    assert left_out["encoder.layer.0"] == "its values belong to neither a token nor a sentence"
    assert left_out[""] is None


def test_a_model_with_two_kinds_of_attention(data: Path, tmp_path: Path) -> None:
    sizes = {"max_position_embeddings": 4096, "block_size": 64, "num_random_blocks": 3}
    model = small_model("big_bird", **{**TINY["big_bird"], "vocab_size": 300, **sizes})
    with pytest.raises(UserError, match="reads sentences of 4,096 tokens differently"):
        made(model, data, tmp_path / "all", replace(RANDOM, limit=3))
    corpus = corpus_of(model, data, tmp_path / "short", replace(RANDOM, limit=3, max_tokens=64))
    assert len(corpus.heads) == 2


def test_chosen_modules_of_a_model_that_stays_unchanged(
    model: LoadedModel, data: Path, tmp_path: Path
) -> None:
    module: Any = model.module(random_weights=False)
    options = CorpusOptions(limit=3, modules="encoder.layer.?")
    corpus = corpus_of(model, data, tmp_path, options)
    assert corpus.call_keys == (("encoder.layer.0", 0), ("encoder.layer.1", 0))
    assert all("forward" not in vars(inner) for inner in module.modules())
    assert module.config._attn_implementation == "sdpa"
