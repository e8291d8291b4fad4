"""What watching a forward pass costs, against the bare pass and what people use today."""

import gc
import statistics
import time
import warnings
from collections.abc import Callable
from typing import Any

import torch
import torchinfo
import torchlens
from torch import Tensor, nn

from bertviewer.core.loading.loaded_model import LoadedModel
from bertviewer.core.loading.opening import open_model
from bertviewer.core.runs.activation_cache import ActivationCache
from bertviewer.core.runs.macs import formula_macs
from bertviewer.core.runs.recording import Recorder
from bertviewer.core.runs.running import run_sentence
from bertviewer.core.schema.activation_run import Sentence, Token
from bertviewer.core.sources.parsing import parse_source
from bertviewer.core.util.progress import no_progress

TOKENS = 128
THREADS = 2
ROUNDS = 25
SLOW_ROUNDS = 3


def run_ratios(rounds: int = ROUNDS) -> dict[str, float]:
    """Time bert-base with random weights on 128 tokens, in two threads, in turns.

    Returns:
        Medians over the median of the bare forward pass. ``statistics``: all figures of every
        module. ``everything``: what a run in the window does, so hidden states and the norms of
        every module's tokens as well; a histogram is made when it is looked at. ``naive_hooks``:
        mean, std, min and max of every module in plain hooks. ``torchinfo`` and ``torchlens``:
        the shapes of every module, and a log of every operation, by these libraries.
    """
    threads = torch.get_num_threads()
    torch.set_num_threads(THREADS)
    try:
        with torch.no_grad(), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return _ratios(open_model(parse_source("bert-base-uncased")), rounds)
    finally:
        torch.set_num_threads(threads)


def _ratios(model: LoadedModel, rounds: int) -> dict[str, float]:
    module = model.module(random_weights=True)
    # [CLS] and [SEP] come to these.
    sentence = Sentence("bank " * (TOKENS - 2))
    ids = torch.tensor([[token.id for token in model.tokenizer().tokenize(sentence)]])
    assert ids.shape == (1, TOKENS)
    inputs = {
        "input_ids": ids,
        "attention_mask": torch.ones_like(ids),
        "token_type_ids": torch.zeros_like(ids),
    }
    ways: dict[str, Callable[[], object]] = {
        "bare": lambda: module(**inputs),
        "statistics": lambda: _statistics(model, module, inputs),
        "everything": lambda: run_sentence(
            model, sentence, random_weights=True, cache=ActivationCache("units")
        ),
        "naive_hooks": lambda: _naive_hooks(module, inputs),
        "torchinfo": lambda: torchinfo.summary(module, input_data=inputs, verbose=0),
    }
    slow: dict[str, Callable[[], object]] = {
        "torchlens": lambda: torchlens.trace(module, ids),
    }
    gc.collect()
    gc.freeze()
    seconds = _in_turns(ways, rounds)
    seconds |= _in_turns(slow, min(rounds, SLOW_ROUNDS))
    gc.unfreeze()
    medians = {name: statistics.median(times) for name, times in seconds.items()}
    return {name: medians[name] / medians["bare"] for name in medians if name != "bare"}


def _in_turns(ways: dict[str, Callable[[], object]], rounds: int) -> dict[str, list[float]]:
    """Time each way once a round, so that a busy moment of the machine meets all of them."""
    seconds: dict[str, list[float]] = {name: [] for name in ways}
    for work in ways.values():
        work()
    for _ in range(rounds):
        for name, work in ways.items():
            start = time.perf_counter()
            work()
            seconds[name].append(time.perf_counter() - start)
    return seconds


def _statistics(model: LoadedModel, module: nn.Module, inputs: dict[str, Tensor]) -> object:
    recorder = Recorder(module, no_progress)
    with recorder.recording():
        module(**inputs)
    tokens = [Token(int(token), "", 0) for token in inputs["input_ids"][0]]
    return recorder.activations(formula_macs(model.architecture, tokens))


def _naive_hooks(module: nn.Module, inputs: dict[str, Tensor]) -> object:
    found: dict[str, tuple[Tensor, ...]] = {}

    def watch(path: str) -> Callable[[nn.Module, Any, Any], None]:
        def hook(_module: nn.Module, _args: Any, output: Any) -> None:
            tensor = output if isinstance(output, Tensor) else output[0]
            found[path] = tensor.mean(), tensor.std(), tensor.min(), tensor.max()

        return hook

    handles = [inner.register_forward_hook(watch(path)) for path, inner in module.named_modules()]
    try:
        module(**inputs)
    finally:
        for handle in handles:
            handle.remove()
    return {path: [figure.item() for figure in figures] for path, figures in found.items()}
