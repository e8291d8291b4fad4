"""Undoes before a call what earlier calls changed in a model, so that it works like a fresh one.

Dynamic rotary positions keep the frequencies of the longest sentence so far. In BigBird
transformers exchanges block-sparse attention for full attention in the middle of a call, once a
sequence is too short for it, and never goes back: what is called then was not there when the
modules were listed, and a longer sentence afterwards would be looked at in another way than in a
fresh model.
"""

from collections.abc import Mapping
from typing import Any

from torch import nn

SPARSE, FULL = "block_sparse", "original_full"


def reset_model_state(model: nn.Module, inputs: Mapping[str, Any]) -> None:
    """Give ``model`` the attention that a fresh one uses for ``inputs``, and the frequencies."""
    _forget_lengths(model)
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


def _forget_lengths(model: nn.Module) -> None:
    """Give dynamic rotary positions back the frequencies of sentences as long as in training."""
    for part in model.modules():
        trained = getattr(part, "original_max_seq_len", None)
        for name in [key for key in vars(part) if key.endswith("max_seq_len_cached")]:
            prefix = name.removesuffix("max_seq_len_cached")
            original = getattr(part, f"{prefix}original_inv_freq", None)
            if trained is None or original is None or getattr(part, name) <= trained:
                continue
            setattr(part, name, trained)
            setattr(part, f"{prefix}inv_freq", original.clone())
