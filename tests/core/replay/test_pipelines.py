"""Predictions of encoder-decoders with a tokenizer are those of transformers' pipelines."""

from pathlib import Path
from typing import Any

import pytest
import torch
import transformers
from tokenizers import Tokenizer, processors

from bertviewer.core.analysis.predictions import classification, expected_positions, mask_positions
from bertviewer.core.loading.opening import open_model
from bertviewer.core.replay.predictions import predictions_at
from bertviewer.core.schema.activation_run import Sentence
from bertviewer.core.sources.parsing import parse_source
from tests.core.formulas.formula_models import TINY
from tests.core.replay.model_runs import Opened, ran
from tests.core.tokenization.small_tokenizers import NAMES, byte_level, unigram

PAIR = Sentence("the cat sat on the mat", "this is a test")
HEADS = {
    "masked-lm": transformers.AutoModelForMaskedLM,
    "question-answering": transformers.AutoModelForQuestionAnswering,
}


def mbart_tokenizer() -> Tokenizer:
    """Return one as mBART's, with the language at the end: A B </s> en_XX."""
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
TOKENIZERS = {"bart": byte_level, "mbart": mbart_tokenizer, "t5": unigram}


class Theirs:
    """A small model in a folder, as transformers opens it."""

    def __init__(self, family: str, task: str, folder: Path) -> None:
        names = NAMES["sentencepiece" if family == "t5" else "roberta"]
        self.folder, self.task = folder, task
        self.tokenizer: Any = transformers.PreTrainedTokenizerFast(
            tokenizer_object=TOKENIZERS[family](),
            model_input_names=["input_ids", "attention_mask"],
            **{f"{role}_token": name for role, name in names.items()},
        )
        values = {**TINY[family], **SPECIAL[family], "vocab_size": len(self.tokenizer)}
        with torch.random.fork_rng(devices=[]), torch.no_grad():
            torch.manual_seed(5)
            config = transformers.AutoConfig.for_model(family, **values)
            self.model: Any = HEADS[task].from_config(config).eval()
            for parameter in self.model.parameters():
                parameter.add_(0.1 * torch.randn_like(parameter))
        self.tokenizer.save_pretrained(folder)
        self.model.save_pretrained(folder)

    def ran(self, sentence: Sentence) -> Opened:
        return ran(open_model(parse_source(str(self.folder), self.task)), sentence)


@pytest.mark.parametrize("family", ["bart", "mbart"])
def test_words_at_a_mask(family: str, tmp_path: Path) -> None:
    theirs = Theirs(family, "masked-lm", tmp_path)
    pipeline = transformers.FillMaskPipeline(model=theirs.model, tokenizer=theirs.tokenizer)
    for text in ("the cat <mask> on the mat", "<mask> cat sat", "<mask>", "the cat sat <mask>"):
        it = theirs.ran(Sentence(text))
        expected = pipeline(text, top_k=7)
        (position,) = mask_positions(it.run, it.model.architecture)
        mask = expected_positions(it.run, it.model.architecture)[position]
        assert mask is not None
        assert it.run.tokens[mask].text == "<mask>"
        found = predictions_at(it, position, top=7)
        assert [c.id for c in found.guess.top] == [entry["token"] for entry in expected]
        scores = [entry["score"] for entry in expected]
        assert [c.probability for c in found.guess.top] == pytest.approx(scores, rel=1e-4)
        assert found.no_layers == ""


@pytest.mark.parametrize("family", ["bart", "mbart", "t5"])
def test_an_answer_consists_of_the_encoders_tokens(family: str, tmp_path: Path) -> None:
    theirs = Theirs(family, "question-answering", tmp_path)
    it = theirs.ran(PAIR)
    encoding = theirs.tokenizer(PAIR.text, PAIR.pair, return_tensors="pt")
    with torch.no_grad():
        output = theirs.model(**encoding)
    found = classification(it.run, it.model.architecture)
    assert found is not None
    starts, ends = (output[name][0] for name in ("start_logits", "end_logits"))
    for column, logits in enumerate((starts, ends)):
        assert found.logits[:, column] == pytest.approx(logits.numpy(), abs=1e-5)
    assert found.tokens == tuple(range(len(starts)))
    # There is nothing between the texts of mBART's pair; the tokenizer tells them apart.
    allowed = [place for place, text in enumerate(encoding.sequence_ids(0)) if text == 1]
    spans = {(i, j): float(starts[i] + ends[j]) for i in allowed for j in allowed if i <= j}
    assert found.answer == max(spans, key=lambda span: spans[span])
