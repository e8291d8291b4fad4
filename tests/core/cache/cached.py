"""Opens models, and changes what the cache remembers of them."""

from pathlib import Path
from typing import Any

from bertviewer.core.loading import cached_models as models
from bertviewer.core.loading.cached_models import ModelSpec, spec_content
from bertviewer.core.loading.loaded_model import LoadedModel
from bertviewer.core.loading.opening import open_model
from bertviewer.core.saving.disk_cache import SUFFIX, JsonStore
from bertviewer.core.schema.architecture import Architecture
from bertviewer.core.sources.parsing import parse_source

SOURCE = parse_source("bert-base-uncased")
"""Not stored with a model."""


def opened(path: Path, task: str = "base") -> LoadedModel:
    return open_model(parse_source(str(path), task))


def files(cache: Path, kind: str = "architectures") -> list[Path]:
    return sorted((cache / kind).glob(f"*{SUFFIX}"))


def change(cache: Path, kind: str, **changes: Any) -> None:
    """Change what a file says, and sign it anew as somebody could."""
    (file,) = files(cache, kind)
    store, name = JsonStore(file.parent, models.MAX_BYTES), file.name.removesuffix(SUFFIX)
    content = store.read(name, name)
    assert content is not None
    store.write(name, name, content | changes)


def change_architecture(cache: Path, architecture: Architecture) -> None:
    content = spec_content(ModelSpec(SOURCE, architecture, ("base",)))
    change(cache, "architectures", **content)
