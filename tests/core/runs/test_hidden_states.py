"""Hidden states of a run are those of a plain call of the model."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
from numpy.typing import NDArray
from torch import Tensor

from bertviewer.core.loading.loaded_model import LoadedModel
from bertviewer.core.runs.activation_cache import ActivationCache
from bertviewer.core.runs.hidden_states import (
    MAX_ELEMENTS,
    hidden_states,
    small_outputs,
    stacks_of,
    token_norms,
)
from bertviewer.core.runs.recording import first_tensor
from bertviewer.core.runs.running import run_sentence
from bertviewer.core.schema.activation_run import ActivationRun, Sentence
from tests.core.checks.small_models import FAMILIES, SENTENCE, small_model
from tests.core.formulas.formula_models import TINY

ENCODER_DECODERS = ("bart", "mbart", "t5", "mt5", "transformer-base")


def run(model: LoadedModel, sentence: Sentence = SENTENCE) -> tuple[ActivationRun, ActivationCache]:
    capture = ActivationCache()
    return run_sentence(model, sentence, random_weights=True, cache=capture), capture


def plain_states(model: LoadedModel, inputs: Any) -> list[NDArray[Any]]:
    """Call the model as anybody would, and lay the encoder's tokens above the decoder's."""
    with torch.no_grad():
        output = model.module(random_weights=True)(**inputs)
    if output.get("hidden_states") is not None:
        return [state[0].numpy() for state in output.hidden_states]
    pairs = zip(output.encoder_hidden_states, output.decoder_hidden_states, strict=True)
    return [np.concatenate([source[0].numpy(), target[0].numpy()]) for source, target in pairs]


@pytest.mark.parametrize("family", FAMILIES)
def test_states_and_norms_are_those_of_a_plain_call(family: str) -> None:
    model = small_model(family)
    done, capture = run(model)
    expected = plain_states(model, capture.inputs)
    assert len(done.hidden_states) == len(expected) == len(done.token_norms)
    for state, wanted, norms in zip(done.hidden_states, expected, done.token_norms, strict=True):
        assert state.shape == (len(done.tokens), 24)
        assert np.array_equal(state, wanted)
        assert norms == pytest.approx(np.linalg.norm(wanted.astype(np.float64), axis=1))


@pytest.mark.parametrize("family", FAMILIES)
def test_the_module_that_is_named_gave_the_state(family: str) -> None:
    model = small_model(family)
    done, capture = run(model)
    assert len(done.state_paths) == len(done.hidden_states)
    for number, state in enumerate(done.hidden_states):
        for token in range(len(done.tokens)):
            path = done.state_path(number, token)
            assert path is not None
            given = [first_tensor(call.output) for call in capture.calls[path]]
            if family == "squeezebert":  # [B, D, S] inside of the layers
                given = [t if t is None or t.shape[-1] == 24 else t.transpose(1, 2) for t in given]
            segment = done.tokens[token].segment if family in ENCODER_DECODERS else 0
            row = token - sum(t.segment < segment for t in done.tokens)
            assert any(
                tensor is not None
                and tensor.numel() > row * 24
                and np.array_equal(tensor.reshape(-1, 24)[row].numpy(), state[token])
                for tensor in given
            ), (number, token, path)


@pytest.mark.parametrize(
    ("family", "task", "expected"),
    [
        ("bert", "base", ["embeddings", "encoder.layer.0", "encoder.layer.1"]),
        ("bert", "masked-lm", ["bert.embeddings", "bert.encoder.layer.0", "bert.encoder.layer.1"]),
        # The last one is taken behind the last norm.
        ("gpt2", "base", ["drop", "h.0", "ln_f"]),
        ("gpt2", "pretraining", ["transformer.drop", "transformer.h.0", "transformer.ln_f"]),
        ("llama", "base", ["embed_tokens", "layers.0", "norm"]),
        ("electra", "base", ["embeddings_project", "encoder.layer.0", "encoder.layer.1"]),
        (
            "albert",
            "base",
            ["encoder.embedding_hidden_mapping_in", *["encoder.albert_layer_groups.0"] * 2],
        ),
        # Its first layer has no norm of its own and hands on the embeddings.
        (
            "modernbert",
            "base",
            ["embeddings", "layers.0", "layers.1", "layers.2", "final_norm"],
        ),
    ],
)
def test_which_modules_give_the_states(family: str, task: str, expected: list[str]) -> None:
    done, _ = run(small_model(family, task))
    assert [paths for (paths,) in done.state_paths] == expected
    assert [done.state_path(n, 0) for n in range(len(expected))] == expected


@pytest.mark.parametrize(
    ("family", "expected"),
    [
        ("t5", ["embed_tokens", "block.0", "final_layer_norm"]),
        ("bart", ["layernorm_embedding", "layers.0", "layers.1"]),
        ("mbart", ["layernorm_embedding", "layers.0", "layer_norm"]),
    ],
)
def test_an_encoder_and_a_decoder_give_a_state_each(family: str, expected: list[str]) -> None:
    done, _ = run(small_model(family))
    assert list(done.state_paths) == [(f"encoder.{p}", f"decoder.{p}") for p in expected]
    last = len(done.tokens) - 1
    assert done.state_path(1, 0) == f"encoder.{expected[1]}"
    assert done.state_path(1, last) == f"decoder.{expected[1]}"


def test_the_pytorch_transformer_shares_its_embedding() -> None:
    done, _ = run(small_model("transformer-base"))
    assert done.state_paths == (
        ("dropout", "dropout"),
        *((f"transformer.encoder.layers.{n}", f"transformer.decoder.layers.{n}") for n in (0, 1)),
    )


def test_a_state_that_is_not_there_has_no_module() -> None:
    done, _ = run(small_model("bert"))
    assert done.state_path(3, 0) is None
    assert done.state_path(-1, 0) is None


def test_the_second_sentence_of_an_encoder_has_the_encoders_states() -> None:
    done, _ = run(small_model("bert"))
    assert {token.segment for token in done.tokens} == {0, 1}
    assert done.state_path(1, len(done.tokens) - 1) == "encoder.layer.0"


def test_a_shorter_stack_has_no_last_states() -> None:
    done, _ = run(small_model("t5", num_layers=2, num_decoder_layers=3))
    tokens = len(done.tokens)
    encoder = sum(token.segment == 0 for token in done.tokens)
    assert [state.shape for state in done.hidden_states] == [(tokens, 24)] * 4
    assert np.isnan(done.hidden_states[3][:encoder]).all()
    assert np.isfinite(done.hidden_states[3][encoder:]).all()
    assert all(np.isfinite(state).all() for state in done.hidden_states[:3])
    assert done.token_norms[3][:encoder] == (None,) * encoder
    assert None not in done.token_norms[3][encoder:]
    assert done.state_path(3, 0) is None
    assert done.state_path(3, encoder) == "decoder.final_layer_norm"


def test_states_of_several_sizes_are_not_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    # Funnel halves the number of tokens between its blocks.
    funnel = {
        "vocab_size": 97,
        "d_model": 24,
        "n_head": 3,
        "d_head": 8,
        "d_inner": 40,
        "block_sizes": [1, 1],
        "architectures": ["FunnelBaseModel"],
    }
    monkeypatch.setitem(TINY, "funnel", funnel)
    done, _ = run(small_model("funnel"))
    assert done.hidden_states == ()
    assert [len(norms) for norms in done.token_norms] == [9, 9, 5]
    assert done.state_path(1, 0) == "encoder.blocks.0.0"


def states(*shapes: tuple[int, int, int]) -> tuple[Tensor, ...]:
    return tuple(torch.ones(shape) for shape in shapes)


@pytest.mark.parametrize(
    "stacks",
    [
        (states((1, 3, 4), (1, 3, 6)),),
        (states((1, 3, 4), (1, 2, 4)),),
        (states((1, 3, 4)), states((1, 5, 6))),
        (),
    ],
)
def test_there_are_none_unless_they_have_one_size(stacks: tuple[tuple[Tensor, ...], ...]) -> None:
    assert hidden_states(stacks) == ()


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16, torch.float32, torch.float64])
def test_every_dtype_has_an_array(dtype: torch.dtype) -> None:
    model = small_model("bert")
    model.module(random_weights=True).to(dtype)
    done, capture = run(model)
    wide = torch.float64 if dtype == torch.float64 else torch.float32
    with torch.no_grad():
        output = model.module(True)(**capture.inputs)
    for state, wanted in zip(done.hidden_states, output.hidden_states, strict=True):
        assert np.array_equal(state, wanted[0].to(wide).numpy())
    assert done.outputs["pooler_output"].dtype == done.hidden_states[0].dtype


def test_a_norm_that_is_not_finite_is_none() -> None:
    state = torch.tensor([[[3.0, 4.0], [torch.nan, 1.0], [torch.inf, 1.0], [3e38, 3e38]]])
    ((plain, nan, inf, huge),) = token_norms(((state,),))
    assert (plain, nan, inf) == (5.0, None, None)
    assert huge == pytest.approx(3e38 * 2**0.5)


def test_norms_of_float64_of_any_size() -> None:
    rows = [[3e300, 4e300], [3e-300, 4e-300], [1.7e308, 1.7e308], [0.0, 0.0]]
    state = torch.tensor([rows], dtype=torch.float64)
    ((huge, tiny, most, zero),) = token_norms(((state,),))
    assert most is None
    assert tiny is not None
    assert [huge, tiny * 1e300, zero] == pytest.approx([5e300, 5.0, 0.0])


@pytest.mark.parametrize("kind", [lambda x: x.to(torch.complex64), lambda x: x[0].to_sparse()])
def test_states_that_are_not_measured_are_not_kept(kind: Callable[[Tensor], Tensor]) -> None:
    (plain,) = states((1, 3, 4))
    assert stacks_of({"hidden_states": (plain, kind(plain))}) == ()
    assert small_outputs({"logits": kind(plain), "plain": plain}, 97).keys() == {"plain"}


def test_a_model_without_hidden_states_has_no_stacks() -> None:
    assert stacks_of({"last_hidden_state": torch.zeros(1, 2, 3)}) == ()
    assert stacks_of({"encoder_hidden_states": states((1, 2, 3))}) == ()


@pytest.mark.parametrize(
    ("family", "task", "shapes"),
    [
        ("bert", "sequence-classification", {"logits": (1, 2)}),
        ("bert", "token-classification", {"logits": (1, 9, 2)}),
        ("bert", "question-answering", {"start_logits": (1, 9), "end_logits": (1, 9)}),
        ("bert", "next-sentence", {"logits": (1, 2)}),
        ("bert", "base", {"pooler_output": (1, 24)}),
        # The scores of the vocabulary are left out.
        ("bert", "masked-lm", {}),
        ("bert", "pretraining", {"seq_relationship_logits": (1, 2)}),
        ("gpt2", "pretraining", {}),
        ("t5", "pretraining", {}),
        ("gpt2", "base", {}),
    ],
)
def test_small_outputs_are_kept(family: str, task: str, shapes: dict[str, tuple[int, ...]]) -> None:
    model = small_model(family, task)
    done, capture = run(model)
    assert {name: value.shape for name, value in done.outputs.items()} == shapes
    with torch.no_grad():
        output = model.module(random_weights=True)(**capture.inputs)
    for name, value in done.outputs.items():
        assert np.array_equal(value, output[name].numpy())


def test_scores_of_as_many_tokens_as_there_are_words_are_kept() -> None:
    output = {
        "start_logits": torch.zeros(1, 97),
        "logits": torch.zeros(1, 4, 97),
        "loss": torch.tensor(1.0),
        "large": torch.zeros(1, MAX_ELEMENTS + 1),
        "encoder_last_hidden_state": torch.zeros(1, 4, 3),
        "nothing": None,
    }
    assert set(small_outputs(output, 97)) == {"start_logits", "loss"}
