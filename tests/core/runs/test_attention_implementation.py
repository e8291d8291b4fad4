"""BigBird's attention and dynamic rotary embeddings do not depend on earlier calls."""

from typing import Any

import numpy as np
import pytest
import torch
import transformers

from bertviewer.core.runs.activation_cache import ActivationCache
from bertviewer.core.runs.attention_implementation import reset_model_state
from bertviewer.core.runs.module_replay import replay
from bertviewer.core.runs.running import run_sentence
from bertviewer.core.schema.activation_run import ActivationRun, Sentence
from tests.core.checks.small_models import perturb, small_model
from tests.core.replay.model_runs import assert_same_calls

SHORT, LONG = Sentence("word " * 5), Sentence("word " * 20)
ATTENTION = "encoder.layer.1.attention.self"


def ids(length: int) -> dict[str, Any]:
    return {"input_ids": torch.ones(1, length, dtype=torch.long)}


def last_states(run: ActivationRun) -> np.ndarray:
    return run.hidden_states[-1]


DYNAMIC = {"rope_type": "dynamic", "rope_theta": 10000.0, "factor": 4.0}


@pytest.mark.parametrize(
    ("family", "changes", "words"),
    [
        ("big_bird", {}, 5),
        # Longer than in training, so that the frequencies depend on the length.
        ("llama", {"max_position_embeddings": 8, "rope_parameters": DYNAMIC}, 12),
    ],
)
def test_a_run_is_that_of_a_fresh_model(family: str, changes: dict[str, Any], words: int) -> None:
    short_text = Sentence("word " * words)
    used, fresh = small_model(family, **changes), small_model(family, **changes)
    perturb(used)
    fresh.module(True).load_state_dict(used.module(True).state_dict())
    kept, seen = ActivationCache("units"), ActivationCache()
    short = run_sentence(used, short_text, random_weights=True, cache=kept)
    run_sentence(used, short_text, random_weights=True, cache=seen)
    long = run_sentence(used, LONG, random_weights=True)
    assert np.array_equal(
        last_states(long), last_states(run_sentence(fresh, LONG, random_weights=True))
    )
    again = run_sentence(used, short_text, random_weights=True)
    assert np.array_equal(last_states(short), last_states(again))
    # An earlier run is replayed with the attention that it had.
    run_sentence(used, LONG, random_weights=True)
    path = next(it.path for it in short.modules if it.path.endswith(("self", "self_attn")))
    assert_same_calls(replay(used, kept, [path]), seen, path)


@pytest.mark.parametrize("sentence", [SHORT, LONG])
def test_the_attention_in_use_is_recorded_and_no_module_is_new(sentence: Sentence) -> None:
    model = small_model("big_bird")
    cache = ActivationCache("units")
    run = run_sentence(model, sentence, random_weights=True, cache=cache)
    assert run.activation(ATTENTION) is not None
    listed = {node.path for node in model.architecture.modules}
    assert {module.path for module in run.modules} <= listed


@pytest.mark.parametrize(
    ("length", "name"), [(7, "BigBirdSelfAttention"), (8, "BigBirdBlockSparseAttention")]
)
def test_full_attention_ends_where_transformers_ends_it(length: int, name: str) -> None:
    ours, theirs = (small_model("big_bird").module(True) for _ in range(2))
    reset_model_state(ours, ids(length))
    theirs(**ids(length))
    kinds = [type(module.get_submodule(ATTENTION)).__name__ for module in (ours, theirs)]
    assert kinds == [name, name]


@pytest.mark.parametrize(
    "changes",
    [{"attention_type": "original_full"}, {"is_decoder": True, "add_cross_attention": True}],
)
def test_full_attention_by_configuration_stays(changes: dict[str, Any]) -> None:
    model = small_model("big_bird", **changes).module(True)
    reset_model_state(model, ids(30))
    assert type(model.get_submodule(ATTENTION)).__name__ == "BigBirdSelfAttention"


def test_an_encoder_decoder_is_reset_in_its_encoder() -> None:
    sizes = {"encoder_layers": 1, "decoder_layers": 1, "d_model": 24, "vocab_size": 97}
    heads = {"encoder_attention_heads": 3, "decoder_attention_heads": 3}
    blocks = {"block_size": 1, "num_random_blocks": 1}
    model = transformers.BigBirdPegasusModel(
        transformers.BigBirdPegasusConfig(**sizes, **heads, **blocks)
    )
    for length, name in ((7, "SelfAttention"), (8, "BlockSparseAttention"), (3, "SelfAttention")):
        reset_model_state(model, ids(length))
        attention = model.encoder.layers[0].self_attn.self
        assert type(attention).__name__ == f"BigBirdPegasus{name}"
