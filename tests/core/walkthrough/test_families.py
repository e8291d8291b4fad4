"""The walk through many families: what each of them does, in the order in which it does it."""

from collections.abc import Iterator
from contextlib import contextmanager
from itertools import chain
from typing import Any

import pytest
import torch
import transformers

from bertviewer.core.building.transformer_base import register
from bertviewer.core.walkthrough import build
from bertviewer.core.walkthrough import steps as step_notes
from bertviewer.core.walkthrough.build import TARGET, build_walkthrough
from tests.core.walkthrough.expected import (
    ATTENTION,
    BERT,
    CROSS,
    EXPERTS,
    LAST,
    MASKED,
    OTHER,
    PLAIN,
    POST_NORM,
    PRE_NORM,
    SEGMENTED,
    WORDS,
)
from tests.core.walkthrough.small_walkthroughs import config, small

register()


@pytest.mark.parametrize(
    ("family", "embeddings", "layer", "rest"),
    [
        ("bert", BERT, POST_NORM, [OTHER, "Pooler"]),
        ("electra", [*BERT, "Embedding projection"], POST_NORM, [OTHER]),
        (
            "albert",
            [*BERT, "Embedding projection"],
            [*POST_NORM[:5], *POST_NORM[6:]],
            ["The same layer, once more", "Pooler"],
        ),
        (
            "distilbert",
            [*WORDS, "Position embedding", "Add", *LAST],
            [ATTENTION, *POST_NORM[2:]],
            [OTHER],
        ),
        (
            "mpnet",
            [*WORDS, "Position embedding", "Add", *LAST, "Distance embedding"],
            POST_NORM,
            [OTHER, "Pooler"],
        ),
        (
            "deberta",
            [*WORDS, "Position embedding", "Add", *LAST, "Distance embedding"],
            POST_NORM,
            [OTHER],
        ),
        (
            "deberta-v2",
            [*WORDS, *LAST, "Distance embedding", "Distance embedding norm"],
            POST_NORM,
            [OTHER],
        ),
        (
            "roformer",
            [*SEGMENTED, *LAST, "Embedding projection", "Position embedding"],
            POST_NORM,
            [OTHER],
        ),
        (
            "esm",
            [*WORDS, "Scale by 0.88", "Divide"],
            PRE_NORM,
            [OTHER, "Norm", "Pooler", "contact_head"],
        ),
        (
            "big_bird",
            [*SEGMENTED, "Position embedding", *reversed(LAST)],
            [ATTENTION, "Linear", *POST_NORM[1:]],
            [OTHER, "Pooler"],
        ),
        (
            "squeezebert",
            [*SEGMENTED[:3], "Position embedding", *SEGMENTED[3:], *LAST],
            POST_NORM,
            [OTHER, "Pooler"],
        ),
        (
            "gpt2",
            [*WORDS, "Position embedding", "Add", "Embedding dropout"],
            PRE_NORM,
            [OTHER, "Norm"],
        ),
        (
            "gptj",
            [*WORDS, "Embedding dropout"],
            ["Norm", ATTENTION, "Dropout", "Feed-forward network", "Dropout", "Add"],
            [OTHER, "Norm"],
        ),
        ("llama", WORDS, PLAIN, [OTHER, "Norm"]),
        ("qwen3", WORDS, PLAIN, [OTHER, "Norm"]),
        ("gemma", [*WORDS, "Scale by √24"], PLAIN, [OTHER, "Norm"]),
        ("mixtral", WORDS, EXPERTS, [OTHER, "Norm"]),
        ("mamba", WORDS, ["Norm", "mixer", "Add"], [OTHER, "Norm"]),
        (
            "xlnet",
            [*WORDS, "Embedding dropout"],
            [*POST_NORM, "r_s_bias, seg_embed"],
            [OTHER, "Dropout", "mask_emb"],
        ),
        (
            "vit",
            ["Convolution", "Concatenate", "Add", "Embedding dropout"],
            PRE_NORM,
            [OTHER, "Norm", "Pooler"],
        ),
    ],
)
def test_steps_in_the_order_of_execution(
    family: str, embeddings: list[str], layer: list[str], rest: list[str]
) -> None:
    walk = build_walkthrough(small(family))
    assert walk.reconciles
    assert all(part.is_executed for part in walk.sections)
    first, second, *others = [[at.name for at in part.steps] for part in walk.sections]
    assert [first, second, [*chain.from_iterable(others)]] == [embeddings, layer, rest]
    for part in walk.sections:
        assert part.kind == "others" or not any(at.is_layers for at in part.steps)


