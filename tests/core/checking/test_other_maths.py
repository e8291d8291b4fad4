"""Maths of another kind than a family's own is found, at the module that carries it out."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch

from bertviewer.core.checking.check import check_run
from tests.core.checking.crossing import crosses
from tests.core.checking.small_models import run, small_model


def turned_by_another_base(model: Any) -> None:
    model.rotary_embeddings.inv_freq *= 0.9


def not_turned(model: Any) -> None:
    model.encoder.layer[1].attention.self.position_embedding_type = "absolute"


def not_made_up_for(model: Any) -> None:
    model.embeddings.token_dropout = False


def without_a_kind(model: Any) -> None:
    model.encoder.layer[1].attention.self.pos_att_type = ["c2p"]


def in_other_heads(model: Any) -> None:
    model.encoder.layer[1].attention.self.num_attention_heads = 4


def values_turned(model: Any) -> None:
    model.encoder.layer[1].attention.self.rotary_value = True


def unmasked(model: Any) -> None:
    inner = model.encoder.layer[1].attention.self
    forward = inner.forward
    inner.forward = lambda x, **more: forward(x, **{**more, "attention_mask": None})


def at_other_blocks(model: Any) -> None:
    inner = model.encoder.layer[1].attention.self

    def other(**given: Any) -> Any:
        blocks = given["from_seq_length"] // given["from_block_size"] - 2
        return [np.full((blocks, 1), 3, dtype=np.int32)] * given["num_heads"]

    inner._bigbird_block_rand_mask_with_head = other


def rescaled(model: Any) -> None:
    model.embeddings.rescale_embeddings = True


def unscaled(model: Any) -> None:
    model.encoder.layers[1].attention.attention_head_size = 8
    inner = model.encoder.layers[1].attention.matmul_qk
    inner.register_forward_hook(lambda _module, _args, output: output * 8**0.5)


def normed_over_positions(model: Any) -> None:
    model.encoder.layers[1].output.layernorm.forward = lambda x: torch.nn.functional.layer_norm(
        x, x.shape[-1:]
    )


@pytest.mark.parametrize(
    ("family", "path", "change", "more"),
    [
        ("esm", "rotary_embeddings", turned_by_another_base, {}),
        ("esm", "encoder.layer.1.attention.self", not_turned, {}),
        ("esm", "embeddings", not_made_up_for, {}),
        ("deberta", "encoder.layer.1.attention.self", without_a_kind, {}),
        ("deberta", "encoder.layer.1.attention.self", in_other_heads, {"talking_head": False}),
        ("roformer", "encoder.layer.1.attention.self", values_turned, {}),
        ("roformer", "encoder.layer.1.attention.self", unmasked, {"is_decoder": True}),
        ("big_bird", "encoder.layer.1.attention.self", at_other_blocks, {}),
        ("big_bird", "embeddings", rescaled, {}),
        ("squeezebert", "encoder.layers.1.attention.matmul_qk", unscaled, {}),
        ("squeezebert", "encoder.layers.1.output.layernorm", normed_over_positions, {}),
    ],
)
def test_other_maths_of_berts_kin(
    family: str, path: str, change: Callable[[Any], None], more: dict[str, Any]
) -> None:
    model = small_model(family, **more)
    change(model.module(random_weights=True))
    found = crosses(check_run(model, run(model)))
    assert (path, "output") in found
    # What neither holds it nor follows from it in the same module is right.
    assert {p for p, _ in found} == {
        p for p, _ in found if path == p or path.startswith(p if p == "" else f"{p}.")
    }
