"""What comes with the program of presets and the demo is what would be derived now."""

import json
import subprocess
import sys

import pytest

from bertviewer.core.loading import cached_models as models
from bertviewer.core.saving.disk_cache import SUFFIX, JsonStore
from bertviewer.core.sources.parsing import parse_source
from bertviewer.core.util.files import resources_folder
from tests import seen

FEW = ("albert-base-v2", "bert-base-uncased", "demo", "gpt2")
"""The others take a minute more: ``python -m tests.seen --check``."""

EVERY = 4
"""One of so many is compared with torch's, which makes all of them again."""


@pytest.fixture(autouse=True)
def _what_comes_with_it(monkeypatch: pytest.MonkeyPatch) -> None:
    def bundled(kind: str) -> JsonStore:
        return JsonStore(resources_folder() / "seen" / kind, None)

    for module in (models, seen):
        monkeypatch.setattr(module, "bundled", bundled)


@pytest.mark.parametrize("name", FEW)
def test_made_again_it_is_the_same(name: str) -> None:
    source = parse_source(name)
    for kind, (key, content) in seen.made(source).items():
        found = models.bundled(kind).read(models.bundled_name(source), key)
        assert found == json.loads(json.dumps(content)), f"{kind} of {name}: python -m tests.seen"


def test_every_head_of_every_preset_is_there_and_no_other_file() -> None:
    wanted = {models.bundled_name(source) for source in seen.sources()}
    folder = resources_folder() / "seen"
    found = {file.name.removesuffix(SUFFIX) for file in (folder / "architectures").iterdir()}
    assert found == wanted
    reports = {file.name.removesuffix(SUFFIX) for file in (folder / "key-reports").iterdir()}
    assert reports == {name for name in wanted if name.startswith("demo.")}


def test_it_opens_without_torch_and_is_what_torch_says() -> None:
    code = """
import sys
from bertviewer.core.loading.opening import open_model
from bertviewer.core.sources.parsing import parse_source
models = []
for name in sys.argv[1:]:
    models.append(open_model(parse_source(*name.rsplit(".", 1))))
    assert models[-1].architecture.costs is not None, name
assert "torch" not in sys.modules
assert "numpy" not in sys.modules
for model in models:
    before = model.architecture
    model.ensure_built()
    assert model.architecture is before, model.source
print(len(models))
"""
    names = [models.bundled_name(source) for source in seen.sources()][::EVERY]
    done = subprocess.run(
        [sys.executable, "-c", code, *names], capture_output=True, text=True, check=False
    )
    assert done.stdout == f"{len(names)}\n", done.stderr
    assert len(names) > 10


def test_it_takes_little_room() -> None:
    folder = resources_folder() / "seen"
    assert sum(file.stat().st_size for file in folder.rglob(f"*{SUFFIX}")) < 1_000_000
