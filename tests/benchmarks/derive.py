"""How long deriving takes, against building the model once."""

import statistics
import time
from collections.abc import Callable

import torch

from bertviewer.core.loading.deriving import builder
from bertviewer.core.loading.opening import open_model
from bertviewer.core.sources.parsing import parse_source
from bertviewer.core.symbolic.costs import derive_costs
from bertviewer.core.symbolic.counts import derive

PRESETS = ("bert-base-uncased", "bert-large-uncased", "gpt2", "albert-base-v2", "transformer-base")
ROUNDS = 3


def derive_all(rounds: int = ROUNDS) -> dict[str, float]:
    """Derive the formulas of some presets, nothing cached, in one thread.

    Returns:
        For each preset medians in seconds: ``build`` for one model on the meta device, ``counts``
        and ``costs`` for their formulas; ``ratio`` is both over ``build``, which says the same on
        any machine.
    """
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        return {key: value for name in PRESETS for key, value in _preset(name, rounds).items()}
    finally:
        torch.set_num_threads(threads)


def _preset(name: str, rounds: int) -> dict[str, float]:
    source = parse_source(name)
    config = open_model(source).architecture.config
    build = builder(source)
    once = _median(lambda: build(config), 5 * rounds)
    counts = _median(lambda: derive(config, build), rounds)
    costs = _median(lambda: derive_costs(config, build), rounds)
    return {
        f"{name}: build": once,
        f"{name}: counts": counts,
        f"{name}: costs": costs,
        f"{name}: ratio": (counts + costs) / once,
    }


def _median(work: Callable[[], object], rounds: int) -> float:
    seconds = []
    for _ in range(rounds):
        start = time.perf_counter()
        work()
        seconds.append(time.perf_counter() - start)
    return statistics.median(seconds)
