"""Attention of the demo model as transformers computes it, and measures of it."""

from functools import cache

import numpy as np
import torch
import transformers
from numpy.typing import NDArray

from bertviewer.core.sources.presets import demo_folder

Weights = NDArray[np.float64]


@cache
def eager_attention(text: str) -> list[Weights]:
    """Return the attention of each layer [heads, tokens, tokens]."""
    folder = demo_folder()
    encoding = transformers.AutoTokenizer.from_pretrained(folder)(text, return_tensors="pt")
    model = transformers.AutoModel.from_pretrained(folder, attn_implementation="eager").eval()
    with torch.no_grad():
        attentions = model(**encoding, output_attentions=True).attentions
    return [weights[0].double().numpy() for weights in attentions]


def entropies(weights: Weights) -> list[float]:
    """Return the mean entropy of each head."""
    return [float(np.mean(-np.sum(head * np.log(head), axis=1))) for head in weights]


def distances(weights: Weights) -> list[float]:
    """Return the mean distance of each head in tokens."""
    positions = np.arange(weights.shape[1])
    distance = np.abs(positions[:, None] - positions)
    return [float(np.mean(np.sum(head * distance, axis=1))) for head in weights]


def shares(text: str, offset: int) -> Weights:
    """Return each head's mean weight on the token at an offset [layers, heads]."""
    return np.array(
        [
            [np.mean(np.diagonal(weights, offset)) for weights in layer]
            for layer in eager_attention(text)
        ]
    )
