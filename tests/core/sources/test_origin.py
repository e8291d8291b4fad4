"""Where weights come from: their digests, and the licence that lies beside them."""

import hashlib
from pathlib import Path

import pytest

from bertviewer.core.sources.model_folder import origin_of
from bertviewer.core.sources.model_source import ModelSource
from bertviewer.core.sources.parsing import parse_source
from bertviewer.core.sources.presets import DEMO_SHA256
from bertviewer.core.util.errors import UserError


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
