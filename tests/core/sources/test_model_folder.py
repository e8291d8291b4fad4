"""Model folders: where the model is, which files are not read, digests and licence."""

import hashlib
import json
import shutil
from argparse import Namespace
from pathlib import Path
from typing import Any

import pytest
import torch

import bertviewer
from bertviewer.core.sources.model_folder import origin_of
from bertviewer.core.sources.model_source import ModelSource
from bertviewer.core.sources.parsing import parse_source
from bertviewer.core.sources.presets import DEMO_SHA256
from bertviewer.core.util.errors import UserError
from tests.core.loading.tiny_models import SIZES, read_tensors, save_model


@pytest.fixture
def model(tmp_path: Path) -> Path:
    """Return the folder of a tiny BERT with a head over its vocabulary."""
    save_model(tmp_path / "saved", "BertForMaskedLM")
    return tmp_path / "saved"


def opened(path: Path, **choices: Any) -> bertviewer.Model:
    return bertviewer.open(path, **choices)


def refused(path: Path, **choices: Any) -> str:
    with pytest.raises(bertviewer.Error) as raised:
        bertviewer.open(path, **choices)
    text = str(raised.value)
    assert "\n" not in text
    return text


def test_a_sentence_transformer(model: Path, tmp_path: Path) -> None:
    root = tmp_path / "sbert"
    shutil.copytree(model, root / "0_Transformer")
    assert opened(root).task == "masked-lm"
    (root / "0_Transformer").rename(root / "first")
    assert "open one of the models in it: 'first'" in refused(root)
    modules = [{"path": "first", "type": "sentence_transformers.models.Transformer"}]
    (root / "modules.json").write_text(json.dumps(modules))
    assert parse_source(str(root)).path == root / "first"
    assert opened(root).name == str(root)
    (root / "config.json").write_text('{"__version__": "0.2.0"}')
    assert opened(root).task == "masked-lm"


def test_modules_with_weights_after_a_sentence_transformer(model: Path) -> None:
    kinds = ("Transformer", "Pooling", "Dense", "Normalize")
    modules = [{"path": "", "type": f"sentence_transformers.models.{kind}"} for kind in kinds]
    (model / "modules.json").write_text(json.dumps(modules[:2]))
    assert opened(model).architecture.source.notices == ()
    (model / "modules.json").write_text(json.dumps(modules))
    (notice,) = opened(model).architecture.source.notices
    assert "('Dense') are not applied" in notice


@pytest.mark.parametrize(
    "content", ['[{"path": "../saved"}]', '[{"path": "away"}]', "[3]", "{", "[]"]
)
def test_modules_lead_nowhere_else(model: Path, tmp_path: Path, content: str) -> None:
    root = tmp_path / "sbert"
    root.mkdir()
    (root / "away").symlink_to(model)
    (root / "modules.json").write_text(content)
    assert "the folder has no config.json and no weights" in refused(root)


def test_an_entry_of_the_hubs_cache(model: Path, tmp_path: Path) -> None:
    entry = tmp_path / "models--org--name"
    for commit in ("1" * 40, "2" * 40):
        shutil.copytree(model, entry / "snapshots" / commit)
    assert "it has several commits and no refs/main" in refused(entry)
    (entry / "refs").mkdir()
    (entry / "refs" / "main").write_text("2" * 40)
    assert parse_source(str(entry)).path == entry / "snapshots" / ("2" * 40)
    assert opened(entry).task == opened(entry / "snapshots").task == "masked-lm"
    assert "'models--org--name'" in refused(tmp_path)
    shutil.rmtree(entry / "refs")
    shutil.rmtree(entry / "snapshots" / ("1" * 40))
    assert opened(entry).task == "masked-lm"


def test_a_folder_of_checkpoints_names_them(model: Path, tmp_path: Path) -> None:
    for name in ("checkpoint-10", "checkpoint-20"):
        shutil.copytree(model, tmp_path / "run" / name)
    text = refused(tmp_path / "run")
    assert text.endswith("open one of the models in it: 'checkpoint-10', 'checkpoint-20'")
    (tmp_path / "run" / "checkpoint-20" / "optimizer.pt").write_bytes(b"")
    assert opened(tmp_path / "run" / "checkpoint-20").task == "masked-lm"


