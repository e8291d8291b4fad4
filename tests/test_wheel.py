"""The wheel, installed in a fresh environment far from the checkout, and the source archive."""

import json
import os
import subprocess
import sys
import tarfile
import venv
import zipfile
from pathlib import Path

import pytest

from bertviewer import __version__
from bertviewer.core.presets import preset_names
from bertviewer.core.resources import resources_folder
from tests.subprocesses import output_of

ROOT = Path(__file__).parents[1]
RESOURCES = ("presets", "icons", "report")
# Nothing of the checkout and of the tests' own environment may reach the installed program.
ENVIRONMENT = {
    name: value
    for name, value in os.environ.items()
    if name not in ("PYTHONPATH", "PYTHONHOME", "VIRTUAL_ENV")
}


def resource_files() -> set[str]:
    """Return the files that an installation must have, by their names below resources/."""
    folder = ROOT / "resources"
    return {
        str(path.relative_to(folder))
        for name in RESOURCES
        for path in (folder / name).rglob("*")
        if path.is_file()
    }


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("wheel")
    pip: list[str | Path] = [sys.executable, "-m", "pip", "wheel", "--no-deps", "-w", folder, ROOT]
    output_of(pip, folder, ENVIRONMENT)
    (path,) = folder.glob("*.whl")
    return path


def test_wheel_holds_the_package_and_its_resources(wheel: Path) -> None:
    assert wheel.name == f"bertviewer-{__version__}-py3-none-any.whl"
    names = set(zipfile.ZipFile(wheel).namelist())
    prefix = "bertviewer/resources/"
    assert {name.removeprefix(prefix) for name in names if name.startswith(prefix)} == (
        resource_files()
    )
    modules = {str(path.relative_to(ROOT)) for path in (ROOT / "bertviewer").rglob("*.py")}
    assert modules <= names
    assert not any(name.startswith(("tests", "packaging")) for name in names)


def test_source_archive_builds_the_same_wheel(wheel: Path, tmp_path: Path) -> None:
    backend = "import sys, hatchling.build as b; print(b.build_sdist(sys.argv[1]))"
    environment = tmp_path / "build"
    venv.create(environment, with_pip=True)
    python = environment / "bin" / "python"
    constraints = ROOT / "packaging" / "constraints.txt"
    output_of(
        [python, "-m", "pip", "install", "-q", "-c", constraints, "hatchling"],
        tmp_path,
        ENVIRONMENT,
    )
    output_of([python, "-c", backend, tmp_path], ROOT, ENVIRONMENT)
    (archive,) = tmp_path.glob("*.tar.gz")
    with tarfile.open(archive) as opened:
        names = {name.partition("/")[2] for name in opened.getnames()}
        opened.extractall(tmp_path, filter="data")
    assert {f"resources/{name}" for name in resource_files()} <= names
    assert {"LICENSE", "README.md", "main.py", "packaging/constraints.txt"} <= names
    unpacked = tmp_path / archive.name.removesuffix(".tar.gz")
    backend = "import sys, hatchling.build as b; print(b.build_wheel(sys.argv[1]))"
    output_of([python, "-c", backend, tmp_path], unpacked, ENVIRONMENT)
    (again,) = tmp_path.glob("*.whl")
    assert contents(again) == contents(wheel)


def contents(path: Path) -> dict[str, int]:
    with zipfile.ZipFile(path) as opened:
        return {entry.filename: entry.CRC for entry in opened.infolist()}


def test_installed_wheel_works_outside_the_checkout(wheel: Path, tmp_path: Path) -> None:
    environment = tmp_path / "environment"
    venv.create(environment, with_pip=True)
    program = environment / "bin" / "bertviewer"
    constraints = ROOT / "packaging" / "constraints.txt"
    output_of(
        [environment / "bin" / "python", "-m", "pip", "install", "-c", constraints,
         f"{wheel}[demo]"],
        tmp_path,
        ENVIRONMENT,
        timeout=1200,
    )  # fmt: skip
    folder = tmp_path / "elsewhere"
    folder.mkdir()
    assert output_of([program, "--version"], folder, ENVIRONMENT) == f"bertviewer {__version__}\n"
    summary = output_of(
        [program, "summary", "bert-base-uncased", "--format", "json"], folder, ENVIRONMENT
    )
    assert json.loads(summary)["totals"]["parameters"] == 109_482_240
    output_of(
        [program, "report", "demo", "-o", "out.pdf", "--sentence", "A test of the wheel."],
        folder,
        ENVIRONMENT,
    )
    assert (folder / "out.pdf").read_bytes().startswith(b"%PDF")
    where = output_of(
        [environment / "bin" / "python", "-c",
         "from bertviewer.core.resources import resources_folder as f; print(f())"],
        folder,
        ENVIRONMENT,
    )  # fmt: skip
    assert Path(where.strip()).is_relative_to(environment)


def test_checkout_finds_its_own_resources() -> None:
    # The environment of the tests is an editable install: the package lies in the checkout.
    assert resources_folder() == ROOT / "resources"
    assert len(list((resources_folder() / "presets").glob("*.json"))) == len(preset_names())
    assert (resources_folder() / "icons" / "bertviewer.svg").is_file()


def test_desktop_entry_names_the_icon() -> None:
    (entry,) = (ROOT / "packaging").glob("*.desktop")
    lines = entry.read_text(encoding="utf-8").splitlines()
    assert "Exec=bertviewer %f" in lines
    (icon,) = (line.removeprefix("Icon=") for line in lines if line.startswith("Icon="))
    assert (ROOT / "resources" / "icons" / f"{icon}.svg").is_file()
    try:
        output_of(["desktop-file-validate", entry], ROOT, ENVIRONMENT)
    except FileNotFoundError:
        pytest.skip("desktop-file-validate is not installed")
    except subprocess.TimeoutExpired as error:
        raise AssertionError from error
