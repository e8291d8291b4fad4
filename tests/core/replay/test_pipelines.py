"""Predictions of encoder-decoders are those of transformers' pipelines."""

from pathlib import Path
from typing import Any

import pytest
import torch
import transformers
from tokenizers import Tokenizer, processors

from bertviewer.core.analysis.predictions import classification, expected_positions, mask_positions
from bertviewer.core.loading.opening import open_model
from bertviewer.core.replay.predictions import predictions_at
from bertviewer.core.runs.activation_cache import ActivationCache
from bertviewer.core.runs.running import run_sentence
from bertviewer.core.schema.activation_run import Sentence
from bertviewer.core.sources.parsing import parse_source
from tests.core.formulas.formula_models import TINY
from tests.core.replay.model_runs import Opened
from tests.core.tokenization.small_tokenizers import NAMES, byte_level, unigram

MASKED = "the cat <mask> on the mat"
PAIR = Sentence("the cat sat on the mat", "this is a test")


def bart_tokenizer() -> Tokenizer:
    """Return one as BART's: <s> A </s></s> B </s>."""
    return byte_level()


def mbart_tokenizer() -> Tokenizer:
    """Return one as mBART's, where the language stands at the end: A B </s> en_XX."""
    tokenizer = byte_level()
    tokenizer.add_special_tokens(["en_XX"])
    tokenizer.post_processor = processors.TemplateProcessing(
        single="$A </s> en_XX",
        pair="$A $B </s> en_XX",
        special_tokens=[("</s>", 2), ("en_XX", tokenizer.token_to_id("en_XX"))],
    )
    return tokenizer


SPECIAL = {
    "bart": {"bos_token_id": 0, "pad_token_id": 1, "eos_token_id": 2, "decoder_start_token_id": 2},
    "mbart": {"bos_token_id": 0, "pad_token_id": 1, "eos_token_id": 2},
    "t5": {"pad_token_id": 0, "eos_token_id": 1, "decoder_start_token_id": 0},
}
MAKERS = {"bart": bart_tokenizer, "mbart": mbart_tokenizer, "t5": unigram}


def written(family: str, auto: Any, folder: Path) -> Path:
    """Write a small model with a tokenizer of its own."""
    names = NAMES["sentencepiece" if family == "t5" else "roberta"]
    tokenizer = transformers.PreTrainedTokenizerFast(
        tokenizer_object=MAKERS[family](),
        model_input_names=["input_ids", "attention_mask"],
        **{f"{role}_token": name for role, name in names.items()},
    )
    tokenizer.save_pretrained(folder)
    values = {**TINY[family], **SPECIAL[family], "vocab_size": len(tokenizer)}
    with torch.random.fork_rng(devices=[]), torch.no_grad():
        torch.manual_seed(5)
        model = auto.from_config(transformers.AutoConfig.for_model(family, **values))
        for parameter in model.parameters():
            parameter.add_(0.1 * torch.randn_like(parameter))
    model.save_pretrained(folder)
    return folder


def ran(folder: Path, task: str, sentence: Sentence) -> Opened:
    model = open_model(parse_source(str(folder), task))
    kept = ActivationCache("units")
    return Opened(model, run_sentence(model, sentence, cache=kept), kept)


@pytest.mark.parametrize("text", [MASKED, "<mask> cat sat", "<mask>", "the cat sat <mask>"])
@pytest.mark.parametrize("family", ["bart", "mbart"])
def test_words_at_a_mask(family: str, text: str, tmp_path: Path) -> None:
    folder = written(family, transformers.AutoModelForMaskedLM, tmp_path)
    it = ran(folder, "masked-lm", Sentence(text))
    pipeline = transformers.FillMaskPipeline(
        model=transformers.AutoModelForMaskedLM.from_pretrained(folder),
        tokenizer=transformers.AutoTokenizer.from_pretrained(folder),
    )
    expected = pipeline(text, top_k=7)
    (position,) = mask_positions(it.run, it.model.architecture)
    mask = expected_positions(it.run, it.model.architecture)[position]
    assert mask is not None
    assert it.run.tokens[mask].text == "<mask>"
    found = predictions_at(it, position, top=7)
    assert [c.id for c in found.guess.top] == [entry["token"] for entry in expected]
    assert [c.probability for c in found.guess.top] == pytest.approx(
        [entry["score"] for entry in expected], rel=1e-4
    )
    assert found.no_layers == ""


@pytest.mark.parametrize("pair", [None, PAIR.pair])
@pytest.mark.parametrize("family", ["bart", "mbart", "t5"])
def test_classes_of_a_text_and_of_a_pair(family: str, pair: str | None, tmp_path: Path) -> None:
    folder = written(family, transformers.AutoModelForSequenceClassification, tmp_path)
    it = ran(folder, "sequence-classification", Sentence(PAIR.text, pair))
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    model = transformers.AutoModelForSequenceClassification.from_pretrained(folder)
    pipeline = transformers.TextClassificationPipeline(model=model, tokenizer=tokenizer)
    given = {"text": PAIR.text} | ({} if pair is None else {"text_pair": pair})
    expected = {entry["label"]: entry["score"] for entry in pipeline(given, top_k=None)}
    found = classification(it.run, it.model.architecture)
    assert found is not None
    assert found.probabilities is not None
    assert dict(zip(found.labels, found.probabilities[0], strict=True)) == pytest.approx(
        expected, abs=1e-6
    )
    encoder = [token.id for token in it.run.tokens if token.segment == 0]
    assert encoder == tokenizer(PAIR.text, pair)["input_ids"]


@pytest.mark.parametrize("family", ["bart", "mbart", "t5"])
def test_an_answer_is_of_the_encoders_tokens(family: str, tmp_path: Path) -> None:
    auto = transformers.AutoModelForQuestionAnswering
    folder = written(family, auto, tmp_path)
    it = ran(folder, "question-answering", PAIR)
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    encoding = tokenizer(PAIR.text, PAIR.pair, return_tensors="pt")
    with torch.no_grad():
        output = auto.from_pretrained(folder)(**encoding)
    found = classification(it.run, it.model.architecture)
    assert found is not None
    for column, name in enumerate(("start_logits", "end_logits")):
        assert found.logits[:, column] == pytest.approx(output[name][0].numpy(), abs=1e-5)
    assert found.tokens == tuple(range(encoding["input_ids"].shape[1]))
    assert found.answer is not None
    # Nothing stands between the texts of mBART's pair, and the tokenizer tells them apart.
    assert all(encoding.sequence_ids(0)[place] == 1 for place in found.answer)
    starts, ends = (output[name][0] for name in ("start_logits", "end_logits"))
    allowed = [place for place, text in enumerate(encoding.sequence_ids(0)) if text == 1]
    spans = {(i, j): float(starts[i] + ends[j]) for i in allowed for j in allowed if i <= j}
    assert found.answer == max(spans, key=lambda span: spans[span])
