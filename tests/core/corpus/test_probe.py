"""Other models than BERT: how their tensors lie, and whether they see what pads a sentence."""

from pathlib import Path
from typing import Any

import pytest
import torch
from msgspec.structs import replace

from bertviewer.core.building.backend import transformers
from bertviewer.core.corpus.measurement_spec import FIRST, SECOND, Layout, layout_of
from bertviewer.core.corpus.options import CorpusOptions
from bertviewer.core.loading.loaded_model import LoadedModel
from bertviewer.core.loading.opening import open_model
from bertviewer.core.runs.running import run_sentence
from bertviewer.core.schema.activation_run import Sentence
from bertviewer.core.sources.parsing import parse_source
from bertviewer.core.util.errors import UserError
from bertviewer.report.corpus_text import corpus_text
from tests.core.checks.small_models import small_model
from tests.core.corpus.making_corpora import made

SMALL: dict[str, Any] = {
    **{"vocab_size": 300, "hidden_size": 24, "num_hidden_layers": 2, "num_attention_heads": 3},
    **{"intermediate_size": 40, "max_position_embeddings": 64},
}


def opened(folder: Path, task: str = "base", **config: Any) -> LoadedModel:
    folder.mkdir()
    kind = config.pop("model_type")
    transformers.AutoConfig.for_model(kind, **config).save_pretrained(folder)
    return open_model(parse_source(str(folder / "config.json"), task))


def test_layouts() -> None:
    b, s = (FIRST.sentences, SECOND.sentences), (FIRST.tokens, SECOND.tokens)

    def layout(*axes: Any) -> Layout | str:
        both = [
            tuple(axis[n] if isinstance(axis, tuple) else axis for axis in axes) for n in (0, 1)
        ]
        return layout_of(*both)

    assert layout(b, s, 24) == Layout("tokens", (0, 1, 2), 24, 0, 1)
    assert layout(b, 3, s, 8) == Layout("tokens", (0, 2, 1, 3), 24, 0, 1)
    assert layout((b[0] * s[0], b[1] * s[1]), 24) == Layout("tokens", (0, 1), 24, 0, 0)
    assert layout(1, s, 24) == Layout("positions", (1, 0, 2), 24, -1, 0)
    assert layout(b, 24) == Layout("sentences", (0, 1), 24, 0, -1)
    assert layout(b, 3, s, s) == "each value belongs to a pair of tokens"
    assert layout(24) == "none of its dimensions is the sentence or the token"
    assert layout(b, (4, 7)) == "its shape depends on the sentences"


CONFIGURATIONS: dict[str, dict[str, Any]] = {
    "gpt2": {"vocab_size": 300, "n_embd": 24, "n_layer": 2, "n_head": 3, "n_positions": 64},
    "albert": {**SMALL, "embedding_size": 12},
    "roberta": SMALL,
    "fnet": {k: v for k, v in SMALL.items() if k != "num_attention_heads"},
    "squeezebert": {
        **SMALL,
        **dict.fromkeys(("q_groups", "k_groups", "v_groups", "post_attention_groups"), 1),
        **{"intermediate_groups": 1, "output_groups": 1, "embedding_size": 24},
    },
}


@pytest.mark.parametrize("kind", CONFIGURATIONS)
def test_kinds(kind: str, data: Path, tmp_path: Path) -> None:
    model = opened(tmp_path / "model", model_type=kind, **CONFIGURATIONS[kind])
    choices = CorpusOptions(limit=12, random_weights=True, batch_tokens=150)
    corpus = made(model, data, tmp_path / "out", choices)
    assert corpus is not None
    # FNet mixes all tokens and knows no mask: only sentences of equal length share a batch.
    assert corpus.manifest["equal_lengths"] is (kind == "fnet")
    alone = made(
        model, data, tmp_path / "alone", CorpusOptions(limit=12, random_weights=True, batch_size=1)
    )
    assert alone is not None
    assert corpus.call_keys == alone.call_keys
    for path, call in corpus.call_keys:
        found, wanted = corpus.of(path, call), alone.of(path, call)
        assert found is not None
        assert wanted is not None
        assert found.count == wanted.count
        assert found.squares == pytest.approx(wanted.squares, rel=1e-5), path
    if kind == "albert":
        calls = {call for path, call in corpus.call_keys if path.endswith("albert_layers.0")}
        assert calls == {0, 1}
    # SqueezeBERT's attention gives its shares to nobody.
    assert bool(corpus.heads) is (kind not in ("fnet", "squeezebert"))


@pytest.mark.parametrize("kind", ["gpt2", "bart", "t5"])
def test_classifiers_that_look_for_the_end(kind: str, data: Path, tmp_path: Path) -> None:
    model = small_model(kind, "sequence-classification")
    choices = CorpusOptions(limit=9, random_weights=True, max_tokens=20)
    found = made(model, data, tmp_path / "out", choices)
    alone = made(model, data, tmp_path / "alone", replace(choices, batch_size=1))
    assert found is not None
    assert alone is not None
    place = next(row for row in found.rows if row.token_class == "sentence")
    wanted = alone.of(place.path, place.call)
    assert wanted is not None
    assert place.squares == pytest.approx(wanted.squares, rel=1e-4)
    assert place.count == wanted.count
    config: Any = model.running_module.config
    assert config.pad_token_id == (None if kind == "gpt2" else model.config.pad_token_id)


ASKED: dict[str, dict[str, Any]] = {
    "mpnet": SMALL,
    "deberta-v2": {**SMALL, "relative_attention": True, "pos_att_type": ["c2p"]},
    "xlnet": {"vocab_size": 300, "d_model": 24, "n_layer": 2, "n_head": 3, "d_inner": 40},
    "falcon": {**SMALL, "hidden_size": 24},
}


