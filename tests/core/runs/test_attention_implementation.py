"""BigBird's attention and dynamic rotary embeddings do not depend on earlier calls."""

from typing import Any

import numpy as np
import pytest
import torch
import transformers

from bertviewer.core.loading.loaded_model import LoadedModel
from bertviewer.core.runs.activation_cache import ActivationCache
from bertviewer.core.runs.attention_implementation import reset_model_state
from bertviewer.core.runs.inputs import text_inputs
from bertviewer.core.runs.module_replay import replay
from bertviewer.core.runs.running import run_sentence
from bertviewer.core.schema.activation_run import ActivationRun, Sentence
from tests.core.checks.small_models import small_model

SHORT, LONG = Sentence("word " * 5), Sentence("word " * 20)
ATTENTION = "encoder.layer.1.attention.self"


def ran(
    model: LoadedModel, sentence: Sentence, capture: ActivationCache | None = None
) -> ActivationRun:
    return run_sentence(model, sentence, random_weights=True, cache=capture)


def last(run: ActivationRun) -> np.ndarray:
    return run.hidden_states[-1]


def test_a_long_sentence_after_a_short_one_is_as_in_a_fresh_model() -> None:
    used, fresh = small_model("big_bird"), small_model("big_bird")
    fresh.module(True).load_state_dict(used.module(True).state_dict())
    short = ran(used, SHORT)
    assert np.array_equal(last(ran(used, LONG)), last(ran(fresh, LONG)))
    assert np.array_equal(last(ran(fresh, SHORT)), last(short))


@pytest.mark.parametrize("sentence", [SHORT, LONG])
def test_the_attention_in_use_is_watched_and_no_module_is_new(sentence: Sentence) -> None:
    model = small_model("big_bird")
    run = ran(model, sentence)
    assert run.activation(ATTENTION) is not None
    listed = [node.path for node in model.architecture.modules]
    assert [module.path for module in run.modules if module.path not in listed] == []


def test_a_kept_run_is_called_again_with_the_attention_that_it_had() -> None:
    model = small_model("big_bird")
    kept, seen = ActivationCache("units"), ActivationCache()
    ran(model, SHORT, kept)
    ran(model, SHORT, seen)
    ran(model, LONG)
    (call,) = replay(model, kept, [ATTENTION]).calls[ATTENTION]
    assert torch.equal(call.output[0], seen.calls[ATTENTION][0].output[0])


@pytest.mark.parametrize("length", [7, 8])
def test_full_attention_ends_where_transformers_ends_it(length: int) -> None:
    model = small_model("big_bird").module(True)
    theirs = small_model("big_bird").module(True)
    inputs = {"input_ids": torch.ones(1, length, dtype=torch.long)}
    reset_model_state(model, inputs)
    theirs(**inputs)
    kinds = [type(m.get_submodule(ATTENTION)).__name__ for m in (model, theirs)]
    assert kinds[0] == kinds[1]
    assert kinds[0] == ("BigBirdSelfAttention" if length == 7 else "BigBirdBlockSparseAttention")


def test_what_is_full_from_the_beginning_stays_so() -> None:
    changes: dict[str, Any] = {"is_decoder": True, "add_cross_attention": True}
    for model in (
        small_model("big_bird", attention_type="original_full").module(True),
        small_model("big_bird", **changes).module(True),
    ):
        reset_model_state(model, {"input_ids": torch.ones(1, 30, dtype=torch.long)})
        assert type(model.get_submodule(ATTENTION)).__name__ == "BigBirdSelfAttention"


def test_an_encoder_decoder_is_settled_in_its_encoder() -> None:
    sizes = {"encoder_layers": 1, "decoder_layers": 1, "d_model": 24, "vocab_size": 97}
    heads = {"encoder_attention_heads": 3, "decoder_attention_heads": 3}
    blocks = {"block_size": 1, "num_random_blocks": 1}
    config = transformers.BigBirdPegasusConfig(**sizes, **heads, **blocks)
    model = transformers.BigBirdPegasusModel(config)
    for length, name in ((7, "SelfAttention"), (8, "BlockSparseAttention"), (3, "SelfAttention")):
        reset_model_state(model, {"input_ids": torch.ones(1, length, dtype=torch.long)})
        attention = model.encoder.layers[0].self_attn.self
        assert type(attention).__name__ == f"BigBirdPegasus{name}"


def test_segments_that_a_model_makes_are_left_to_it() -> None:
    """BigBird's question answering gives what follows the first separator another segment."""
    model = small_model("big_bird", "question-answering", type_vocab_size=2, sep_token_id=10)
    module: Any = model.module(True)
    ids, zeros = torch.tensor([[5, 6, 10, 7, 8, 10]]), torch.zeros(1, 6, dtype=torch.long)
    config = model.architecture.config
    inputs = text_inputs(module, ids, zeros + 1, zeros, config)
    assert "token_type_ids" not in inputs
    # A tokenizer that tells segments apart is believed.
    apart = torch.tensor([[0, 0, 0, 1, 1, 1]])
    given = text_inputs(module, ids, zeros + 1, apart, config)
    assert torch.equal(given["token_type_ids"], apart)
    with torch.no_grad():
        one, other = module(**inputs), module(**given)
    assert torch.equal(one.start_logits, other.start_logits)
    base = small_model("big_bird").module(True)
    assert "token_type_ids" in text_inputs(base, ids, zeros + 1, zeros, config)
