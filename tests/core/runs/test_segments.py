"""The segments of a run's tokens are the model's inputs."""

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

import bertviewer
from bertviewer.core.schema.activation_run import Token
from bertviewer.core.tokenization.tokenization import check_tokens
from bertviewer.core.util.errors import UserError

FAMILIES: dict[str, dict[str, Any]] = {
    "bert with segments": {"model_type": "bert", "type_vocab_size": 2},
    "bert without": {"model_type": "bert", "type_vocab_size": 1},
    "albert without": {"model_type": "albert", "type_vocab_size": 1, "embedding_size": 16},
    "electra without": {"model_type": "electra", "type_vocab_size": 1, "embedding_size": 16},
    "deberta without": {"model_type": "deberta-v2", "type_vocab_size": 0},
    "distilbert": {"model_type": "distilbert", "dim": 32, "hidden_dim": 64, "n_heads": 4},
    "distilbert with another's key": {
        "model_type": "distilbert", "dim": 32, "hidden_dim": 64, "n_heads": 4, "type_vocab_size": 2,
    },
    "mpnet": {"model_type": "mpnet"},
    "xlnet": {"model_type": "xlnet", "d_model": 32, "n_head": 4, "d_inner": 64, "n_layer": 2},
}  # fmt: skip
SIZES = {
    "vocab_size": 200, "hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4,
    "intermediate_size": 64, "max_position_embeddings": 64,
}  # fmt: skip


@pytest.mark.parametrize("name", FAMILIES)
def test_it_is_the_one_that_was_given(name: str, tiny_bert_folder: Path, tmp_path: Path) -> None:
    sizes = {} if FAMILIES[name]["model_type"] == "xlnet" else SIZES
    config = {"vocab_size": 200, **sizes, **FAMILIES[name]}
    for file in ("vocab.txt", "tokenizer_config.json"):
        shutil.copy(tiny_bert_folder / file, tmp_path / file)
    (tmp_path / "config.json").write_text(json.dumps(config))
    model = bertviewer.open(tmp_path)
    run = model.run("the cat", "the mat", random_weights=True)
    given = run.values("").took.get("token_type_ids")
    shown = [token["segment"] for token in run.tokens]
    assert shown == (given[0].tolist() if given is not None else [0] * len(shown))
    assert (1 in shown) == (name == "bert with segments")


def test_one_without_a_row_is_refused() -> None:
    config = {"type_vocab_size": 2, "vocab_size": 9}
    check_tokens((Token(5, "a", 1),), config)
    with pytest.raises(UserError, match="a token has the segment 2, but the model tells only 2"):
        check_tokens((Token(5, "a", 2),), config)