@pytest.mark.parametrize("kind", ASKED)
def test_heads_of_attentions_that_give_shares_when_asked(kind: str, tmp_path: Path) -> None:
    model = opened(tmp_path / "model", model_type=kind, **ASKED[kind])
    data = tmp_path / "lines.txt"
    data.write_text("the cat sat on a mat and saw\n")
    corpus = made(model, data, tmp_path / "out", CorpusOptions(random_weights=True))
    assert corpus is not None
    assert corpus.manifest["attentions_left_out"] == []
    module: Any = model.running_module
    ids = torch.tensor([[t.id for t in model.tokenizer().tokenize(Sentence(data.read_text()))]])
    module.config._attn_implementation = "eager"
    with torch.no_grad():
        output = module(input_ids=ids, output_attentions=True)
    assert len(corpus.heads) == len(output.attentions) == 2
    for heads, shares in zip(corpus.heads.values(), output.attentions, strict=True):
        entropy = -(shares[0].double() * shares[0].double().clamp(min=1e-300).log()).sum(-1)
        assert heads.entropy == pytest.approx(entropy.mean(-1).numpy(), rel=1e-5)


def test_eager_attention_that_gives_other_numbers_is_not_used(tmp_path: Path) -> None:
    """Falcon's adds ALiBi's biases to a mask that has them already."""
    values = {**ASKED["falcon"], "alibi": True}
    model = opened(tmp_path / "model", model_type="falcon", **values)
    data = tmp_path / "lines.txt"
    data.write_text("the cat sat on a mat\n")
    corpus = made(model, data, tmp_path / "out", CorpusOptions(random_weights=True))
    assert corpus is not None
    run = run_sentence(model, Sentence(data.read_text()), random_weights=True)
    found, activation = corpus.of("h.1.self_attention"), run.activation("h.1.self_attention")
    assert found is not None
    assert activation is not None
    assert found.statistics.std == pytest.approx(activation.statistics.std, rel=1e-5)
    assert not corpus.heads
    assert len(corpus.manifest["attentions_left_out"]) == 2


def test_heads_that_cannot_be_measured_are_mentioned(tmp_path: Path) -> None:
    model = opened(tmp_path / "model", model_type="yoso", **SMALL)
    data = tmp_path / "lines.txt"
    data.write_text("the cat sat\n")
    corpus = made(model, data, tmp_path / "out", CorpusOptions(random_weights=True))
    assert corpus is not None
    assert not corpus.heads
    paths = [one["path"] for one in corpus.manifest["attentions_left_out"]]
    assert paths == [f"encoder.layer.{layer}.attention.self" for layer in (0, 1)]
    assert (
        "Heads not measured: 2 attention modules (YosoSelfAttention): it returns no attention "
        "weights"
    ) in corpus_text(corpus)


def test_a_model_whose_padding_shows_by_its_length(data: Path, tmp_path: Path) -> None:
    """ProphetNet's decoder looks past the mask, whatever stands there."""
    config: dict[str, Any] = {
        **{"hidden_size": 24, "decoder_ffn_dim": 32, "encoder_ffn_dim": 32, "vocab_size": 300},
        **{"num_encoder_attention_heads": 3, "num_decoder_attention_heads": 3},
        **{"num_encoder_layers": 1, "num_decoder_layers": 1, "max_position_embeddings": 64},
    }
    model = opened(tmp_path / "model", model_type="prophetnet", **config)
    found = made(model, data, tmp_path / "out", CorpusOptions(limit=6, random_weights=True))
    assert found is not None
    assert found.manifest["equal_lengths"] is True


def test_a_model_that_makes_sentences_longer(data: Path, tmp_path: Path) -> None:
    """Longformer's layers see whole windows, padding included, which is in no sum."""
    config: dict[str, Any] = {**SMALL, "attention_window": 16, "pad_token_id": 1}
    model = opened(tmp_path / "model", model_type="longformer", **config)
    found = made(model, data, tmp_path / "out", CorpusOptions(limit=4, random_weights=True))
    assert found is not None
    left_out = {one["path"]: one["left_out"] for one in found.manifest["modules"]}
    said = "its values belong to neither a token nor a sentence"
    assert left_out["encoder.layer.0"] == said
    assert left_out[""] is None


def test_a_model_that_reads_in_two_ways(data: Path, tmp_path: Path) -> None:
    config: dict[str, Any] = {**SMALL, "max_position_embeddings": 4096}
    model = opened(tmp_path / "model", model_type="big_bird", **config)
    with pytest.raises(UserError, match="reads sentences of 4,096 tokens differently"):
        made(model, data, tmp_path / "all", CorpusOptions(limit=3, random_weights=True))
    choices = CorpusOptions(limit=3, random_weights=True, max_tokens=64)
    found = made(model, data, tmp_path / "short", choices)
    assert found is not None
    assert len(found.heads) == 2


def test_chosen_modules(model: LoadedModel, data: Path, tmp_path: Path) -> None:
    corpus = made(model, data, tmp_path, CorpusOptions(limit=3, modules="encoder.layer.?"))
    assert corpus is not None
    assert corpus.call_keys == (("encoder.layer.0", 0), ("encoder.layer.1", 0))


def test_the_modules_of_a_model_are_as_before(
    model: LoadedModel, data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    module: Any = model.module(random_weights=False)
    made(model, data, tmp_path, CorpusOptions(limit=3))
    assert all("forward" not in vars(inner) for inner in module.modules())
    assert module.config._attn_implementation == "sdpa"
