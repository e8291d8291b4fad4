"""The inputs of a model, from the parameters of its forward and its configuration."""

from collections.abc import Mapping
from typing import Any

import pytest
import torch
from torch import nn

from bertviewer.core.building.backend import transformers
from bertviewer.core.graph.inputs.choices import input_choices
from bertviewer.core.graph.inputs.signature import (
    LARGE,
    ModelInputs,
    found_in,
    height_and_width,
    number,
    ones,
    random,
    special_token_ids,
    text_inputs,
)
from tests.tools.small_models import configurations

LENGTHS = {"B": 2, "S": 16, "S_d": 12}


def built(model_type: str, **changes: Any) -> nn.Module:
    values = {**configurations(model_type)[0], **changes}
    values.pop("model_type")
    config = transformers.AutoConfig.for_model(model_type, **values)
    with torch.device("meta"):
        model: nn.Module = transformers.AutoModel.from_config(config)
    return model.eval()


def first(model: nn.Module) -> ModelInputs:
    return next(input_choices(model, LENGTHS))


def shapes(inputs: ModelInputs) -> dict[str, tuple[int, ...]]:
    return {
        name: tuple(value.shape)
        for name, value in inputs.arguments.items()
        if isinstance(value, torch.Tensor)
    }


def test_inputs_of_a_text_model() -> None:
    model = built("bert")
    assert shapes(first(model)) == {
        "input_ids": (2, 16),
        "attention_mask": (2, 16),
        "token_type_ids": (2, 16),
    }
    known = text_inputs(model, LENGTHS).on_meta().known
    assert [value.tolist() for _, value in known] == [
        first(model).arguments[name].tolist() for name in shapes(first(model))
    ]


@pytest.mark.parametrize(
    ("model_type", "expected"),
    [
        ("t5", {"input_ids": (2, 16), "decoder_input_ids": (2, 12)}),
        ("vit", {"pixel_values": (2, 3, 224, 224)}),
        ("whisper", {"input_features": (2, 80, 3000), "decoder_input_ids": (2, 12)}),
        ("wav2vec2", {"input_values": (2, 19200)}),
        ("timesfm", {"past_values": (2, 512), "freq": (2, 1), "past_values_padding": (2, 512)}),
        (
            "qwen3_vl_vision",
            {"hidden_states": (2 * 8 * 8, 3 * 2 * 16 * 16), "grid_thw": (2, 3)},
        ),
        (
            "clip",
            {"input_ids": (2, 16), "attention_mask": (2, 16), "pixel_values": (2, 3, 224, 224)},
        ),
    ],
)
def test_sizes_follow_from_the_configuration(
    model_type: str, expected: Mapping[str, tuple[int, ...]]
) -> None:
    assert shapes(first(built(model_type))) == expected


def test_size_of_images() -> None:
    model = built("vit", image_size=[32, 64], num_channels=1)
    assert shapes(first(model)) == {"pixel_values": (2, 1, 32, 64)}


def test_a_text_has_one_token_for_each_patch_of_an_image() -> None:
    model = built("llava", image_token_index=7)
    inputs = first(model)
    ids = inputs.arguments["input_ids"]
    # 336 pixels in patches of 14: 24 rows of 24 patches.
    assert (ids == 7).sum(dim=1).tolist() == [24 * 24] * 2
    assert ids.shape == inputs.arguments["attention_mask"].shape == (2, 16 + 24 * 24)


def test_tokens_are_not_special_tokens() -> None:
    model = built("bert", pad_token_id=0, bos_token_id=1, eos_token_id=[2, 3])
    assert first(model).arguments["input_ids"].unique().tolist() == [4]


@pytest.mark.parametrize(("end", "last"), [(96, 96), (97, 0), (98, 0)])
def test_an_end_token_outside_of_the_vocabulary_is_not_used(end: int, last: int) -> None:
    model = built("llama", vocab_size=97, bos_token_id=1, eos_token_id=end, pad_token_id=2)
    assert first(model).arguments["input_ids"][:, -1].tolist() == [last, last]


@pytest.mark.parametrize("model_type", ["vit", "whisper", "patchtst"])
def test_a_model_that_does_not_read_text_is_refused(model_type: str) -> None:
    with pytest.raises(ValueError, match="does not read text"):
        text_inputs(built(model_type), LENGTHS)


def test_an_unknown_input_is_named() -> None:
    with pytest.raises(ValueError, match="values are known for inference_session"):
        next(input_choices(built("sam2_video"), LENGTHS))


def test_random_inputs_are_equal_and_independent() -> None:
    model = built("vit")
    choices = input_choices(model, LENGTHS)
    one, other = (next(choices).arguments["pixel_values"] for _ in range(2))
    assert one.std() > 0
    again = first(model).arguments["pixel_values"]
    assert torch.equal(one, again)
    one.zero_()  # as a model may do
    assert other.std() > 0
    assert again.std() > 0
    assert first(model).arguments["pixel_values"].std() > 0


def test_inputs_on_the_meta_device_come_with_their_values() -> None:
    ids = torch.tensor([[1, 2]])
    rows = [torch.ones(3)]
    moved = ModelInputs({"ids": ids, "rows": rows, "use_cache": False}, ()).on_meta()
    assert moved.arguments["ids"].is_meta
    assert moved.arguments["rows"][0].is_meta
    assert moved.arguments["use_cache"] is False
    assert [value.tolist() for _, value in moved.known] == [[[1, 2]], [1.0, 1.0, 1.0]]


def test_a_sub_configuration_has_priority_for_its_input() -> None:
    config = transformers.CLIPConfig(vision_config={"patch_size": 8, "image_size": 40})
    config.patch_size = 3
    assert number(config, ("patch_size",)) == 3
    assert number(config, ("patch_size",), ("vision",)) == 8
    assert list(found_in(config, ("image_size", "patch_size"), ("vision",)))[:2] == [40, 8]


@pytest.mark.parametrize(
    ("size", "expected"),
    [
        (32, (32, 32)),
        ([32, 48], (32, 48)),
        ({"height": 16, "width": 24}, (16, 24)),
        ((32,), (32, 32)),
        ("large", (5, 5)),
    ],
)
def test_height_and_width(size: Any, expected: tuple[int, int]) -> None:
    config = transformers.PretrainedConfig(image_size=size)
    assert height_and_width(config, ("image_size",), default=5) == expected


def test_special_token_ids_of_sub_configurations() -> None:
    config = transformers.LlavaConfig(image_token_index=9, text_config={"model_type": "llama"})
    config.text_config.eos_token_id = [11, 12]
    assert {9, 11, 12} <= special_token_ids(config)


def test_large_inputs_share_memory() -> None:
    pixels, mask = random(1, 3, 50_000, 50_000), ones(1, 50_000, 50_000)
    assert pixels.shape == (1, 3, 50_000, 50_000)
    assert pixels.untyped_storage().nbytes() == LARGE * 4
    assert pixels[0, :, ::5_000, ::5_000].std() > 0.1
    assert mask.shape == (1, 50_000, 50_000)
    assert mask.untyped_storage().nbytes() == 8
    small = random(2, 3)
    assert torch.equal(small, torch.rand(2, 3, generator=torch.Generator().manual_seed(0)))