@pytest.mark.parametrize("name", ["model.fp16.safetensors", "consolidated.safetensors"])
def test_another_name_of_the_weights(model: Path, name: str) -> None:
    (model / "model.safetensors").rename(model / name)
    assert opened(model).task == "masked-lm"
    shutil.copy(model / name, model / "model.bf16.safetensors")
    found = opened(model)
    assert found.architecture.source.weights == "none"
    (notice,) = found.architecture.source.notices
    assert "several files" in notice
    assert name in notice
    with pytest.raises(bertviewer.Error, match="open one of them"):
        found.run("a")
    assert opened(model / name).task == "masked-lm"


def test_shards_of_another_precision(model: Path) -> None:
    shard = "model.fp16-00001-of-00001.safetensors"
    (model / "model.safetensors").rename(model / shard)
    assert "is one of several files" in refused(model)
    index = {"weight_map": dict.fromkeys(read_shard(model / shard), shard)}
    (model / "model.safetensors.index.fp16.json").write_text(json.dumps(index))
    assert opened(model).task == "masked-lm"


def read_shard(file: Path) -> list[str]:
    from safetensors.torch import load_file

    return list(load_file(file))


@pytest.mark.parametrize(
    ("name", "what"),
    [
        ("tf_model.h5", "TensorFlow weights"),
        ("flax_model.msgpack", "Flax weights"),
        ("model.onnx", "an ONNX graph"),
        ("model.gguf", "GGUF weights"),
        ("bert_model.ckpt.index", "a TensorFlow checkpoint"),
    ],
)
def test_weights_of_other_programs(model: Path, name: str, what: str) -> None:
    (model / "model.safetensors").rename(model / name)
    found = opened(model)
    (notice,) = found.architecture.source.notices
    assert f"'{name}' holds {what}, which bertviewer cannot read; " in notice
    with pytest.raises(bertviewer.Error, match="bertviewer cannot read"):
        found.run("a")
    (model / "config.json").unlink()
    assert what in refused(model)
    assert what in refused(model / name)


@pytest.mark.parametrize(
    ("name", "what"),
    [
        ("onnx/model_quantized.onnx", "an ONNX graph"),
        ("openvino/model.mlmodel", "a Core ML graph"),
        ("model.safetensors.part", "an unfinished download"),
        ("pytorch_model_fsdp_0/__0_0.distcp", "shards of FSDP training"),
        ("global_step100/mp_rank_00_model_states.pt", "DeepSpeed training state"),
    ],
)
def test_weights_that_are_not_read_are_found(model: Path, name: str, what: str) -> None:
    (model / name).parent.mkdir(exist_ok=True)
    (model / "model.safetensors").rename(model / name)
    (notice,) = opened(model).architecture.source.notices
    assert what in notice
    (model / "config.json").unlink()
    assert what in refused(model)


def test_several_models_in_a_pickle(model: Path) -> None:
    tensors = read_tensors(model)
    torch.save({"net": tensors, "ema": tensors, "optimizer": {"state": {}}}, model / "all.pt")
    text = refused(model / "all.pt", allow_pickle=True)
    assert "several models ('net', 'ema')" in text


def test_adapters(model: Path, tmp_path: Path) -> None:
    settings = {"peft_type": "LORA", "base_model_name_or_path": "org/base"}
    (model / "adapter_config.json").write_text(json.dumps(settings))
    shutil.copy(model / "model.safetensors", model / "adapter_model.safetensors")
    (notice,) = opened(model).architecture.source.notices
    assert "is not applied" in notice
    (model / "model.safetensors").unlink()
    assert opened(model).architecture.source.weights == "none"
    (model / "config.json").unlink()
    text = refused(model)
    assert "only an adapter ('LORA') of 'org/base'" in text
    (model / "adapter_config.json").write_text("[")
    assert "only an adapter, without" in refused(model)
    (model / "adapter_config.json").unlink()
    assert "only an adapter, without" in refused(model)


