"""Models of the gallery that are no presets: other families, sizes and names."""

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tests.screenshots.guide import Guide

SMALL_BERT = {
    "model_type": "bert",
    "hidden_size": 128,
    "intermediate_size": 256,
    "num_attention_heads": 4,
}


def configured(name: str, **config: Any) -> Callable[[Path], Path]:
    """Return a function that writes a configuration into a folder of that name."""

    def make(folder: Path) -> Path:
        own = folder / name
        own.mkdir(parents=True, exist_ok=True)
        (own / "config.json").write_text(json.dumps(config), encoding="utf-8")
        return own

    return make


layers_100 = configured("hundred-layers", **SMALL_BERT, num_hidden_layers=100)
heads_40 = configured(
    "forty-heads",
    **SMALL_BERT | {"hidden_size": 640, "num_attention_heads": 40, "num_hidden_layers": 3},
)
long_name = configured("a-model-whose-folder-has-a-very-long-name-" * 4 + "end", **SMALL_BERT)
broken = configured("broken", model_type="bert", hidden_size=-1)
t5 = configured("t5-small", model_type="t5", num_layers=3)
vit = configured("vit", model_type="vit", num_hidden_layers=4)
moe = configured(
    "moe", model_type="mixtral", hidden_size=256, intermediate_size=512, num_hidden_layers=3,
    num_attention_heads=8, num_key_value_heads=4, num_local_experts=8, vocab_size=4000,
)  # fmt: skip


def names_alone(folder: Path) -> Path:
    """Write a file of tensors without a configuration."""
    from safetensors.torch import save_file

    from bertviewer.core.building.backend import torch

    folder.mkdir(parents=True, exist_ok=True)
    tensors = {}
    for layer in range(4):
        for part, shape in (("mix.weight", (64, 64)), ("grow.weight", (256, 64))):
            tensors[f"stack.{layer}.{part}"] = torch.zeros(shape)
    tensors["table.weight"] = torch.zeros(1000, 64)
    file = folder / "tensors.safetensors"
    save_file(tensors, file)
    return file


def lacking(folder: Path) -> Path:
    """Write a checkpoint that lacks some tensors of its model, and has another one."""
    from safetensors.torch import load_file, save_file

    from bertviewer.core.building.backend import torch, transformers

    own = folder / "lacks-some"
    config = transformers.BertConfig(
        hidden_size=128, intermediate_size=256, num_hidden_layers=3, num_attention_heads=4
    )
    transformers.BertModel(config).save_pretrained(own)
    file = own / "model.safetensors"
    tensors = load_file(file)
    for name in [name for name in tensors if "layer.2.attention" in name]:
        del tensors[name]
    tensors["something.else"] = torch.zeros(3)
    save_file(tensors, file, {"format": "pt"})
    return own


def pickled(folder: Path) -> Path:
    """Write weights as a pickle."""
    from bertviewer.core.building.backend import torch, transformers

    own = folder / "pickled"
    own.mkdir(parents=True, exist_ok=True)
    config = transformers.BertConfig(
        hidden_size=128, intermediate_size=256, num_hidden_layers=2, num_attention_heads=4
    )
    config.save_pretrained(own)
    torch.save(transformers.BertModel(config).state_dict(), own / "pytorch_model.bin")
    return own / "pytorch_model.bin"


def from_a_hub(guide: Guide) -> None:
    """Open a model of a local hub, which sends only a part of its weights."""
    from bertviewer.core.sources.presets import demo_folder
    from tests.core.hub.hub_server import Fault, HubServer

    server = HubServer()
    folder = demo_folder()
    names = ("config.json", "model.safetensors", "tokenizer.json", "tokenizer_config.json")
    files = {name: (folder / name).read_bytes() for name in names}
    server.add("somebody/all-minilm", files)
    os.environ["HF_ENDPOINT"] = server.url
    guide.window.open_named("hf://somebody/all-minilm")
    guide.wait(lambda: guide.workspace.remote is not None)
    guide.rest()
    server.fail("model.safetensors", Fault(held=30_000_000))
    guide.last.append(server.stop)
