"""Attention implementations: eager attention on request, and the right one for each call."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor, nn

EAGER = "eager"
SPARSE, FULL = "block_sparse", "original_full"
"""BigBird's attention types."""

_ROUNDING = 1e4
"""The relative rounding error of a forward pass, in epsilons of the dtype."""


@contextmanager
def eager_attention(module: Any) -> Iterator[bool]:
    """Have a model use eager attention, which returns its weights, inside the ``with``.

    Yields:
        Whether transformers refused to switch and the configuration was changed by force. The
        model's output then has to be compared with its usual one.
    """
    used = getattr(getattr(module, "config", None), "_attn_implementation", None)
    if used in (None, EAGER):
        yield False
        return
    configs = {id(config): config for config in map(_config_of, module.modules())}
    before = [(config, config._attn_implementation) for config in configs.values() if config]
    try:
        module.set_attn_implementation(EAGER)
        is_forced = module.config._attn_implementation != EAGER
        if is_forced:
            # Falcon reads its configuration in each call, of which transformers does not know: it
            # logs a warning and changes nothing.
            for config, _ in before:
                config._attn_implementation = EAGER
        yield is_forced
    finally:
        module.set_attn_implementation(used)
        for config, implementation in before:
            config._attn_implementation = implementation


def is_close(one: Tensor, other: Tensor) -> bool:
    """Return whether two ways to compute a tensor differ by rounding only.

    Rounding errors of float32 add up over the layers to about 1e-6 of the norm, those of 16 bits
    to a few percent. A missing mask or a bias that is added twice makes a larger difference.
    """
    tolerance = min(0.1, max(1e-6, _ROUNDING * torch.finfo(one.dtype).eps))
    if one.shape != other.shape:
        return False
    one, other = (tensor.detach().cpu().double() for tensor in (one, other))
    is_same = bool((one - other).norm() <= tolerance * other.norm())
    return is_same or not bool(other.isfinite().all())


def are_probabilities(tensor: Tensor) -> bool:
    """Return whether a tensor is [1, A, S_q, S_k] with rows that sum to 1, NaN aside."""
    return tensor.dim() == 4 and tensor.shape[0] == 1 and has_probability_rows(tensor)


def has_probability_rows(tensor: Tensor) -> bool:
    """Return whether no element is negative and each row sums to 1, NaN aside."""
    if not tensor.is_floating_point():
        return False
    sums = tensor.float().sum(-1)
    return not bool(((sums - 1).abs() > 0.01).any()) and not bool((tensor < 0).any())


def reset_model_state(model: nn.Module, inputs: Mapping[str, Any]) -> None:
    """Undo what earlier calls changed in a model, so that it computes like a new one.

    Dynamic rotary embeddings keep the frequencies of the longest sequence so far. BigBird replaces
    its sparse attention by full attention during the first call with a short sequence, and never
    switches back: then some of its modules are others than were listed.
    """
    _reset_rotary_embeddings(model)
    inner: Any = next((m for m in model.modules() if hasattr(m, "set_attention_type")), None)
    ids = inputs.get("input_ids")
    if inner is None or ids is None:
        return
    config = inner.config
    if config.attention_type != SPARSE or getattr(config, "add_cross_attention", False):
        return  # it is full from the beginning
    # Zaheer et al. 2020, section 2: two global blocks, three of the window, and the random ones.
    most = (5 + 2 * config.num_random_blocks) * config.block_size
    inner.set_attention_type(FULL if ids.shape[1] <= most else SPARSE)


def _reset_rotary_embeddings(model: nn.Module) -> None:
    for part in model.modules():
        trained = getattr(part, "original_max_seq_len", None)
        for name in [key for key in vars(part) if key.endswith("max_seq_len_cached")]:
            prefix = name.removesuffix("max_seq_len_cached")
            original = getattr(part, f"{prefix}original_inv_freq", None)
            if trained is None or original is None or getattr(part, name) <= trained:
                continue
            setattr(part, name, trained)
            setattr(part, f"{prefix}inv_freq", original.clone())


def _config_of(module: nn.Module) -> Any:
    config = getattr(module, "config", None)
    return config if hasattr(config, "_attn_implementation") else None