def decoder_of(encoder: list[str]) -> list[str]:
    """Return a decoder layer's steps: self-attention again, across to the encoder."""
    start = encoder.index("Feed-forward network") - (encoder[0] == "Norm")
    across = [CROSS if name == ATTENTION else name for name in encoder[:start]]
    return [MASKED if name == ATTENTION else name for name in encoder[:start]] + (
        across + encoder[start:]
    )


@pytest.mark.parametrize(
    ("family", "layer"),
    [
        ("bart", POST_NORM),
        ("mbart", PRE_NORM),
        ("t5", PRE_NORM),
        ("transformer-base", POST_NORM),
    ],
)
def test_a_decoder_comes_after_its_encoder(family: str, layer: list[str]) -> None:
    walk = build_walkthrough(small(family))
    assert walk.reconciles
    layers = [part for part in walk.sections if part.kind == "layer"]
    encoders = [part for part in layers if "encoder" in part.title.lower()]
    assert [[at.name for at in part.steps] for part in encoders] == [layer] * len(encoders)
    decoders = layers[len(encoders) :]
    assert [[at.name for at in part.steps] for part in decoders] == [decoder_of(layer)] * len(
        decoders
    )
    target = next(part for part in walk.sections if part.title == TARGET)
    assert [at.name for at in target.steps[:2]] == WORDS
    # One table for both sides; it counts once.
    assert [at.count.parameters for at in walk.steps if at.name == "Token embedding"] == [
        97 * 24,
        0,
    ]
    assert target.steps[1].note == build.SHARED
    assert layers[0].steps[1].output_shape is not None
    assert layers[-1].steps[1].output_shape is not None
    assert layers[0].steps[1].output_shape.text == "[B, S, 24]"
    assert layers[-1].steps[1].output_shape.text == "[B, S_d, 24]"


CALLED = [
    *("bert", "electra", "albert", "distilbert", "mpnet", "deberta", "deberta-v2", "roformer"),
    *("esm", "big_bird", "squeezebert", "mobilebert", "gpt2", "gptj", "opt", "llama", "mixtral"),
    *("mamba", "xlnet", "modernbert", "bart", "mbart", "t5", "transformer-base"),
]


@contextmanager
def calls_of(model: torch.nn.Module) -> Iterator[list[str]]:
    """Note the modules in the order in which they are called."""
    found: list[str] = []
    handles = [
        module.register_forward_pre_hook(lambda *_, path=path: found.append(path))
        for path, module in model.named_modules()
    ]
    yield found
    for handle in handles:
        handle.remove()


@pytest.mark.parametrize("family", CALLED)
def test_modules_stand_in_the_order_of_their_calls(family: str) -> None:
    model = transformers.AutoModel.from_config(config(family)).eval()
    ids = torch.arange(3, 19)[None]
    given: dict[str, Any] = {"input_ids": ids}
    if model.config.is_encoder_decoder:
        given["decoder_input_ids"] = ids
    with calls_of(model) as calls, torch.no_grad():
        model(**given)
    walk = build_walkthrough(small(family))
    assert walk.reconciles
    position, seen = 0, 0
    for part in walk.sections:
        if part.title == TARGET:
            position = 0  # some look the target's words up before the source's layers
        for at in part.steps:
            if at.module is None:
                continue
            is_table = at.note == step_notes.DISTANCES and at.module not in calls
            if at.note == build.UNUSED or is_table:
                continue
            later = (
                place
                for place in range(position, len(calls))
                if f"{calls[place]}.".startswith(f"{at.module}.")
            )
            position = next(later, -1)
            assert position >= 0, at
            seen += 1
    assert seen >= 4
