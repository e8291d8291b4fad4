"""Cached models: what is used again, what is derived again, and what is not believed."""

import json
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from msgspec import Struct
from msgspec.structs import replace

from bertviewer.core.building import versions
from bertviewer.core.checkpoints.load_report import LoadReport
from bertviewer.core.loading import cached_models, loaded_model, meta_model, weight_loading
from bertviewer.core.loading.cached_models import (
    MAX_BYTES,
    NO_CACHE,
    bundled_name,
)
from bertviewer.core.loading.loaded_model import LoadedModel
from bertviewer.core.saving import disk_cache
from bertviewer.core.saving.disk_cache import SUFFIX, JsonStore
from bertviewer.core.schema.architecture import Architecture
from bertviewer.core.sources.parsing import parse_source
from bertviewer.core.util import libraries
from bertviewer.core.util.budget import Budget
from bertviewer.core.util.errors import UserError
from bertviewer.core.util.files import resources_folder
from tests import seen
from tests.core.loading.tiny_models import (
    Tensors,
    change_config,
    opened,
    read_tensors,
    write_tensors,
)


def use_cache(folder: Path, patch: pytest.MonkeyPatch) -> None:
    patch.setattr(disk_cache, "user_cache_path", lambda *_, **__: folder)


class Derived(Struct):
    """A model before and after its formulas are derived, and the cache with them."""

    cache: Path
    plain: Architecture
    architecture: Architecture
    report: LoadReport | None


