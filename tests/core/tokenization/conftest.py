"""A small model with a vocabulary, in a folder that a test may change."""

import shutil
from pathlib import Path

import pytest


@pytest.fixture
def folder(tiny_bert_folder: Path, tmp_path: Path) -> Path:
    """Return a copy of the tiny BERT."""
    return Path(shutil.copytree(tiny_bert_folder, tmp_path / "model"))
