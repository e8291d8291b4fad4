"""Model folders: where the model is, which weights are not supported, digests and licence."""

import hashlib
import json
import shutil
from argparse import Namespace
from pathlib import Path
from typing import Any

import pytest
import torch

import bertviewer
from bertviewer.core.schema.sentence_pooling import SentencePooling
from bertviewer.core.sources.model_folder import origin_of
from bertviewer.core.sources.model_source import ModelSource
from bertviewer.core.sources.parsing import parse_source
from bertviewer.core.sources.presets import DEMO_SHA256
from bertviewer.core.util.errors import UserError
from tests.core.loading.tiny_models import SIZES, read_tensors, save_model


@pytest.fixture
def model(tmp_path: Path) -> Path:
    """Return the folder of a tiny BERT with a masked-LM head."""
    save_model(tmp_path / "saved", "BertForMaskedLM")
    return tmp_path / "saved"


def task(path: Path, **options: Any) -> str:
    return bertviewer.open(path, **options).task


def notices(path: Path) -> tuple[str, ...]:
    return bertviewer.open(path).architecture.source.notices


def pooling(path: Path) -> SentencePooling | None:
    return bertviewer.open(path).architecture.source.sentence_pooling


def refusal(path: Path, **options: Any) -> str:
    with pytest.raises(bertviewer.Error) as raised:
        bertviewer.open(path, **options)
    return str(raised.value)


class TestSentenceTransformers:
    def test_the_transformer_is_in_a_folder(self, model: Path, tmp_path: Path) -> None:
        root = tmp_path / "sbert"
        shutil.copytree(model, root / "0_Transformer")
        assert task(root) == "masked-lm"
        (root / "0_Transformer").rename(root / "first")
        assert "open one of the models in it: 'first'" in refusal(root)
        modules = [{"path": "first", "type": "sentence_transformers.models.Transformer"}]
        (root / "modules.json").write_text(json.dumps(modules))
        assert parse_source(str(root)).path == root / "first"
        (root / "config.json").write_text('{"__version__": "0.2.0"}')
        assert task(root) == "masked-lm"

    def test_other_modules_are_not_applied(self, model: Path) -> None:
        kinds = ("Transformer", "Pooling", "Dense", "Normalize")
        modules = [{"path": "", "type": f"sentence_transformers.models.{kind}"} for kind in kinds]
        (model / "modules.json").write_text(json.dumps(modules[:2]))
        assert notices(model) == ()
        (model / "modules.json").write_text(json.dumps(modules))
        (notice,) = notices(model)
        assert "('Dense') are not applied" in notice

    @pytest.mark.parametrize(
        ("kinds", "config", "expected"),
        [
            ("Pooling", {}, "mean"),
            ("Pooling Normalize", {"pooling_mode_cls_token": True}, "cls mean"),
            ("Pooling", {"pooling_mode": "lasttoken"}, "lasttoken"),
            ("Pooling", {"pooling_mode": ["mean_sqrt_len_tokens", "max"]}, "max mean_sqrt_len"),
            # What is unknown, invalid or not the last step is not the model's pooling.
            ("Pooling Dense", {}, ""),
            ("Normalize", {}, ""),
            ("", {}, ""),
            ("Pooling", {"pooling_mode": "sum"}, ""),
            ("Pooling", {"pooling_mode": []}, ""),
            ("Pooling", {"pooling_mode_max_tokens": 1}, ""),
            ("Pooling", {"pooling_mode_mean_tokens": False}, ""),
        ],
    )
    def test_the_pooling_of_sentence_transformers(
        self, model: Path, kinds: str, config: dict[str, object], expected: str
    ) -> None:
        modules = [
            {"path": f"{number}_{kind}", "type": f"sentence_transformers.models.{kind}"}
            for number, kind in enumerate(kinds.split(), 1)
        ]
        first = {"path": "", "type": "sentence_transformers.models.Transformer"}
        (model / "modules.json").write_text(json.dumps([first, *modules]))
        (model / "1_Pooling").mkdir()
        (model / "1_Pooling" / "config.json").write_text(json.dumps(config))
        found = pooling(model)
        modes = "" if found is None else " ".join(found.modes)
        assert modes == expected
        assert (found is not None and found.is_normalized) == ("Normalize" in kinds and bool(found))
        # A default prompt is a part of the sentence.
        prompts = {"default_prompt_name": "query"}
        (model / "config_sentence_transformers.json").write_text(json.dumps(prompts))
        assert pooling(model) is None

    @pytest.mark.parametrize("content", ['[{"path": "../saved"}]', '[{"path": "away"}]', "[3]"])
    def test_modules_outside_of_the_folder_are_not_opened(
        self, model: Path, tmp_path: Path, content: str
    ) -> None:
        root = tmp_path / "sbert"
        root.mkdir()
        (root / "away").symlink_to(model)
        (root / "modules.json").write_text(content)
        assert "the folder has no config.json and no weights" in refusal(root)