@pytest.mark.parametrize(
    ("name", "key"),
    [
        ("epoch=3-step=9.ckpt", "state_dict"),
        ("model.pt", "model_state_dict"),
        ("best.pth", "module"),
        ("ema.pt", "ema_weights"),
        ("pytorch_model.fp16.bin", ""),
    ],
)
def test_what_training_saved(model: Path, name: str, key: str) -> None:
    saved: dict[str, Any] = {f"model.{one}": t for one, t in read_tensors(model).items()}
    if key:
        saved = {"epoch": 3, "loss": torch.tensor(0.5), key: saved}
    (model / "model.safetensors").unlink()
    torch.save(saved, model / name)
    assert "--allow-pickle" in refused(model)
    assert opened(model, allow_pickle=True).task == "masked-lm"
    assert opened(model / name, allow_pickle=True).task == "masked-lm"


def test_a_training_with_other_objects_says_what_to_save(tmp_path: Path) -> None:
    saved = {"state_dict": {"a": torch.zeros(1)}, "hyper_parameters": Namespace(rate=0.1)}
    torch.save(saved, tmp_path / "last.ckpt")
    text = refused(tmp_path / "last.ckpt", allow_pickle=True)
    assert "it asks for argparse.Namespace, which tensors never need" in text
    assert text.endswith("save only the model's state_dict and open that")


def test_only_the_state_of_a_training(tmp_path: Path) -> None:
    torch.save({"state": {}}, tmp_path / "optimizer.pt")
    assert "only training state ('optimizer.pt')" in refused(tmp_path)


def test_an_index_alone_says_to_open_its_folder(tmp_path: Path) -> None:
    (tmp_path / "model.safetensors.index.json").write_text("{}")
    assert refused(tmp_path / "model.safetensors.index.json").endswith("open its folder")


def test_two_models_in_one_say_to_open_a_half(tmp_path: Path) -> None:
    half = {"model_type": "bert", **SIZES["bert"]}
    config = {"model_type": "vision-encoder-decoder", "encoder": {"model_type": "vit"}}
    (tmp_path / "config.json").write_text(json.dumps({**config, "decoder": half}))
    text = refused(tmp_path)
    assert "it combines several models (encoder: vit, decoder: bert)" in text
    assert "model.encoder.save_pretrained(folder), and open that" in text


def test_the_demo_has_the_published_digest_and_both_licences(demo_source: ModelSource) -> None:
    origin = origin_of(demo_source, [demo_source.path / "model.safetensors"])
    assert origin.digests == (("model.safetensors", DEMO_SHA256),)
    assert "Apache 2.0" in origin.licence
    assert "MIT" in origin.licence


@pytest.mark.parametrize(
    ("files", "licence"),
    [
        ({}, ""),
        ({"README.md": "---\ntags:\n- a\nlicense: apache-2.0\n---\n# A model\n"}, "apache-2.0"),
        ({"README.md": "# A model\nlicense: none of this\n"}, ""),
        (
            {"README.md": "---\nlicense: <b>\n---\n", "LICENSE": "\n  MIT License\n\nmore"},
            "MIT License",
        ),
        ({"LICENSE.txt": "x" * 500}, "x" * 80),
    ],
)
def test_the_licence_is_what_the_folder_names(
    tmp_path: Path, files: dict[str, str], licence: str
) -> None:
    (tmp_path / "config.json").write_text("{}")
    for name, text in files.items():
        (tmp_path / name).write_text(text)
    assert origin_of(parse_source(str(tmp_path)), ()).licence == licence


def test_every_file_is_hashed_and_one_that_is_gone_is_told(
    tmp_path: Path, tiny_bert_folder: Path
) -> None:
    source = parse_source(str(tiny_bert_folder))
    (tmp_path / "a").write_bytes(b"one")
    assert origin_of(source, [tmp_path / "a"]).digests == (
        ("a", hashlib.sha256(b"one").hexdigest()),
    )
    with pytest.raises(UserError, match="gone"):
        origin_of(source, [tmp_path / "gone"])
