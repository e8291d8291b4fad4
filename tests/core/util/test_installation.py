"""Advice on optional packages is a command that works in the environment that is running."""

import re
import shlex
import subprocess
import sys
import tomllib

import pytest

from bertviewer.core.tokenization.loading import SENTENCEPIECE
from bertviewer.core.util import installation
from bertviewer.core.util.installation import EXTRAS, extra_advice, install_advice
from tests.cli.commands import ROOT


def test_extras_are_those_of_the_project() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    declared = project["optional-dependencies"]
    assert {name: list(needed) for name, needed in EXTRAS.items()} == {
        name: declared[name] for name in EXTRAS
    }
    names = {re.split("[<>=]", each)[0] for each in EXTRAS["sentencepiece"]}
    assert names == set(SENTENCEPIECE)


@pytest.mark.parametrize("name", EXTRAS)
def test_the_advice_is_a_command_that_pip_understands(name: str) -> None:
    command = shlex.split(extra_advice(name))
    assert command == [sys.executable, "-m", "pip", "install", *EXTRAS[name]]


def test_no_advice_names_a_distribution_of_this_project() -> None:
    # No package index has it.
    sources = (ROOT / "bertviewer").rglob("*.py")
    assert [path for path in sources if "bertviewer[" in path.read_text("utf-8")] == []


def test_what_is_installed_already_satisfies_the_command() -> None:
    command = shlex.split(install_advice("numpy>=2.0", no_deps=True))
    done = subprocess.run(
        [*command, "--no-index", "--quiet"], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr


def test_a_folder_with_a_space_and_an_environment_of_uv(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "executable", "/a folder/python")
    command = [sys.executable, "-m", "pip", "install", "pyarrow>=17"]
    assert shlex.split(extra_advice("corpus")) == command
    monkeypatch.setattr(installation, "find_spec", lambda _: None)
    command = ["uv", "pip", "install", "--python", sys.executable, "pyarrow>=17"]
    assert shlex.split(extra_advice("corpus")) == command


def test_a_bundle_has_no_pip(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "frozen", True, raising=False)
    assert "pip" not in extra_advice("corpus")
    assert "pyarrow" in extra_advice("corpus")
