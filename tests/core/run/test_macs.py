"""Multiply-adds by our own arithmetic, against torch's counter of the products really done."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.utils.flop_counter import FlopCounterMode

from bertviewer.core.backend import transformers
from bertviewer.core.building import build_config, build_random
from bertviewer.core.progress import no_progress
from bertviewer.core.run.activation_run import ModuleActivation
from bertviewer.core.run.macs import own_macs
from bertviewer.core.run.recording import Recorder
from bertviewer.core.tasks import find_task

SMALL = {
    "vocab_size": 60,
    "hidden_size": 24,
    "num_hidden_layers": 2,
    "num_attention_heads": 3,
    "intermediate_size": 40,
    "max_position_embeddings": 32,
}
CONFIGURATIONS: dict[str, dict[str, Any]] = {
    "bert": SMALL,
    "roberta": SMALL,
    "electra": {**SMALL, "embedding_size": 16},
    "albert": {**SMALL, "embedding_size": 16, "num_hidden_layers": 3},
    "gpt2": {"vocab_size": 60, "n_embd": 24, "n_layer": 2, "n_head": 3, "n_positions": 32},
    "distilbert": {
        "vocab_size": 60,
        "dim": 24,
        "n_layers": 2,
        "n_heads": 3,
        "hidden_dim": 40,
        "max_position_embeddings": 32,
    },
    "transformer-base": {
        "vocab_size": 60,
        "d_model": 24,
        "nhead": 4,
        "num_encoder_layers": 2,
        "num_decoder_layers": 3,
        "dim_feedforward": 40,
        "max_position_embeddings": 32,
    },
}
IDS = torch.tensor([[5, 6, 7, 8, 9, 10, 11]])


def build(family: str, task: str = "base") -> Any:
    config = build_config({"model_type": family, **CONFIGURATIONS[family]}, family)
    if family != "transformer-base":
        config._attn_implementation = "eager"
    return build_random(config, find_task(task), family)


@contextmanager
def products_seen() -> Iterator[None]:
    """Do attention in steps that torch's counter sees; the CPU's fused kernel hides them."""
    with torch.inference_mode(), sdpa_kernel(SDPBackend.MATH):
        yield


def both_counts(
    model: Any, **inputs: Tensor
) -> tuple[tuple[ModuleActivation, ...], dict[str, int]]:
    """Return what we record and the FLOPs that torch counts by path."""
    recorder = Recorder(model, no_progress)
    with recorder.watching(), products_seen(), FlopCounterMode(display=False) as counter:
        model(**inputs)
    name = type(model).__name__
    counted = {
        path.removeprefix(name).removeprefix("."): sum(flops.values())
        for path, flops in counter.get_flop_counts().items()
    }
    return recorder.activations(), counted


def compare(model: Any, **inputs: Tensor) -> int:
    """Check every module's count, and return the model's."""
    activations, counted = both_counts(model, **inputs)
    assert counted[""] > 0
    for activation in activations:
        assert activation.macs is not None, activation.path
        assert 2 * activation.macs == counted.get(activation.path, 0), activation.path
    (root,) = (a.macs for a in activations if a.path == "")
    assert root is not None
    return root


def test_bert_in_closed_form() -> None:
    length, width, inner, layers = IDS.shape[1], 24, 40, 2
    layer = length * (4 * width**2 + 2 * width * inner) + 2 * length**2 * width
    # The pooler reads one token.
    assert compare(build("bert"), input_ids=IDS) == layers * layer + width**2


@pytest.mark.parametrize(
    ("family", "task"),
    [
        ("bert", "masked-lm"),
        ("bert", "sequence-classification"),
        ("bert", "question-answering"),
        ("roberta", "base"),
        ("electra", "base"),
        ("gpt2", "base"),
        ("albert", "base"),
        ("albert", "masked-lm"),
        ("distilbert", "base"),
        ("distilbert", "sequence-classification"),
    ],
)
def test_torch_counts_the_same_in_every_module(family: str, task: str) -> None:
    compare(build(family, task), input_ids=IDS)


def test_two_sentences_at_once() -> None:
    model = build("distilbert")
    assert compare(model, input_ids=IDS.repeat(2, 1)) == 2 * compare(model, input_ids=IDS)


def test_a_shared_layer_counts_at_each_call() -> None:
    length, width, inner = IDS.shape[1], 24, 40
    layer = length * (4 * width**2 + 2 * width * inner) + 2 * length**2 * width
    total = compare(build("albert"), input_ids=IDS)
    assert total == 3 * layer + length * 16 * width + width**2


def test_encoder_and_decoder_of_different_lengths() -> None:
    source, target, width, inner = IDS.shape[1], 4, 24, 40
    total = compare(build("transformer-base"), input_ids=IDS, decoder_input_ids=IDS[:, :target])
    forward = 2 * width * inner

    def attention(queries: int, keys: int) -> int:
        return 2 * (queries + keys) * width**2 + 2 * queries * keys * width

    encoder = attention(source, source) + source * forward
    decoder = attention(target, target) + attention(target, source) + target * forward
    assert total == 2 * encoder + 3 * decoder


class StrangeAttention(nn.Module):
    """Does some products of its own."""

    def __init__(self) -> None:
        super().__init__()
        self.query = nn.Linear(4, 4)

    def forward(self, x: Tensor) -> Tensor:
        y: Tensor = self.query(x)
        return y @ y.transpose(1, 2) @ x


class WrappingAttention(nn.Module):
    """Leaves the products to the attention inside."""

    def __init__(self) -> None:
        super().__init__()
        self.inner = StrangeAttention()


class Model(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.dense = nn.Linear(4, 4)
        self.attention = StrangeAttention()

    def forward(self, x: Tensor) -> Tensor:
        y: Tensor = self.attention(self.dense(x))
        return y


def test_modules_by_themselves() -> None:
    assert own_macs(nn.Linear(5, 3), ((2, 7, 5),), (2, 7, 3)) == 2 * 7 * 5 * 3
    conv = transformers.pytorch_utils.Conv1D(3, 5)
    assert own_macs(conv, ((2, 7, 5),), (2, 7, 3)) == 2 * 7 * 5 * 3
    assert own_macs(nn.LayerNorm(4), ((1, 7, 4),), (1, 7, 4)) == 0
    assert own_macs(nn.Embedding(9, 4), ((1, 7),), (1, 7, 4)) == 0
    assert own_macs(WrappingAttention(), ((1, 7, 4),), (1, 7, 4)) == 0


def test_an_unknown_attention_has_no_count_and_neither_has_what_holds_it() -> None:
    assert own_macs(StrangeAttention(), ((1, 7, 4),), (1, 7, 4)) is None
    activations, counted = both_counts(Model(), x=torch.ones(1, 7, 4))
    macs = {activation.path: activation.macs for activation in activations}
    linear = 7 * 4 * 4
    assert macs == {"": None, "dense": linear, "attention": None, "attention.query": linear}
    assert counted["attention"] > 2 * linear
