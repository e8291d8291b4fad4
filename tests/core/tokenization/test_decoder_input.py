"""Without a text of its own a decoder reads what transformers' models give it."""

import re
from pathlib import Path
from typing import Any

import pytest
import torch
import transformers
from transformers.models.bart import modeling_bart
from transformers.models.mbart import modeling_mbart
from transformers.models.pegasus import modeling_pegasus

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
from tests.core.formulas.formula_models import TINY

ALONE = Sentence("the cat sat")
PAIR = Sentence("the cat sat", "and so on")
TINY_PEGASUS = {**TINY["bart"], "pad_token_id": 0, "eos_token_id": 1, "decoder_start_token_id": 0}
HEADS = [
    *(("bart", t) for t in ("masked-lm", "pretraining")),
    ("mbart", "masked-lm"),
    ("t5", "pretraining"),
    *(("t5", "token-classification"), ("mt5", "token-classification")),
    *((f, "sequence-classification") for f in ("bart", "mbart", "t5", "mt5")),
    *((f, "question-answering") for f in ("bart", "mbart", "t5", "mt5")),
]


def model_of(family: str, task: str) -> LoadedModel:
    """Open a small model; T5's real configurations name the padding as the decoder's start."""
    changes = {"decoder_start_token_id": 0} if family == "t5" else {}
    return small_model(family, task, **changes)


def ran(model: LoadedModel, sentence: Sentence) -> tuple[ActivationRun, ActivationCache]:
    run(model, sentence)  # moves the weights away from those of the initialisation
    capture = ActivationCache("units")
    return run_sentence(model, sentence, random_weights=True, cache=capture), capture


def ids_of(found: ActivationRun, segment: int) -> list[int]:
    return [token.id for token in found.tokens if token.segment == segment]


def words(found: ActivationRun, segment: int) -> str:
    return " ".join(token.text for token in found.tokens if token.segment == segment)


@pytest.mark.parametrize("sentence", [ALONE, PAIR], ids=["alone", "pair"])
@pytest.mark.parametrize(("family", "task"), HEADS)
def test_a_head_gives_what_the_model_gives_for_the_encoders_ids(
    family: str, task: str, sentence: Sentence
) -> None:
    model = model_of(family, task)
    found, kept = ran(model, sentence)
    ids = torch.tensor([ids_of(found, 0)])
    # T5's language model makes the decoder's ids of what it has to say: here, the same again.
    more = {"labels": ids} if (family, task) == ("t5", "pretraining") else {}
    module = model.module(True)
    with torch.no_grad():
        theirs = module(input_ids=ids, attention_mask=torch.ones_like(ids), **more)
        ours = module(**kept.inputs)
    names = {name for name in theirs if name.endswith("logits")}
    assert names
    for name in names:
        torch.testing.assert_close(ours[name], theirs[name], atol=1e-5, rtol=1e-5)
    if task not in ("masked-lm", "pretraining"):
        for name in names:
            assert found.outputs[name] == pytest.approx(theirs[name].numpy(), abs=1e-5)
    # One encoder reads both texts.
    assert words(found, 0).count("so") == (sentence is PAIR)


@pytest.mark.parametrize("family", ["bart", "mbart"])
def test_a_base_model_alone_gives_what_it_gives_for_the_encoders_ids(family: str) -> None:
    model = model_of(family, "base")
    found, kept = ran(model, ALONE)
    module = model.module(True)
    with torch.no_grad():
        theirs = module(input_ids=torch.tensor([ids_of(found, 0)]))
        ours = module(**kept.inputs)
    torch.testing.assert_close(
        ours["last_hidden_state"], theirs["last_hidden_state"], atol=1e-5, rtol=1e-5
    )


