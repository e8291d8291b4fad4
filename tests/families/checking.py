"""Whether checks of small models with random weights find faults where there are none."""

import re
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from typing_extensions import override

from bertviewer.core.building.backend import torch
from bertviewer.core.checks.check import check_run
from bertviewer.core.loading.loaded_model import LoadedModel
from bertviewer.core.runs.activation_cache import ActivationCache
from bertviewer.core.runs.running import run_sentence
from bertviewer.core.schema.activation_run import Sentence
from tests.families.finding import Finding, open_configuration
from tests.tools.small_models import small_configuration

SENTENCE = Sentence("the cat sat on the mat", "and so on")
DTYPES = ("float32", "bfloat16", "float16")
MAX_PARAMETERS = 40_000_000

_WIDTHS = r"(^|_)(hidden_size|d_model|n_embd|dim|embed_dim|embedding_size|projection_dim)$"
_HEADS = r"heads?$"
_KEY_HEADS = r"(key_value|kv)_heads?$|num_query_groups$"
_HEAD_SIZES = r"^(head_dim|d_head|d_kv|rotary_dim)$"
_NARROW: Mapping[str, int] = {
    r"vocab_size|vocabulary_size": 997,
    r"^max_position_embeddings$": 128,
    _WIDTHS: 32,
    _HEAD_SIZES: 8,
    _KEY_HEADS: 2,
    _HEADS: 4,
    r"intermediate_size|(^|_)(d_ff|n_inner|hidden_dim|ffn_dim|mlp_dim)$": 48,
    r"(^|_)num_(\w+_)?experts$|^n_routed_experts$": 4,
    r"experts_per_tok(en)?$|top_?k_experts$|^moe_top_?k$": 2,
    r"^(n_group|topk_group)$": 1,
    r"^pad_token_id$": 0,
    r"^bos_token_id$": 1,
    r"^eos_token_id$": 2,
}
"""Largest values in a small model, by patterns of configuration keys of which the first counts."""

_ATTEMPTS: tuple[Mapping[str, int], ...] = (
    _NARROW,
    # As many key heads as query heads.
    {**_NARROW, _KEY_HEADS: 4},
    # Heads of the usual size, of which rotary embeddings may take parts.
    {**_NARROW, _WIDTHS: 256, _KEY_HEADS: 2, _HEADS: 2, _HEAD_SIZES: 1 << 20},
)


class CheckFinding(Finding, frozen=True):
    """Checks of runs of one model type.

    Attributes:
        steps: how many steps were checked, in all dtypes.
        failed: the steps that failed, each with its dtype.
        unchecked: the reasons for which modules were not checked, with their numbers.
        seconds: for all.
    """

    steps: int = 0
    failed: tuple[str, ...] = ()
    unchecked: tuple[str, ...] = ()
    seconds: float = 0.0

    @property
    @override
    def has_faults(self) -> bool:
        return bool(self.failed)

    @property
    @override
    def row(self) -> str:
        if self.error:
            return f"{self.model_type:32} is not run: {self.error[:150]}"
        lines = [
            f"{self.model_type:32} {self.steps:6} steps, {len(self.failed)} crosses, "
            f"{self.seconds:5.1f} s",
            *(f"  cross: {cross}" for cross in self.failed[:8]),
            *(f"  not checked: {reason}" for reason in self.unchecked),
        ]
        return "\n".join(lines)


def examine(model_type: str, folder: Path) -> CheckFinding:
    """Run a small model of a type on a sentence in every dtype, and check all its modules.

    Raises:
        Exception: whatever transformers raises for its own default configuration.
    """
    start = time.perf_counter()
    error = ""
    for config in _configurations(model_type):
        steps, crosses, reasons = 0, list[str](), Counter[str]()
        for dtype in DTYPES:
            try:
                model = _opened(config, folder)
                check = check_run(model, _captured(model, dtype))
            except Exception as raised:  # noqa: BLE001 - models fail with any kind of error
                problem = f"{type(raised).__name__}: {' '.join(str(raised).split())}"
                if dtype == DTYPES[0]:
                    error = error or problem
                    break
                reasons[f"{dtype} {problem}"] += 1  # FNet has no Fourier transform in bfloat16
                continue
            steps += len(check.steps)
            crosses += [f"{dtype} {one.path}: {one.step}" for one in check.failed]
            reasons.update(f"{dtype} {left.reason}" for left in check.unchecked)
        else:
            found = tuple(f"{count} modules: {reason}" for reason, count in reasons.items())
            seconds = time.perf_counter() - start
            return CheckFinding(model_type, "", steps, tuple(crosses), found, seconds)
    return CheckFinding(model_type, error)


def summary(findings: Sequence[CheckFinding]) -> str:
    """Return how many types were checked, and how many have crosses."""
    checked = [finding for finding in findings if not finding.error]
    return (
        f"\n{len(findings)} types, {len(checked)} checked in {len(DTYPES)} dtypes, "
        f"{sum(finding.steps for finding in checked):,} steps; "
        f"{sum(bool(finding.failed) for finding in checked)} types have crosses, "
        f"{sum(bool(finding.unchecked) for finding in checked)} modules that are not checked"
    )


def _configurations(model_type: str) -> Iterator[dict[str, Any]]:
    """Yield the default configuration with few layers and small sizes, and with its own sizes."""
    config = small_configuration(model_type)
    if "vocab_size" not in config:
        # A model that also reads images has it next to the sizes of its decoder.
        parts = (part for part in config.values() if isinstance(part, Mapping))
        rows = next((part["vocab_size"] for part in parts if part.get("vocab_size")), None)
        config |= {} if rows is None else {"vocab_size": rows}
    for limits in _ATTEMPTS:
        yield _narrow(config, limits)
    yield config


def _narrow(config: Mapping[str, Any], limits: Mapping[str, int]) -> dict[str, Any]:
    """Return a configuration with limited numbers, in its parts as well."""

    def small(key: str, value: Any) -> Any:
        if isinstance(value, Mapping):
            return value if key in ("id2label", "label2id") else _narrow(value, limits)
        if not isinstance(value, int) or isinstance(value, bool) or not value:
            return value
        limit = next((most for text, most in limits.items() if re.search(text, key)), value)
        return min(value, limit)

    return {
        key: [small(key, one) for one in value] if isinstance(value, list) else small(key, value)
        for key, value in config.items()
    }


def _opened(config: Mapping[str, Any], folder: Path) -> LoadedModel:
    model = open_configuration(config, folder)
    if model.architecture.root.parameters > MAX_PARAMETERS:
        raise ValueError(f"{model.architecture.root.parameters:,} parameters are too many")
    return model


def _captured(model: LoadedModel, dtype: str) -> ActivationCache:
    """Run the sentence with weights that are not those of the initialisation."""
    module = model.module(random_weights=True)
    with torch.no_grad(), torch.random.fork_rng(devices=[]):
        torch.manual_seed(3)
        for parameter in module.parameters():
            if parameter.requires_grad:
                parameter.add_(0.1 * torch.randn_like(parameter))
        module.to(getattr(torch, dtype))
    capture = ActivationCache()
    run_sentence(model, SENTENCE, random_weights=True, cache=capture)
    return capture
