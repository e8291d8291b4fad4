"""Tiny models of transformers' classes, saved as ``save_pretrained`` does."""

import json
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import load_file, save_file
from torch import Tensor

from bertviewer.core.building.backend import transformers
from bertviewer.core.loading.loaded_model import LoadedModel
from bertviewer.core.loading.opening import open_model
from bertviewer.core.sources.parsing import parse_source

Tensors = dict[str, Tensor]
VOCABULARY, WIDTH = 24, 16

_BERT = {
    "vocab_size": VOCABULARY,
    "hidden_size": WIDTH,
    "num_hidden_layers": 1,
    "num_attention_heads": 2,
    "intermediate_size": 20,
    "max_position_embeddings": 12,
}
_PAIR = {
    "vocab_size": VOCABULARY,
    "d_model": WIDTH,
    "encoder_layers": 1,
    "decoder_layers": 1,
    "encoder_attention_heads": 2,
    "decoder_attention_heads": 2,
    "encoder_ffn_dim": 20,
    "decoder_ffn_dim": 20,
    "max_position_embeddings": 12,
    "pad_token_id": 1,
    "decoder_start_token_id": 1,
}
_T5 = {"vocab_size": VOCABULARY, "d_model": WIDTH, "d_kv": 8, "d_ff": 20, "num_layers": 1,
       "num_heads": 2, "decoder_start_token_id": 0}  # fmt: skip
_GPT2 = {"vocab_size": VOCABULARY, "n_embd": WIDTH, "n_layer": 1, "n_head": 2, "n_positions": 12,
         "bos_token_id": 0, "eos_token_id": 0, "pad_token_id": 0}  # fmt: skip
SIZES: Mapping[str, Mapping[str, Any]] = {
    "bert": _BERT,
    "roberta": _BERT,
    "electra": {**_BERT, "embedding_size": WIDTH},
    "albert": {**_BERT, "embedding_size": WIDTH},
    "llama": _BERT,
    "distilbert": {"vocab_size": VOCABULARY, "dim": WIDTH, "n_layers": 1, "n_heads": 2,
                   "hidden_dim": 20, "max_position_embeddings": 12},
    "gpt2": _GPT2,
    "t5": _T5,
    "bart": _PAIR,
    "marian": _PAIR,
    "m2m_100": _PAIR,
    "mt5": {**_T5, "tie_word_embeddings": False},
}  # fmt: skip
"""Sizes by model type."""


@cache
def tiny_model(class_name: str, **changes: Any) -> Any:
    """Return a tiny model with seeded random weights; ``changes`` are of its sizes."""
    kind = getattr(transformers, class_name)
    sizes = SIZES[kind.config_class.model_type]
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        return kind(kind.config_class(**{**sizes, **changes})).eval()


def tensors_of(model: Any) -> Tensors:
    """Return copies of a model's tensors by name, without shared memory."""
    return {name: tensor.clone() for name, tensor in model.state_dict().items()}


def save_model(folder: Path, class_name: str, **changes: Any) -> Any:
    """Save a tiny model, and return it."""
    model = tiny_model(class_name, **changes)
    model.save_pretrained(folder)
    return model


def opened(path: Path, task: str = "auto") -> LoadedModel:
    """Open a model, by default with the head that its checkpoint was saved with."""
    return open_model(parse_source(str(path), task))


def read_tensors(folder: Path) -> Tensors:
    """Return the tensors in a folder's weight file."""
    return load_file(folder / "model.safetensors")


def write_tensors(folder: Path, tensors: Tensors) -> None:
    """Replace the tensors in a folder's weight file."""
    save_file(tensors, folder / "model.safetensors", {"format": "pt"})


def change_config(folder: Path, **values: Any) -> None:
    """Set keys of a configuration; ``None`` removes one."""
    file = folder / "config.json"
    config = json.loads(file.read_text("utf-8")) | values
    kept = {key: value for key, value in config.items() if value is not None}
    file.write_text(json.dumps(kept), "utf-8")
