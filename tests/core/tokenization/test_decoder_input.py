"""The decoder reads the second sentence, or what transformers' models make of the first."""

import re
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import torch
import transformers
from transformers.models.bart import modeling_bart
from transformers.models.mbart import modeling_mbart

from bertviewer.core.loading.loaded_model import LoadedModel
from bertviewer.core.loading.opening import open_model
from bertviewer.core.runs.activation_cache import ActivationCache
from bertviewer.core.runs.running import run_sentence
from bertviewer.core.schema.activation_run import ActivationRun, Sentence, Token
from bertviewer.core.sources.families import LAST_TOKEN_STARTS
from bertviewer.core.sources.parsing import parse_source
from bertviewer.core.tokenization.tokenization import shift_right
from bertviewer.core.util.errors import UserError
from tests.core.checks.small_models import run, small_model

ALONE = Sentence("the cat sat")
PAIR = Sentence("the cat sat", "and so on")


@cache
def model_of(family: str, task: str) -> LoadedModel:
    """Open a small model; T5's real configurations have the padding as the decoder's start."""
    changes = {"decoder_start_token_id": 0} if family == "t5" else {}
    return small_model(family, task, **changes)


def recorded(model: LoadedModel, sentence: Sentence) -> tuple[ActivationRun, dict[str, Any]]:
    """Return a run and the inputs of the model."""
    run(model, sentence)  # changes the weights from their initialization
    activations = ActivationCache("units")
    found = run_sentence(model, sentence, random_weights=True, cache=activations)
    return found, dict(activations.inputs)


def ids(found: ActivationRun, segment: int) -> list[int]:
    return [token.id for token in found.tokens if token.segment == segment]


def text(found: ActivationRun, segment: int) -> str:
    return " ".join(token.text for token in found.tokens if token.segment == segment)


@pytest.mark.parametrize("sentence", [ALONE, PAIR], ids=["alone", "pair"])
@pytest.mark.parametrize(
    ("family", "task"),
    [
        ("bart", "base"),
        ("mbart", "base"),
        ("bart", "pretraining"),
        ("mbart", "masked-lm"),
        ("t5", "pretraining"),
        ("t5", "token-classification"),
        ("mt5", "question-answering"),
        ("bart", "sequence-classification"),
    ],
)
def test_the_outputs_are_those_for_the_encoders_ids_alone(
    family: str, task: str, sentence: Sentence
) -> None:
    model = model_of(family, task)
    found, inputs = recorded(model, sentence)
    if task == "base" and sentence is PAIR:
        # Without a head the second sentence is for the decoder.
        assert inputs["decoder_input_ids"][0].tolist() == ids(found, 1)
        assert text(found, 0).removeprefix("<s> ") == "the cat sat </s>"
        assert text(found, 1).removeprefix("<s> ") == "and so on </s>"
        return
    source = torch.tensor([ids(found, 0)])
    # T5's language model makes the decoder's ids from the labels.
    more = {"labels": source} if (family, task) == ("t5", "pretraining") else {}
    module = model.module(True)
    with torch.no_grad():
        expected = module(input_ids=source, attention_mask=torch.ones_like(source), **more)
        outputs = module(**inputs)
    name = next(name for name in expected if name.endswith(("logits", "last_hidden_state")))
    torch.testing.assert_close(outputs[name], expected[name], atol=1e-5, rtol=1e-5)
    if name in found.outputs:
        assert found.outputs[name] == pytest.approx(expected[name].numpy(), abs=1e-5)
    # With a head the encoder reads both sentences.
    assert text(found, 0).count("so") == (sentence is PAIR)
    has_decoder = task != "token-classification"
    assert ("decoder_input_ids" in inputs) == has_decoder
    assert {token.segment for token in found.tokens} == ({0, 1} if has_decoder else {0})


@pytest.mark.parametrize(
    ("family", "task", "source", "target"),
    [
        ("bart", "pretraining", "<s> the cat sat </s>", "</s> <s> the cat sat"),
        ("mbart", "masked-lm", "the cat sat </s>", "</s> the cat sat"),
        ("t5", "base", "the cat sat </s>", "<pad> the cat sat"),
        ("transformer-base", "base", "the cat sat </s>", "<s> the cat sat"),
    ],
)
def test_the_run_has_the_tokens_of_the_decoder(
    family: str, task: str, source: str, target: str
) -> None:
    found, inputs = recorded(model_of(family, task), ALONE)
    assert (text(found, 0), text(found, 1)) == (source, target)
    assert inputs["input_ids"][0].tolist() == ids(found, 0)
    assert inputs["decoder_input_ids"][0].tolist() == ids(found, 1)
    words = [token.word for token in found.tokens if not token.is_special]
    assert words == [0, 1, 2, 3, 4, 5]


@pytest.mark.parametrize("padding", [0, 2])
@pytest.mark.parametrize("family", ["bart", "mbart"])
def test_ids_are_shifted_as_by_transformers(family: str, padding: int) -> None:
    source = [5, 1, 7, 2, 11, *[1] * padding]
    config = {"model_type": family, "pad_token_id": 1, "decoder_start_token_id": 2}
    found = shift_right([Token(number, str(number), 0) for number in source], config, str)
    row = torch.tensor([source])
    expected = (
        modeling_bart.shift_tokens_right(row, 1, 2)
        if family == "bart"
        else modeling_mbart.shift_tokens_right(row, 1)
    )
    assert [token.id for token in found] == expected[0].tolist()
    assert {token.segment for token in found} == {1}
    assert shift_right((), config, str) == ()


def test_families_that_start_with_the_last_token_are_known() -> None:
    """Their functions in transformers have no start token as an argument."""
    folder = Path(transformers.__file__).parent / "models"
    found = set()
    for file in folder.glob("*/modeling_*.py"):
        shift = re.search(r"(?m)^def shift_tokens_right\(([^)]*)\)", file.read_text())
        if shift and "decoder_start_token_id" not in shift[1]:
            found.add(file.parent.name)
    # PP-FormulaNet reads images.
    assert found - {"pp_formulanet"} == LAST_TOKEN_STARTS


@pytest.mark.parametrize(
    ("config", "start"),
    [
        ({"decoder_start_token_id": 3, "bos_token_id": 4, "pad_token_id": 5}, 3),
        ({"decoder_start_token_id": None, "bos_token_id": 4, "pad_token_id": 5}, 4),
        ({"bos_token_id": None, "pad_token_id": 5}, 5),
    ],
)
def test_the_start_token_is_in_the_configuration(config: dict[str, Any], start: int) -> None:
    found = shift_right([Token(9, "nine", 0, 0)], config, "token {}".format)
    assert found == (Token(start, f"token {start}", 1, is_special=True),)


def test_a_missing_or_invalid_start_token_is_reported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(UserError, match="has no decoder_start_token_id, so the decoder has no"):
        shift_right([Token(9, "nine", 0)], {"model_type": "t5"}, str)
    path = tmp_path / "config.json"
    path.write_text(
        '{"model_type": "marian", "vocab_size": 90, "pad_token_id": 3,'
        ' "decoder_start_token_id": 90}'
    )
    model = open_model(parse_source(str(path)))
    monkeypatch.setattr(model, "module", lambda *_: pytest.fail("the model was built"))
    with pytest.raises(UserError, match="has the id 90, but the embedding has only 90 rows"):
        run_sentence(model, ALONE, random_weights=True)