def test_a_folder_of_the_hubs_cache(model: Path, tmp_path: Path) -> None:
    entry = tmp_path / "models--org--name"
    for commit in ("1" * 40, "2" * 40):
        shutil.copytree(model, entry / "snapshots" / commit)
    assert "it has several commits and no refs/main" in refusal(entry)
    (entry / "refs").mkdir()
    (entry / "refs" / "main").write_text("2" * 40)
    assert parse_source(str(entry)).path == entry / "snapshots" / ("2" * 40)
    assert task(entry / "snapshots") == "masked-lm"
    assert "'models--org--name'" in refusal(tmp_path)
    shutil.rmtree(entry / "refs")
    shutil.rmtree(entry / "snapshots" / ("1" * 40))
    assert task(entry) == "masked-lm"


class TestTraining:
    def test_a_folder_of_checkpoints_lists_them(self, model: Path, tmp_path: Path) -> None:
        for name in ("checkpoint-10", "checkpoint-20"):
            shutil.copytree(model, tmp_path / "run" / name)
        message = refusal(tmp_path / "run")
        assert message.endswith("open one of the models in it: 'checkpoint-10', 'checkpoint-20'")
        (tmp_path / "run" / "checkpoint-20" / "optimizer.pt").write_bytes(b"")
        assert task(tmp_path / "run" / "checkpoint-20") == "masked-lm"

    @pytest.mark.parametrize(
        ("name", "key"),
        [
            ("epoch=3-step=9.ckpt", "state_dict"),
            ("pytorch_model.fp16.bin", ""),
        ],
    )
    def test_pickles_of_training_programs_are_read(self, model: Path, name: str, key: str) -> None:
        saved: dict[str, Any] = {f"model.{one}": t for one, t in read_tensors(model).items()}
        if key:
            saved = {"epoch": 3, "loss": torch.tensor(0.5), key: saved}
        (model / "model.safetensors").unlink()
        torch.save(saved, model / name)
        assert "--allow-pickle" in refusal(model)
        assert task(model, allow_pickle=True) == "masked-lm"

    def test_a_pickle_with_other_objects_is_refused_with_advice(self, tmp_path: Path) -> None:
        saved = {"state_dict": {"a": torch.zeros(1)}, "hyper_parameters": Namespace(rate=0.1)}
        torch.save(saved, tmp_path / "last.ckpt")
        message = refusal(tmp_path / "last.ckpt", allow_pickle=True)
        assert "it asks for argparse.Namespace, which tensors never need" in message
        assert message.endswith("save only the model's state_dict and open that")

    def test_training_state_without_weights_is_refused(self, tmp_path: Path) -> None:
        torch.save({"state": {}}, tmp_path / "optimizer.pt")
        assert "only training state ('optimizer.pt')" in refusal(tmp_path)


