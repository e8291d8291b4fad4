"""A model whose weights lie in the same memory runs, and its buffers are its own."""

import threading
from typing import Any

import pytest
import torch
from torch import nn

from bertviewer.core.building.backend import transformers
from bertviewer.core.building.models import build_random
from bertviewer.core.graph.meta_device import POOL, _sharing, build_shared, spread
from bertviewer.core.sources.model_source import find_task

BASE = find_task("base")


def llama(**changes: int) -> transformers.LlamaConfig:
    sizes = {"hidden_size": 64, "intermediate_size": 96, "vocab_size": 99, **changes}
    return transformers.LlamaConfig(num_hidden_layers=2, num_attention_heads=4, **sizes)


def test_it_is_the_model_that_random_weights_are_drawn_for() -> None:
    shared, drawn = (build(llama(), BASE, "it") for build in (build_shared, build_random))
    assert [name for name, _ in shared.named_parameters()] == [
        name for name, _ in drawn.named_parameters()
    ]
    for (name, one), (_, other) in zip(shared.named_buffers(), drawn.named_buffers(), strict=True):
        assert torch.equal(one, other), name
    ids = torch.tensor([[1, 2, 3]])
    models: tuple[Any, ...] = (shared, drawn)
    with torch.no_grad():
        one, other = (model(ids).last_hidden_state for model in models)
    assert one.shape == other.shape
    assert one.isfinite().all()
    assert one.std() > 0


def test_tied_weights_stay_tied() -> None:
    config = transformers.BartConfig(d_model=16, encoder_layers=1, decoder_layers=1, vocab_size=50)
    model: Any = build_shared(config, BASE, "it")
    assert model.shared.weight is model.encoder.embed_tokens.weight


def test_a_model_of_any_size_takes_little_memory() -> None:
    # A hundred thousand million weights, 400 GB in float32.
    model = build_shared(llama(hidden_size=65_536, intermediate_size=262_144), BASE, "it")
    assert sum(parameter.numel() for parameter in model.parameters()) > 10**11
    places = {parameter.untyped_storage().data_ptr() for parameter in model.parameters()}
    sizes = {parameter.untyped_storage().nbytes() for parameter in model.parameters()}
    assert len(places) == 1
    assert sizes == {4 * POOL}


@pytest.mark.parametrize("shape", [(), (5,), (3, 4), (0, 4), (9, 600_000), (8, 5_000, 7_000)])
def test_rows_are_apart_and_lie_in_the_memory(shape: tuple[int, ...]) -> None:
    strides = spread(torch.empty(POOL, device="meta"), shape).stride()
    assert all(stride >= 1 for stride, size in zip(strides, shape, strict=True) if size > 1)
    last = sum(stride * (size - 1) for stride, size in zip(strides, shape, strict=True) if size)
    assert last < POOL


def test_building_changes_nothing_that_is_built_later() -> None:
    build_shared(llama(), BASE, "it")
    models: list[Any] = [build_random(llama(), BASE, "it") for _ in range(2)]
    first, second = (model.embed_tokens.weight for model in models)
    assert torch.equal(first, second)
    assert first.untyped_storage().data_ptr() != second.untyped_storage().data_ptr()


def test_models_of_other_threads_are_left_alone() -> None:
    made: list[nn.Module] = []
    with _sharing():
        thread = threading.Thread(target=lambda: made.append(nn.Linear(3, 2, device="meta")))
        thread.start()
        thread.join()
        made.append(nn.Linear(3, 2, device="meta"))
    assert [next(module.parameters()).is_meta for module in made] == [True, False]
