"""Running a sentence: special configurations, and models that cannot be run."""

from pathlib import Path
from typing import Any

import pytest

from bertviewer.core.loading.opening import open_model
from bertviewer.core.runs.running import run_sentence
from bertviewer.core.schema.activation_run import ActivationRun, Sentence
from bertviewer.core.sources.parsing import parse_source
from bertviewer.core.util.errors import UserError
from tests.core.checks.small_models import small_model

CAT = Sentence("the cat sat on the mat")


def run(family: str, sentence: Sentence = CAT, task: str = "base", **values: Any) -> ActivationRun:
    """Run a small model of a family."""
    return run_sentence(small_model(family, task, **values), sentence, random_weights=True)


@pytest.mark.parametrize(
    "change", [{"return_dict": False}, {"output_hidden_states": True}, {"use_cache": True}]
)
def test_switches_of_the_configuration_change_nothing(change: dict[str, Any]) -> None:
    plain, other = run("gpt2"), run("gpt2", **change)
    assert other.token_norms == plain.token_norms
    assert other.modules == plain.modules


def test_hidden_states_that_are_no_tensors_are_left_out() -> None:
    sizes = {"vocab_size": 97, "d_model": 24, "encoder_layers": 1, "decoder_layers": 1}
    heads = {"encoder_attention_heads": 3, "decoder_attention_heads": 3, "block_size": 4}
    more = {"num_global_tokens": 2, "encoder_ffn_dim": 40, "decoder_ffn_dim": 40}
    values: dict[str, Any] = {**sizes, **heads, **more}
    done = run("pegasus_x", **values)
    assert done.hidden_states == ()
    assert done.activation("encoder.layers.0") is not None


def test_a_model_without_layers() -> None:
    done = run("bert", num_hidden_layers=0)
    assert done.hidden_states == done.token_norms == ()
    assert done.activation("pooler") is not None


def test_an_image_model_reads_no_text(tmp_path: Path) -> None:
    path = tmp_path / "config.json"
    path.write_text('{"model_type": "vit", "hidden_size": 24, "num_attention_heads": 2}')
    with pytest.raises(UserError, match=r"^ViTModel does not read text, so no sentence can be run"):
        run_sentence(open_model(parse_source(str(path))), CAT, random_weights=True)


def test_a_model_that_fails() -> None:
    with pytest.raises(UserError, match="the model cannot run this sentence"):
        run("bert", chunk_size_feed_forward=4)


def test_a_model_that_does_not_fit_into_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("bertviewer.core.util.memory.available_memory", lambda: 10_000)
    with pytest.raises(UserError, match="GB of memory"):
        run("bert")


def test_an_encoder_that_was_stored_alone() -> None:
    reason = (
        "is_encoder_decoder is false in its configuration, so the decoder of T5Model has nothing "
        r"to attend to; its encoder alone opens with the task token-classification \(--task\)$"
    )
    with pytest.raises(UserError, match=reason):
        run("t5", is_encoder_decoder=False)
    assert run("t5", task="token-classification", is_encoder_decoder=False).modules
