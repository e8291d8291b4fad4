"""Weights that are drawn at random are the same ones, whatever other threads draw."""

import threading

from bertviewer.core.building.backend import torch, transformers
from bertviewer.core.building.building import build_random
from bertviewer.core.building.seeded import seeded
from bertviewer.core.sources.tasks import TASKS

SIZES = {"vocab_size": 50, "hidden_size": 32, "num_attention_heads": 2, "num_hidden_layers": 8}


def drawn() -> list[float]:
    config = transformers.BertConfig(**SIZES, intermediate_size=64)
    module = build_random(config, TASKS[0], "random")
    return [float(tensor.detach().sum()) for tensor in module.parameters()]


def test_models_of_several_threads() -> None:
    alone, found = drawn(), []
    threads = [threading.Thread(target=lambda: found.append(drawn())) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [alone] * 4


def test_the_processs_own_chance_goes_on() -> None:
    torch.manual_seed(3)
    first = torch.rand(2)
    torch.manual_seed(3)
    with seeded(0):
        inside = torch.rand(1)
        with seeded():
            torch.rand(5)
    assert torch.equal(torch.rand(2), first)
    with seeded(0):
        assert torch.equal(torch.rand(1), inside)