class TestWeights:
    @pytest.mark.parametrize("name", ["model.fp16.safetensors", "consolidated.safetensors"])
    def test_other_names(self, model: Path, name: str) -> None:
        (model / "model.safetensors").rename(model / name)
        assert task(model) == "masked-lm"
        shutil.copy(model / name, model / "model.bf16.safetensors")
        found = bertviewer.open(model)
        (notice,) = found.architecture.source.notices
        assert "several files" in notice
        assert name in notice
        with pytest.raises(bertviewer.Error, match="open one of them"):
            found.run("a")
        assert task(model / name) == "masked-lm"

    def test_shards_of_another_precision(self, model: Path) -> None:
        shard = "model.fp16-00001-of-00001.safetensors"
        names = read_tensors(model)
        (model / "model.safetensors").rename(model / shard)
        assert "is one of several files" in refusal(model)
        index = {"weight_map": dict.fromkeys(names, shard)}
        (model / "model.safetensors.index.fp16.json").write_text(json.dumps(index))
        assert task(model) == "masked-lm"

    @pytest.mark.parametrize(
        ("name", "what"),
        [
            ("tf_model.h5", "TensorFlow weights"),
            ("flax_model.msgpack", "Flax weights"),
            ("model.onnx", "an ONNX graph"),
            ("model.gguf", "GGUF weights"),
            ("bert_model.ckpt.index", "a TensorFlow checkpoint"),
            ("onnx/model_quantized.onnx", "an ONNX graph"),
            ("openvino/model.mlmodel", "a Core ML graph"),
            ("model.safetensors.part", "an unfinished download"),
            ("pytorch_model_fsdp_0/__0_0.distcp", "shards of FSDP training"),
            ("global_step100/mp_rank_00_model_states.pt", "DeepSpeed training state"),
        ],
    )
    def test_unsupported_formats(self, model: Path, name: str, what: str) -> None:
        (model / name).parent.mkdir(exist_ok=True)
        (model / "model.safetensors").rename(model / name)
        found = bertviewer.open(model)
        (notice,) = found.architecture.source.notices
        assert f"holds {what}, which bertviewer cannot read; " in notice
        with pytest.raises(bertviewer.Error, match="bertviewer cannot read"):
            found.run("a")
        (model / "config.json").unlink()
        assert what in refusal(model)
        if "/" not in name:
            assert what in refusal(model / name)

    def test_adapters(self, model: Path) -> None:
        adapter = {"peft_type": "LORA", "base_model_name_or_path": "org/base"}
        (model / "adapter_config.json").write_text(json.dumps(adapter))
        shutil.copy(model / "model.safetensors", model / "adapter_model.safetensors")
        (notice,) = notices(model)
        assert "is not applied" in notice
        (model / "model.safetensors").unlink()
        assert bertviewer.open(model).architecture.source.weights == "none"
        (model / "config.json").unlink()
        assert "only an adapter ('LORA') of 'org/base'" in refusal(model)
        (model / "adapter_config.json").write_text("[")
        assert "only an adapter, without" in refusal(model)


def test_an_index_is_opened_through_its_folder(tmp_path: Path) -> None:
    index = tmp_path / "model.safetensors.index.json"
    index.write_text("{}")
    assert refusal(index).endswith("open its folder")


def test_a_pair_of_models_is_opened_through_its_parts(tmp_path: Path) -> None:
    decoder = {"model_type": "bert", **SIZES["bert"]}
    config = {"model_type": "vision-encoder-decoder", "encoder": {"model_type": "vit"}}
    (tmp_path / "config.json").write_text(json.dumps({**config, "decoder": decoder}))
    message = refusal(tmp_path)
    assert "it combines several models (encoder: vit, decoder: bert)" in message
    assert "model.encoder.save_pretrained(folder), and open that" in message


class TestOrigin:
    def test_digests(self, tmp_path: Path, demo_source: ModelSource) -> None:
        origin = origin_of(demo_source, [demo_source.path / "model.safetensors"])
        assert origin.digests == (("model.safetensors", DEMO_SHA256),)
        assert "Apache 2.0" in origin.licence
        assert "MIT" in origin.licence
        (tmp_path / "a").write_bytes(b"one")
        digest = hashlib.sha256(b"one").hexdigest()
        assert origin_of(demo_source, [tmp_path / "a"]).digests == (("a", digest),)
        with pytest.raises(UserError, match="gone"):
            origin_of(demo_source, [tmp_path / "gone"])

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
    def test_licence(self, tmp_path: Path, files: dict[str, str], licence: str) -> None:
        (tmp_path / "config.json").write_text("{}")
        for name, text in files.items():
            (tmp_path / name).write_text(text)
        assert origin_of(parse_source(str(tmp_path)), ()).licence == licence

    @pytest.mark.parametrize(
        ("front", "base"),
        [
            ("base_model: org/name", "org/name"),
            ("base_model:\n- 'org/name'\n- org/other", "org/name"),
            ("base_models: org/name", ""),
            ("base_model: <b>", ""),
        ],
    )
    def test_base_model(self, tmp_path: Path, front: str, base: str) -> None:
        (tmp_path / "config.json").write_text("{}")
        (tmp_path / "README.md").write_text(f"---\n{front}\n---\n")
        assert origin_of(parse_source(str(tmp_path)), ()).base_model == base
