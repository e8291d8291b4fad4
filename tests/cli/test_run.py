"""The command ``run``: figures, and the check of them."""

import json
from pathlib import Path
from typing import Any

import pytest

from bertviewer.app import main
from tests.cli.commands import SENTENCE
from tests.cli.conftest import Printed


def test_json(printed: Printed) -> None:
    document = json.loads(printed("run", "demo", SENTENCE, "--format", "json"))
    assert document["schema"] == "bertviewer.run/1"
    assert document["source"]["weights"] == "pretrained"
    assert document["tokens"][1] == {"id": 2023, "text": "this", "segment": 0}
    assert len(document["tokens"]) == 11
    assert document["hidden_states"]["layers"] == 7
    assert document["modules"][0]["output_shape"] == [1, 11, 384]
    assert document["check"] is None
    assert document["unchecked"] is None
    assert document["seconds"]["total"] >= document["seconds"]["forward"] > 0


def test_text_and_pair(printed: Printed) -> None:
    text = printed("run", "demo", "one", "--pair", "two")
    assert "5 tokens" in text
    assert "encoder.layer.5.attention.self.query" in text


def test_check_as_json(printed: Printed) -> None:
    document = json.loads(printed("run", "demo", SENTENCE, "--check", "--format", "json"))
    steps = document["check"]
    keys = {"path", "step", "max_abs_error", "tolerance", "ok", "proof"}
    assert all(step.keys() == keys for step in steps)
    assert {step["proof"] for step in steps} == {"reference"}
    assert all(step["ok"] and step["max_abs_error"] <= step["tolerance"] for step in steps)
    assert {step["path"] for step in steps} == {m["path"] for m in document["modules"]}
    names = [step["step"] for step in steps if step["path"] == "encoder.layer.0"]
    assert names[0] == "self-attention"
    assert names[-1] == "= next hidden state"
    assert document["unchecked"] == []


def test_check_as_text(tiny_bert_folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run", str(tiny_bert_folder), "the cat", "--check"]) == 0
    text = capsys.readouterr().out
    assert "steps are within their tolerance." in text
    (line,) = (line for line in text.splitlines() if line.startswith("BertSelfAttention"))
    _, steps, crosses, *_ = line.split()
    # Two layers: the output and four heads, then output and weights in the eager way.
    assert (steps, crosses) == ("14", "0")


def test_random_weights_say_so(printed: Printed) -> None:
    text = printed("run", "distilbert-base-uncased", "hello", "--random-weights")
    assert "randomly initialised weights" in text.splitlines()[0]


def test_a_cross_is_a_result_and_no_error(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tiny_bert_folder: Path
) -> None:
    from bertviewer.core.checks import check
    from bertviewer.core.checks.check import reference_of

    def scaled_otherwise(*args: Any) -> Any:
        reference = reference_of(*args)
        for part in reference.module.modules():
            if isinstance(scaling := getattr(part, "scaling", None), float):
                setattr(part, "scaling", 2 * scaling)  # noqa: B010
        return reference

    monkeypatch.setattr(check, "reference_of", scaled_otherwise)
    assert main(["run", str(tiny_bert_folder), "the cat", "--check"]) == 0
    out = capsys.readouterr().out
    assert "steps are outside their tolerance." in out
    assert "✗ encoder.layer.1.attention.self: head 3: |Δ| " in out


def test_layer_by_layer(printed: Printed) -> None:
    def document(*more: str) -> Any:
        found = json.loads(printed("run", "demo", SENTENCE, "--format", "json", *more))
        del found["seconds"]
        return found

    ours, whole = document("--offload", "--check"), document("--check")
    assert ours.pop("source") == whole.pop("source") | {"offloaded": True}
    assert ours == whole


def test_layer_by_layer_without_files(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run", "distilbert-base-uncased", "a", "--random-weights", "--offload"]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert line.endswith("has no weights, so none can be read layer by layer (--offload)")


def test_a_text_that_is_longer_than_in_training(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    config = {"model_type": "llama", "vocab_size": 90, "hidden_size": 8, "num_hidden_layers": 1}
    sizes = {"num_attention_heads": 1, "intermediate_size": 8, "max_position_embeddings": 20}
    path = tmp_path / "config.json"
    path.write_text(json.dumps({**config, **sizes}))
    arguments = ("run", str(path), "a " * 30, "--random-weights")
    assert main((*arguments, "--format", "json")) == 0
    (notice,) = json.loads(capsys.readouterr().out)["source"]["notices"]
    assert notice.startswith("The text has 30 tokens, but the configuration")
    assert main(arguments) == 0
    assert capsys.readouterr().out.count(f"Note: {notice}\n") == 1
