"""A run's statistics are those of a plain call of the model."""

import json
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import nn

from bertviewer.core.loading.opening import open_model
from bertviewer.core.runs.recording import Recorder
from bertviewer.core.runs.running import run_sentence
from bertviewer.core.schema.activation_run import Sentence
from bertviewer.core.sources.parsing import parse_source
from bertviewer.core.sources.presets import find_preset
from bertviewer.core.util.errors import UserError
from bertviewer.core.util.progress import no_progress

SMALL = {
    "bert-base-uncased": {"num_hidden_layers": 2, "hidden_size": 48, "intermediate_size": 64},
    "roberta-base": {"num_hidden_layers": 2, "hidden_size": 48, "intermediate_size": 64},
    "electra-base-discriminator": {
        "num_hidden_layers": 2, "hidden_size": 48, "embedding_size": 48, "intermediate_size": 64,
    },
    "distilbert-base-uncased": {"n_layers": 2, "dim": 48, "hidden_dim": 64},
    "albert-base-v2": {
        "num_hidden_layers": 3, "hidden_size": 48, "embedding_size": 16, "intermediate_size": 64,
    },
    "gpt2": {"n_layer": 2, "n_embd": 48},
}  # fmt: skip


def small(name: str, folder: Path, **change: Any) -> str:
    """Write a preset's configuration with few and narrow layers; return its path."""
    preset = find_preset(name)
    assert preset is not None
    path = folder / "config.json"
    path.write_text(json.dumps(json.loads(preset.read_text()) | SMALL[name] | change))
    return str(path)


@pytest.mark.parametrize("name", SMALL)
def test_a_run_is_the_plain_forward_pass(name: str, tmp_path: Path) -> None:
    model = open_model(parse_source(small(name, tmp_path)))
    run = run_sentence(model, Sentence("the cat sat on the mat"), random_weights=True)
    ids = torch.tensor([[token.id for token in run.tokens]])
    with torch.no_grad():
        states = model.module(True)(input_ids=ids, output_hidden_states=True).hidden_states
    norms = torch.stack([state[0].norm(dim=-1) for state in states])
    assert torch.tensor(run.token_norms) == pytest.approx(norms.double(), rel=1e-5)


@pytest.mark.parametrize("name", SMALL)
def test_every_family_reads_a_pair(name: str, tmp_path: Path) -> None:
    model = open_model(parse_source(small(name, tmp_path)))
    run = run_sentence(model, Sentence("the cat", "the mat"), random_weights=True)
    segments = {token.segment for token in run.tokens}
    assert segments == ({0, 1} if model.architecture.config.get("type_vocab_size", 0) > 1 else {0})


def test_a_model_without_token_types_reads_a_pair(tmp_path: Path) -> None:
    path = small("bert-base-uncased", tmp_path, type_vocab_size=1)
    run = run_sentence(
        open_model(parse_source(path)), Sentence("a cat", "a mat"), random_weights=True
    )
    assert {token.segment for token in run.tokens} == {0}


@pytest.mark.parametrize(
    "change", [{"return_dict": False}, {"output_hidden_states": True}, {"use_cache": True}]
)
def test_switches_of_the_configuration_change_nothing(
    tmp_path: Path, change: dict[str, Any]
) -> None:
    sentence = Sentence("the cat sat")
    plain = run_sentence(
        open_model(parse_source(small("gpt2", tmp_path))), sentence, random_weights=True
    )
    other = run_sentence(
        open_model(parse_source(small("gpt2", tmp_path, **change))), sentence, random_weights=True
    )
    assert other.token_norms == plain.token_norms
    assert other.modules == plain.modules


def test_what_is_changed_in_place_is_measured_again() -> None:
    class Shifted(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.inner = nn.Identity()

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            x = self.inner(x * 1)
            x += 5
            return x

    model = Shifted()
    recorder = Recorder(model, no_progress)
    with torch.no_grad(), recorder.recording():
        model(torch.zeros(4))
    outer, inner = recorder.activations()
    assert inner.statistics.mean == 0
    assert outer.statistics.mean == 5


def test_a_model_that_cannot_run_says_so(tmp_path: Path) -> None:
    path = small("bert-base-uncased", tmp_path, chunk_size_feed_forward=4)
    with pytest.raises(UserError, match="the model cannot run this sentence"):
        run_sentence(open_model(parse_source(path)), Sentence("the cat sat"), random_weights=True)


def test_a_model_that_does_not_fit_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("bertviewer.core.util.memory.available_memory", lambda: 1_000_000)
    model = open_model(parse_source(small("bert-base-uncased", tmp_path)))
    with pytest.raises(UserError, match="GB of memory"):
        run_sentence(model, Sentence("the cat sat"), random_weights=True)


def test_a_model_with_a_shared_module_opens(tmp_path: Path) -> None:
    path = tmp_path / "config.json"
    path.write_text('{"model_type": "xlm", "n_layers": 2, "emb_dim": 32, "n_heads": 2}')
    architecture = open_model(parse_source(str(path))).architecture
    assert architecture.root.parameters > 0


def test_hidden_states_that_are_no_tensors_are_left_out(tmp_path: Path) -> None:
    path = tmp_path / "config.json"
    sizes = {"vocab_size": 97, "d_model": 24, "encoder_layers": 1, "decoder_layers": 1}
    heads = {"encoder_attention_heads": 3, "decoder_attention_heads": 3, "block_size": 4}
    ids = {"num_global_tokens": 2, "encoder_ffn_dim": 40, "decoder_ffn_dim": 40}
    path.write_text(json.dumps({"model_type": "pegasus_x", **sizes, **heads, **ids}))
    run = run_sentence(
        open_model(parse_source(str(path))), Sentence("the cat sat"), random_weights=True
    )
    assert run.hidden_states == ()
    assert run.activation("encoder.layers.0") is not None


def test_a_model_of_pictures_reads_no_text(tmp_path: Path) -> None:
    path = tmp_path / "config.json"
    path.write_text('{"model_type": "vit", "hidden_size": 24, "num_attention_heads": 2}')
    with pytest.raises(UserError, match=r"^ViTModel does not read text, so no sentence can be run"):
        run_sentence(
            open_model(parse_source(str(path))), Sentence("the cat sat"), random_weights=True
        )


def test_a_model_without_layers_runs(tmp_path: Path) -> None:
    path = small("bert-base-uncased", tmp_path, num_hidden_layers=0)
    run = run_sentence(open_model(parse_source(path)), Sentence("the cat sat"), random_weights=True)
    assert run.hidden_states == run.token_norms == ()
    assert run.activation("pooler") is not None


@pytest.mark.parametrize(
    ("task", "said"),
    [
        ("base", "is_encoder_decoder is false in its configuration, so the decoder of T5Model"),
        ("base", r"its encoder alone opens with the task token-classification \(--task\)$"),
        ("token-classification", ""),
    ],
)
def test_an_encoder_that_was_stored_alone(task: str, said: str, tmp_path: Path) -> None:
    path = tmp_path / "config.json"
    sizes = {"vocab_size": 97, "d_model": 24, "d_kv": 6, "d_ff": 40, "num_layers": 1}
    kind = {"num_heads": 3, "is_encoder_decoder": False}
    path.write_text(json.dumps({"model_type": "t5", **sizes, **kind}))
    model = open_model(parse_source(str(path), task))
    if not said:
        assert run_sentence(model, Sentence("the cat"), random_weights=True).modules
        return
    with pytest.raises(UserError, match=said):
        run_sentence(model, Sentence("the cat"), random_weights=True)