def test_a_base_model_that_makes_no_ids_reads_what_its_kin_makes(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(TINY, "pegasus", TINY_PEGASUS)
    model = model_of("pegasus", "base")
    found, kept = ran(model, ALONE)
    ids = torch.tensor([ids_of(found, 0)])
    expected = modeling_pegasus.shift_tokens_right(ids, 0, 0)
    assert kept.inputs["decoder_input_ids"].tolist() == expected.tolist()
    t5 = model_of("t5", "base")
    found, kept = ran(t5, ALONE)
    module: Any = t5.module(True)
    expected = module._shift_right(torch.tensor([ids_of(found, 0)]))
    assert kept.inputs["decoder_input_ids"].tolist() == expected.tolist()


@pytest.mark.parametrize("family", ["bart", "mbart", "t5", "transformer-base"])
def test_a_base_models_decoder_reads_the_second_sentence(family: str) -> None:
    found, kept = ran(model_of(family, "base"), PAIR)
    assert kept.inputs["decoder_input_ids"][0].tolist() == ids_of(found, 1)
    assert words(found, 0).removeprefix("<s> ") == "the cat sat </s>"
    assert words(found, 1).removeprefix("<s> ") == "and so on </s>"


@pytest.mark.parametrize(
    ("family", "task", "source", "target"),
    [
        ("bart", "masked-lm", "<s> the cat sat </s>", "</s> <s> the cat sat"),
        ("mbart", "masked-lm", "the cat sat </s>", "</s> the cat sat"),
        ("t5", "pretraining", "the cat sat </s>", "<pad> the cat sat"),
        ("transformer-base", "base", "the cat sat </s>", "<s> the cat sat"),
    ],
)
def test_the_tokens_are_those_that_the_decoder_saw(
    family: str, task: str, source: str, target: str
) -> None:
    found, kept = ran(model_of(family, task), ALONE)
    assert (words(found, 0), words(found, 1)) == (source, target)
    assert kept.inputs["input_ids"][0].tolist() == ids_of(found, 0)
    assert kept.inputs["decoder_input_ids"][0].tolist() == ids_of(found, 1)
    special = [token.text for token in found.tokens if token.is_special]
    assert set(special) <= {"<s>", "</s>", "<pad>"}
    assert [token.word for token in found.tokens if not token.is_special] == [0, 1, 2, 3, 4, 5]


def test_a_classifier_of_t5s_tokens_has_no_decoder() -> None:
    found, kept = ran(model_of("t5", "token-classification"), ALONE)
    assert "decoder_input_ids" not in kept.inputs
    assert {token.segment for token in found.tokens} == {0}


@pytest.mark.parametrize("padded", [0, 2])
@pytest.mark.parametrize("family", ["bart", "mbart"])
def test_padding_that_was_typed_is_shifted_as_theirs(family: str, padded: int) -> None:
    ids = [5, 1, 7, 2, 11, *[1] * padded]
    config = {"model_type": family, "pad_token_id": 1, "decoder_start_token_id": 2}
    found = shift_right([Token(number, str(number), 0) for number in ids], config, str)
    row = torch.tensor([ids])
    theirs = (
        modeling_bart.shift_tokens_right(row, 1, 2)
        if family == "bart"
        else modeling_mbart.shift_tokens_right(row, 1)
    )
    assert [token.id for token in found] == theirs[0].tolist()
    assert {token.segment for token in found} == {1}
    assert shift_right((), config, str) == ()


def test_who_puts_the_last_token_first() -> None:
    """transformers' functions for these families ask for no token to begin with."""
    folder = Path(transformers.__file__).parent / "models"
    found = set()
    for file in folder.glob("*/modeling_*.py"):
        shift = re.search(r"(?m)^def shift_tokens_right\(([^)]*)\)", file.read_text())
        if shift and "decoder_start_token_id" not in shift[1]:
            found.add(file.parent.name)
    # PP-FormulaNet reads pictures.
    assert found - {"pp_formulanet"} == LAST_TOKEN_STARTS


@pytest.mark.parametrize(
    ("config", "start"),
    [
        ({"decoder_start_token_id": 3, "bos_token_id": 4, "pad_token_id": 5}, 3),
        ({"decoder_start_token_id": None, "bos_token_id": 4, "pad_token_id": 5}, 4),
        ({"bos_token_id": None, "pad_token_id": 5}, 5),
    ],
)
def test_what_a_decoder_begins_with(config: dict[str, Any], start: int) -> None:
    found = shift_right([Token(9, "nine", 0, 0)], config, "token {}".format)
    assert found == (Token(start, f"token {start}", 1, is_special=True),)


def test_nothing_to_begin_with_is_told() -> None:
    with pytest.raises(
        UserError, match="has no decoder_start_token_id, so the decoder has no start"
    ):
        shift_right([Token(9, "nine", 0)], {"model_type": "t5"}, str)


def test_a_start_outside_of_the_vocabulary_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "config.json"
    path.write_text(
        '{"model_type": "marian", "vocab_size": 90, "pad_token_id": 3,'
        ' "decoder_start_token_id": 90}'
    )
    model = open_model(parse_source(str(path)))
    monkeypatch.setattr(model, "module", lambda *_: pytest.fail("the model was asked for"))
    with pytest.raises(UserError, match="has the id 90, but the embedding has only 90 rows"):
        run_sentence(model, ALONE, random_weights=True)