@pytest.fixture(scope="session")
def derived(tiny_bert_folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Derived:
    cache = tmp_path_factory.mktemp("derived") / "cache"
    with pytest.MonkeyPatch.context() as patch:
        use_cache(cache, patch)
        # Without a time limit: this machine may be busy.
        patch.setattr(loaded_model, "Budget", lambda: Budget(seconds=1e9))
        model = opened(tiny_bert_folder, "base")
        plain, report = model.architecture, model.load_report
        return Derived(cache, plain, model.with_formulas(), report)


class Cached(Struct):
    """A model that a test may change, and its cache.

    Attributes:
        folder: of the model, a copy of the derived one.
        cache: with its formulas.
        built: the paths of the models that are built with torch.
        log: what is written to the log.
    """

    folder: Path
    cache: Path
    built: list[str]
    log: list[str]

    def open(self, task: str = "base") -> LoadedModel:
        return opened(self.folder, task)

    def files(self, kind: str = "architectures") -> list[Path]:
        return sorted((self.cache / kind).glob(f"*{SUFFIX}"))

    def clear(self) -> None:
        shutil.rmtree(self.cache)

    def change(self, kind: str, path: str, value: object) -> None:
        """Change a value in the only entry of a kind, which has a valid digest afterwards.

        ``path`` has keys and indices, separated by dots.
        """
        (file,) = self.files(kind)
        store, name = JsonStore(file.parent, MAX_BYTES), file.name.removesuffix(SUFFIX)
        content: Any = store.read(name, name)
        place = content
        *parents, last = path.split(".")
        for key in parents:
            place = place[int(key) if isinstance(place, list) else key]
        assert last in place or kind == "key-reports"
        place[last] = value
        store.write(name, name, content)


@pytest.fixture
def cached(
    derived: Derived, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Cached:
    cache = Path(shutil.copytree(derived.cache, tmp_path / "cache"))
    use_cache(cache, monkeypatch)
    found = Cached(folder, cache, [], [])
    for module in (cached_models, loaded_model):
        monkeypatch.setattr(module, "write_log", found.log.append)
    read = meta_model.read_meta_model

    def read_and_note(source: Any, *rest: Any) -> Any:
        found.built.append(source.name)
        return read(source, *rest)

    monkeypatch.setattr(meta_model, "read_meta_model", read_and_note)
    return found


def same_source(model: LoadedModel, architecture: Architecture) -> Architecture:
    """Return an architecture as of the model's folder."""
    source = replace(architecture.source, name=model.architecture.source.name)
    return replace(architecture, source=source)


class TestReuse:
    def test_a_cached_model_is_not_built(self, cached: Cached, derived: Derived) -> None:
        first = cached.open()
        assert cached.built == []
        assert first.architecture == same_source(first, derived.architecture)
        assert first.with_formulas() is first.architecture
        assert first.load_report == derived.report
        assert "masked-lm" in first.tasks
        cached.clear()
        second = cached.open()
        assert cached.built == [str(cached.folder)]
        # With weights, both are the same model.
        for model in (first, second):
            model.ensure_built()
        ours, theirs = (m.module(random_weights=False).state_dict() for m in (first, second))
        assert all(torch.equal(ours[name], theirs[name]) for name in ours)
        assert second.stored("pooler.dense.bias") == first.stored("pooler.dense.bias")

    def test_checkpoints_with_one_configuration_share_formulas(
        self, cached: Cached, derived: Derived
    ) -> None:
        tensors = read_tensors(cached.folder)
        write_tensors(cached.folder, {f"bert.{name}": tensor for name, tensor in tensors.items()})
        assert cached.open().architecture.costs == derived.architecture.costs
        assert len(cached.files()) == 1
        assert len(cached.files("key-reports")) == 2

    def test_torch_is_imported_for_new_models_only(
        self, cached: Cached, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        imports: list[object] = []
        monkeypatch.setattr(libraries, "load", imports.append)
        cached.open()
        assert not imports
        cached.clear()
        cached.open()
        assert len(imports) == 1

    def test_the_cache_can_be_disabled(
        self, cached: Cached, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv(NO_CACHE, "1")
        cached.open()
        cached.clear()
        cached.open()
        assert len(cached.built) == 2
        assert not cached.cache.exists()

    @pytest.mark.parametrize("is_full", [True, False])
    def test_models_open_without_a_writable_cache(
        self, cached: Cached, is_full: bool, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        def fail(*_: object) -> None:
            raise UserError("cannot write: No space left on device")

        cached.clear()
        if is_full:
            monkeypatch.setattr(disk_cache, "write_atomically", fail)
        else:
            cached.cache.write_text("a file in the place of the folder")
        for _ in range(2):
            assert cached.open().architecture.root.class_name == "BertModel"
        assert any("not cached" in entry for entry in cached.log)

    def test_the_report_of_the_header_is_cached_not_that_of_loading(
        self, cached: Cached, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        load = weight_loading.pretrained_module

        def load_without_one(*arguments: Any) -> Any:
            return replace(load(*arguments), random=("pooler.dense.bias",))

        monkeypatch.setattr(weight_loading, "pretrained_module", load_without_one)
        cached.clear()
        model = cached.open("masked-lm")
        model.module(random_weights=False)
        assert model.load_report is not None
        assert model.load_report.missing == ("pooler.dense.bias",)
        model.with_counts()
        model.with_flows()
        reopened = cached.open("masked-lm")
        assert reopened.load_report is not None
        assert "pooler.dense.bias" not in reopened.load_report.missing
        reopened.ensure_built()
        assert not reopened.was_corrected


class TestChanges:
    """Which changes make another model."""

    @pytest.mark.parametrize(
        "changes",
        [{"num_hidden_layers": 3}, {"hidden_act": "relu"}, {"id2label": {"0": "a"}}, {"own": [1]}],
    )
    def test_another_configuration(self, cached: Cached, changes: dict[str, Any]) -> None:
        config = opened(cached.folder / "config.json").architecture.whole_config
        assert cached.built == []
        change_config(cached.folder, **changes)
        assert opened(cached.folder / "config.json").architecture.whole_config != config
        assert len(cached.built) == 1

    def test_another_head(self, cached: Cached) -> None:
        assert cached.open("masked-lm").architecture.root.class_name == "BertForMaskedLM"
        assert len(cached.built) == 1

    @pytest.mark.parametrize("package", ["torch", "transformers", "bertviewer"])
    def test_another_version(
        self, cached: Cached, package: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        other = {**versions.versions(), package: "another"}
        monkeypatch.setattr(cached_models, "versions", lambda: other)
        cached.open()
        assert len(cached.built) == 1

    @pytest.mark.parametrize(
        ("change", "field"),
        [
            (lambda tensors: {f"bert.{name}": t for name, t in tensors.items()}, "renamed"),
            (lambda tensors: tensors | {"more.weight": torch.ones(3)}, "unexpected"),
            (
                lambda tensors: {n: t for n, t in tensors.items() if n != "pooler.dense.bias"},
                "missing",
            ),
            (lambda tensors: {name: tensor.half() for name, tensor in tensors.items()}, ""),
        ],
        ids=["renamed", "unexpected", "missing", "dtype"],
    )
    def test_another_header(
        self, cached: Cached, change: Callable[[Tensors], Tensors], field: str
    ) -> None:
        write_tensors(cached.folder, change(read_tensors(cached.folder)))
        report = cached.open().load_report
        assert len(cached.built) == 1
        assert report is not None
        groups = {name for name in ("renamed", "unexpected", "missing") if getattr(report, name)}
        assert groups == ({field} if field else set())
        assert set(report.stored_dtypes) == ({"F32"} if field else {"F16"})

    def test_another_shape_is_refused(self, cached: Cached) -> None:
        tensors = read_tensors(cached.folder)
        write_tensors(cached.folder, tensors | {"pooler.dense.bias": torch.ones(17)})
        with pytest.raises(UserError, match=r"has the shape \[17\]"):
            cached.open()

    def test_other_values_are_the_same_model(self, cached: Cached) -> None:
        tensors = read_tensors(cached.folder)
        write_tensors(cached.folder, {name: tensor + 1 for name, tensor in tensors.items()})
        cached.open()
        assert cached.built == []

    def test_a_model_that_cannot_be_opened_is_not_cached(self, cached: Cached) -> None:
        cached.clear()
        change_config(cached.folder, hidden_act="none such")
        for _ in range(2):
            with pytest.raises(UserError, match="hidden_act 'none such' is unknown"):
                cached.open()
        assert not cached.cache.exists()


MODULE, TENSOR = "architecture.modules.-1", "architecture.parameters.-1"


class TestManipulation:
    """Entries that another program or person wrote are validated."""

    @pytest.mark.parametrize(
        ("path", "value"),
        [
            ("architecture", {"schema": "another/1"}),
            ("architecture", None),
            ("heads", None),
            ("architecture.config", None),
            ("architecture.config", {"model_type": "gpt2"}),
            ("architecture.modules", []),
            ("architecture.symbols", {"D": {"key": None, "value": 16, "meaning": ""}}),
            (f"{MODULE}.class", None),
            (f"{MODULE}.count_formula", "V*D + 1"),
            (f"{MODULE}.count_formula", "__import__('os').abort()"),
            (f"{MODULE}.share", "x"),
            (f"{MODULE}.share", 99.0),
            (f"{MODULE}.attributes", {"eps": []}),
            (f"{MODULE}.trainable", 1),
            (f"{MODULE}.own_parameters", 1),
            (f"{MODULE}.repeat", {"first": 0, "last": "x", "count": 2}),
            (f"{TENSOR}.dtype", None),
            (f"{TENSOR}.shape", ["x"]),
            (f"{TENSOR}.trainable", False),
            ("architecture.compute.peak_fixed", None),
            ("architecture.compute.variables", {"D": 5}),
            ("architecture.compute.peak_elements", [5]),
        ],
    )
    def test_an_invalid_architecture_is_replaced(
        self, cached: Cached, derived: Derived, path: str, value: object
    ) -> None:
        cached.change("architectures", path, value)
        for _ in range(2):
            model = cached.open()
            assert model.architecture == same_source(model, derived.plain)
            assert len(cached.built) == 1
        assert "discarded" in cached.log[0]

    @pytest.mark.parametrize(
        ("field", "value"),
        [
            ("stored", {"pooler.dense.bias": "no such key"}),
            ("stored", {"pooler.dense.bias": "pooler.dense.weight"}),
            ("missing", [5]),
            ("files", None),
            ("renamed", ["x"]),
            ("stored_dtypes", {"F32": "x"}),
            ("more", 1),
        ],
    )
    def test_an_invalid_report_is_replaced(
        self, cached: Cached, derived: Derived, field: str, value: object
    ) -> None:
        cached.change("key-reports", field, value)
        for _ in range(2):
            model = cached.open()
            assert model.load_report == derived.report
            assert model.architecture == same_source(model, derived.architecture)
            assert len(cached.built) == 1

    @pytest.mark.parametrize("kind", ["architectures", "key-reports"])
    def test_a_damaged_file_is_replaced(self, cached: Cached, kind: str) -> None:
        (file,) = cached.files(kind)
        for number, content in enumerate((b"", b"\0" * 100), 1):
            file.write_bytes(content)
            for _ in range(2):
                cached.open()
                assert len(cached.built) == number

    def test_a_wrong_class_is_corrected_once_torch_is_imported(
        self, cached: Cached, derived: Derived
    ) -> None:
        cached.change("architectures", "architecture.modules.0.class", "Another")
        model = cached.open()
        assert model.architecture.root.class_name == "Another"
        assert cached.built == []
        model.ensure_built()
        assert "not what the cache says" in cached.log[0]
        for corrected in (model, cached.open()):
            assert corrected.architecture == same_source(model, derived.plain)

    def test_a_corrected_report_keeps_the_formulas(self, cached: Cached, derived: Derived) -> None:
        cached.change("key-reports", "unexpected", ["made.up"])
        model = cached.open()
        assert model.load_report is not None
        assert model.load_report.unexpected == ("made.up",)
        model.ensure_built()
        assert model.was_corrected
        assert model.load_report == derived.report
        assert model.architecture == same_source(model, derived.architecture)


class TestBundled:
    """The entries of presets and the demo, which are part of the program."""

    @pytest.fixture(autouse=True)
    def _bundled(self, monkeypatch: pytest.MonkeyPatch) -> None:
        def bundled(kind: str) -> JsonStore:
            return JsonStore(resources_folder() / "seen" / kind, None)

        for module in (cached_models, seen):
            monkeypatch.setattr(module, "bundled", bundled)

    @pytest.mark.parametrize("name", ["demo", "gpt2"])
    def test_derived_again_they_are_the_same(self, name: str) -> None:
        """``python -m tests.seen --check`` derives the others, which takes a minute."""
        source = parse_source(name)
        for kind, (key, content) in seen.made(source).items():
            found = cached_models.bundled(kind).read(bundled_name(source), key)
            assert found == json.loads(json.dumps(content)), f"{kind}: run python -m tests.seen"

    def test_every_head_has_a_small_entry(self) -> None:
        expected = {bundled_name(source) for source in seen.sources()}
        folder = resources_folder() / "seen"
        names = {
            kind: {file.name.removesuffix(SUFFIX) for file in (folder / kind).iterdir()}
            for kind in ("architectures", "key-reports")
        }
        assert names["architectures"] == expected
        assert names["key-reports"] == {name for name in expected if name.startswith("demo.")}
        assert sum(file.stat().st_size for file in folder.rglob(f"*{SUFFIX}")) < 1_000_000

    def test_they_open_without_torch_and_match_what_torch_builds(self) -> None:
        code = """
import sys
from bertviewer.core.loading.opening import open_model
from bertviewer.core.sources.parsing import parse_source
models = [open_model(parse_source(*name.rsplit(".", 1))) for name in sys.argv[1:]]
assert all(model.architecture.costs is not None for model in models)
assert "torch" not in sys.modules
assert "numpy" not in sys.modules
for model in models:
    before = model.architecture
    model.ensure_built()
    assert model.architecture is before, model.source
"""
        names = [bundled_name(source) for source in seen.sources()][::7]
        subprocess.run([sys.executable, "-c", code, *names], check=True)
