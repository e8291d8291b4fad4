"""The segments of a run's tokens are those that the model gets."""

import json
from pathlib import Path
from typing import Any

import pytest
import torch

from bertviewer.core.loading.opening import open_model
from bertviewer.core.runs.inputs import text_inputs
from bertviewer.core.schema.activation_run import Sentence, Token
from bertviewer.core.sources.parsing import parse_source
from bertviewer.core.tokenization.tokenization import check_tokens
from bertviewer.core.util.errors import UserError
from tests.core.checks.small_models import small_model
from tests.core.formulas.formula_models import OTHERS, TINY
from tests.core.replay.model_runs import ran


@pytest.mark.parametrize(
    ("family", "changes"),
    [
        ("bert", {"type_vocab_size": 2}),
        ("bert", {"type_vocab_size": 1}),
        ("albert", {"type_vocab_size": 1}),
        ("electra", {"type_vocab_size": 1}),
        ("deberta-v2", {"type_vocab_size": 0}),
        ("distilbert", {}),
        ("distilbert", {"type_vocab_size": 2}),  # a key of other families
        ("mpnet", {}),
        ("xlnet", {}),
    ],
)
def test_segments_of_a_pair(family: str, changes: dict[str, Any], tmp_path: Path) -> None:
    config = {"model_type": family, **{**OTHERS, **TINY}[family], **changes}
    (tmp_path / "config.json").write_text(json.dumps(config))
    it = ran(open_model(parse_source(str(tmp_path))), Sentence("the cat", "the mat"))
    segments = [token.segment for token in it.run.tokens]
    used = it.cache.inputs.get("token_type_ids")
    assert segments == ([0] * len(segments) if used is None else used[0].tolist())
    assert (1 in segments) == (family == "bert" and changes["type_vocab_size"] == 2)


def test_segments_that_a_model_creates_are_left_to_it() -> None:
    """BigBird's question answering gives what follows the first separator another segment."""
    model = small_model("big_bird", "question-answering", type_vocab_size=2, sep_token_id=10)
    module: Any = model.module(True)
    config = model.architecture.config
    ids, zeros = torch.tensor([[5, 6, 10, 7, 8, 10]]), torch.zeros(1, 6, dtype=torch.long)
    inputs = text_inputs(module, ids, zeros + 1, zeros, config)
    assert "token_type_ids" not in inputs
    # The tokenizer's segments are used if they differ.
    segments = torch.tensor([[0, 0, 0, 1, 1, 1]])
    given = text_inputs(module, ids, zeros + 1, segments, config)
    assert torch.equal(given["token_type_ids"], segments)
    with torch.no_grad():
        one, other = module(**inputs), module(**given)
    assert torch.equal(one.start_logits, other.start_logits)
    base = small_model("big_bird").module(True)
    assert "token_type_ids" in text_inputs(base, ids, zeros + 1, zeros, config)


def test_a_segment_without_a_row() -> None:
    config = {"type_vocab_size": 2, "vocab_size": 9}
    check_tokens((Token(5, "a", 1),), config)
    with pytest.raises(UserError, match="a token has the segment 2, but the model tells only 2"):
        check_tokens((Token(5, "a", 2),), config)
