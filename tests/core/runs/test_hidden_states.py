"""Hidden states of a run, the modules that returned them, and small outputs.

``test_families`` in ``replay`` compares them with plain calls of every family.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
from numpy.typing import NDArray
from torch import Tensor

from bertviewer.core.runs.hidden_states import (
    MAX_ELEMENTS,
    hidden_states,
    small_outputs,
    stacks_of,
    token_norms,
)
from tests.core.formulas.formula_models import OTHERS
from tests.core.replay.model_runs import known, opened, ran


@pytest.mark.parametrize(
    ("family", "task", "expected"),
    [
        ("bert", "base", ["embeddings", "encoder.layer.0", "encoder.layer.1"]),
        ("bert", "masked-lm", ["bert.embeddings", "bert.encoder.layer.0", "bert.encoder.layer.1"]),
        # The last one is taken after the last norm.
        ("gpt2", "base", ["drop", "h.0", "ln_f"]),
        ("electra", "base", ["embeddings_project", "encoder.layer.0", "encoder.layer.1"]),
        (
            "albert",
            "base",
            ["encoder.embedding_hidden_mapping_in", *["encoder.albert_layer_groups.0"] * 2],
        ),
        # Its first layer has no norm, and reads the embeddings unchanged.
        ("modernbert", "base", ["embeddings", "layers.0", "layers.1", "layers.2", "final_norm"]),
    ],
)
def test_modules_of_the_hidden_states(family: str, task: str, expected: list[str]) -> None:
    run = known(family, task).run
    assert [paths for (paths,) in run.state_paths] == expected
    for place in (0, len(run.tokens) - 1):  # of both sentences
        assert [run.state_path(n, place) for n in range(len(expected))] == expected
    assert run.state_path(len(expected), 0) is None
    assert run.state_path(-1, 0) is None


LAYERS = ["layers.0", "layers.1"]


@pytest.mark.parametrize(
    ("family", "encoder", "decoder"),
    [
        *(
            (family, [f"encoder.{path}" for path in paths], [f"decoder.{path}" for path in paths])
            for family, paths in (
                ("t5", ["embed_tokens", "block.0", "final_layer_norm"]),
                ("bart", ["layernorm_embedding", *LAYERS]),
                ("mbart", ["layernorm_embedding", "layers.0", "layer_norm"]),
            )
        ),
        (
            "transformer-base",
            ["dropout", *(f"transformer.encoder.{path}" for path in LAYERS)],
            ["dropout", *(f"transformer.decoder.{path}" for path in LAYERS)],
        ),
    ],
)
def test_modules_of_an_encoder_and_a_decoder(
    family: str, encoder: list[str], decoder: list[str]
) -> None:
    run = known(family).run
    assert list(run.state_paths) == list(zip(encoder, decoder, strict=True))
    assert run.state_path(1, 0) == encoder[1]
    assert run.state_path(1, len(run.tokens) - 1) == decoder[1]


def test_a_shorter_stack_has_no_last_states() -> None:
    run = opened("t5", num_layers=2, num_decoder_layers=3).run
    tokens = len(run.tokens)
    encoder = sum(token.segment == 0 for token in run.tokens)
    assert [state.shape for state in run.hidden_states] == [(tokens, 24)] * 4
    is_missing: NDArray[np.bool_] = np.isnan(np.stack(run.hidden_states))[:, :, 0]
    assert is_missing[3, :encoder].all()
    assert is_missing.sum() == encoder
    assert [norm is None for norm in run.token_norms[3]] == is_missing[3].tolist()
    assert run.state_path(3, 0) is None
    assert run.state_path(3, encoder) == "decoder.final_layer_norm"


def test_states_of_several_sizes_are_not_kept() -> None:
    """Funnel halves the number of tokens between its blocks."""
    changes = {**OTHERS["funnel"], "architectures": ["FunnelBaseModel"]}
    run = opened("funnel", **changes).run
    assert (run.hidden_states, run.token_norms, run.state_paths) == ((), (), ())


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
def test_states_of_one_size_only(stacks: tuple[tuple[Tensor, ...], ...]) -> None:
    assert hidden_states(stacks) == ()


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float64])
def test_every_dtype(dtype: torch.dtype) -> None:
    it = opened("bert")
    it.network.to(dtype)
    it = ran(it.model)
    wide = torch.float64 if dtype == torch.float64 else torch.float32
    for state, wanted in zip(it.run.hidden_states, it.plain().hidden_states, strict=True):
        assert np.array_equal(state, wanted[0].to(wide).numpy())
    assert it.run.outputs["pooler_output"].dtype == it.run.hidden_states[0].dtype


def test_norms_that_are_not_finite() -> None:
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
def test_tensors_that_are_not_measured_are_not_kept(kind: Callable[[Tensor], Tensor]) -> None:
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
        # Scores of the vocabulary are left out.
        ("bert", "masked-lm", {}),
        ("bert", "pretraining", {"seq_relationship_logits": (1, 2)}),
        ("gpt2", "pretraining", {}),
        ("t5", "pretraining", {}),
    ],
)
def test_small_outputs(family: str, task: str, shapes: dict[str, tuple[int, ...]]) -> None:
    it = known(family, task)
    assert {name: value.shape for name, value in it.run.outputs.items()} == shapes
    expected = it.plain()
    for name, value in it.run.outputs.items():
        assert np.array_equal(value, expected[name].numpy())


def test_which_outputs_are_small() -> None:
    output: dict[str, Any] = {
        "start_logits": torch.zeros(1, 97),  # as many tokens as the vocabulary
        "logits": torch.zeros(1, 4, 97),
        "loss": torch.tensor(1.0),
        "large": torch.zeros(1, MAX_ELEMENTS + 1),
        "encoder_last_hidden_state": torch.zeros(1, 4, 3),
        "nothing": None,
    }
    assert set(small_outputs(output, 97)) == {"start_logits", "loss"}
