"""All packages that are installed or bundled are listed with their licences."""

import re
import tomllib
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from tests.notices import NOTICES, ROOT, listed, works

TEXT = NOTICES.read_text(encoding="utf-8")


def pins(name: str) -> dict[str, str]:
    """Return the versions of a requirements file, without build tags."""
    found = re.findall(r"^([\w.-]+)==([\w.]+)", Path(ROOT, "packaging", name).read_text(), re.M)
    return {canonicalize_name(key): version for key, version in found}


def test_all_requirements_are_listed() -> None:
    found = works()
    # Other platforms need fewer.
    assert {work.name for work in found} <= set(listed(TEXT))
    with (ROOT / "pyproject.toml").open("rb") as file:
        declared = tomllib.load(file)["project"]["dependencies"]
    assert {canonicalize_name(Requirement(line).name) for line in declared} <= set(listed(TEXT))
    assert not [work.name for work in found if not work.texts]


@pytest.mark.parametrize("name", ["constraints.txt", "bundle.txt"])
def test_versions_are_the_pinned_ones(name: str) -> None:
    pinned = pins(name)
    assert {key: version for key, version in listed(TEXT).items() if key in pinned} == {
        key: version for key, version in pinned.items() if key in listed(TEXT)
    }


def test_licence_texts_are_included() -> None:
    for name in ("pyside6-essentials", "shiboken6"):
        assert re.search(rf"^\* {name} \S+: LGPL-3.0-only .*\[\d+, \d+\]$", TEXT, re.M)
    for kind in ("GNU LESSER GENERAL PUBLIC LICENSE", "GNU GENERAL PUBLIC LICENSE"):
        assert re.search(rf"^\s*{kind}$", TEXT, re.M)
    references = ", ".join(re.findall(r"^\* .*\[(.*)\]$", TEXT, re.M)).split(", ")
    assert set(references) == set(re.findall(r"^={100}\n\[(\d+)\]\n\n", TEXT, re.M))


def test_the_bundle_has_pinned_versions_and_hashes() -> None:
    lines = [
        line
        for line in Path(ROOT, "packaging", "bundle.txt").read_text().splitlines()
        if not line.startswith("#")
    ]
    assert all(re.fullmatch(r"\S+==\S+ --hash=sha256:[0-9a-f]{64}", line) for line in lines)
    # All that is listed, and the build tools.
    assert set(listed(TEXT)) <= set(pins("bundle.txt"))
    constraints = pins("constraints.txt")
    for name, version in pins("bundle.txt").items():
        assert constraints.get(name, version) == version
    assert {"pyinstaller", "hatchling"} <= set(pins("bundle.txt"))
