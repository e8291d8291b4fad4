"""The names that a person may write."""

import pytest

from bertviewer.core.sources.model_source import parse_hub_name
from bertviewer.core.util.errors import UserError


@pytest.mark.parametrize(
    ("text", "repo", "revision"),
    [
        ("hf://org/name", "org/name", "main"),
        ("org/name", "org/name", "main"),
        ("  hf://gpt2 ", "gpt2", "main"),
        ("hf://org/name@v1.0", "org/name", "v1.0"),
        ("hf://org/name@refs/pr/1", "org/name", "refs/pr/1"),
        ("hf://a-b/c_d.e@" + "0f" * 20, "a-b/c_d.e", "0f" * 20),
    ],
)
def test_names(text: str, repo: str, revision: str) -> None:
    name = parse_hub_name(text)
    assert (name.repo, name.revision) == (repo, revision)
    assert parse_hub_name(str(name)) == name


@pytest.mark.parametrize(
    "text",
    ["hf://", "hf://a/b/c", "hf:///x", "hf://x/", "hf://../x", "hf://a/..", "hf://a--b/c",
     "hf://a b/c", "hf://a/b?c", "hf://a/b#c", "hf://-a/b", "hf://a/b-", "hf://a/<b>", "hf://é/b",
     "hf://" + "a" * 97, "https://huggingface.co/a/b", "hf://a\\b", "hf://a/b\x00"],
)  # fmt: skip
def test_names_that_are_none(text: str) -> None:
    with pytest.raises(UserError, match=r"a Hub model is written as hf://org/name\[@revision\]"):
        parse_hub_name(text)


@pytest.mark.parametrize(
    "revision",
    ["", "../x", "/x", "x/", "a//b", "a b", "x\x00", "é", "x.lock", "-x", "@", "x" * 201],
)
def test_revisions_that_are_none(revision: str) -> None:
    with pytest.raises(UserError, match="is not a branch, a tag or a commit"):
        parse_hub_name(f"hf://org/name@{revision}")
