"""The commands that install optional packages work in the running environment."""

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


def test_extras_are_those_of_pyproject() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    declared = project["optional-dependencies"]
    assert {name: list(needed) for name, needed in EXTRAS.items()} == {
        name: declared[name] for name in EXTRAS
    }
    names = {re.split("[<>=]", each)[0] for each in EXTRAS["sentencepiece"]}
    assert names == set(SENTENCEPIECE)


def test_no_advice_installs_this_project_from_an_index() -> None:
    # No package index has it.
    sources = (ROOT / "bertviewer").rglob("*.py")
    assert [path for path in sources if "bertviewer[" in path.read_text("utf-8")] == []


def test_pip_accepts_the_command() -> None:
    command = shlex.split(install_advice("numpy>=2.0", no_deps=True))
    done = subprocess.run(
        [*command, "--no-index", "--quiet"], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr


def test_the_command_fits_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "executable", "/a folder/python")
    pip = [sys.executable, "-m", "pip", "install"]
    for name, packages in EXTRAS.items():
        assert shlex.split(extra_advice(name)) == [*pip, *packages]
    monkeypatch.setattr(installation, "find_spec", lambda _: None)  # an environment of uv
    command = ["uv", "pip", "install", "--python", sys.executable, "pyarrow>=17"]
    assert shlex.split(extra_advice("corpus")) == command
    monkeypatch.setattr(sys, "frozen", True, raising=False)  # a bundle without pip
    assert "pip" not in extra_advice("corpus")
    assert "pyarrow" in extra_advice("corpus")
