"""The wheel, installed in a fresh environment far from the checkout, and the source archive."""

import json
import os
import subprocess
import sys
import tarfile
import tomllib
import venv
import zipfile
from importlib.metadata import Distribution, distributions
from importlib.metadata import distribution as distribution_of
from pathlib import Path

import pytest
from packaging.requirements import Requirement

from bertviewer import __version__
from bertviewer.core.sources.presets import DEMO_PACKAGE, preset_names
from bertviewer.core.statistics.row_statistics import is_compiled
from bertviewer.core.util.files import resources_folder
from tests.tools.subprocesses import output_of

ROOT = Path(__file__).parents[1]
CONSTRAINTS = ROOT / "packaging" / "constraints.txt"
RESOURCES = (
    *("presets", "icons", "help", "look", "report", "screenshots", "seen", "translations"),
)
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


@pytest.fixture(scope="module")
def tools(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with what builds the program, and nothing else."""
    folder = tmp_path_factory.mktemp("tools")
    with Path(ROOT, "pyproject.toml").open("rb") as file:
        required = tomllib.load(file)["build-system"]["requires"]
    pip: list[str | Path] = [sys.executable, "-m", "pip", "install", "-q", "--no-compile"]
    output_of([*pip, "--target", folder, "-c", CONSTRAINTS, *required], folder, ENVIRONMENT)
    return folder


def backend(tools: Path, kind: str, source: Path, folder: Path, **environment: str) -> None:
    """Build a wheel or an archive of sources; -S leaves out what else is installed here."""
    code = f"import sys, hatchling.build as b; b.build_{kind}(sys.argv[1])"
    known = {**ENVIRONMENT, "PYTHONPATH": str(tools), **environment}
    output_of([sys.executable, "-S", "-c", code, folder], source, known)


def compiled(wheel: Path) -> set[str]:
    """Return the compiled modules in a wheel."""
    names = zipfile.ZipFile(wheel).namelist()
    return {name for name in names if name.endswith((".so", ".pyd"))}


def test_wheel_without_a_compiler_is_for_every_machine(
    wheel: Path, tools: Path, tmp_path: Path
) -> None:
    backend(tools, "wheel", ROOT, tmp_path, CC="/nonexistent")
    (plain,) = tmp_path.glob("*.whl")
    assert plain.name == f"bertviewer-{__version__}-py3-none-any.whl"
    assert not compiled(plain)
    names = set(zipfile.ZipFile(wheel).namelist()) - compiled(wheel)
    assert names == set(zipfile.ZipFile(plain).namelist())


def test_wheel_holds_the_package_and_its_resources(wheel: Path) -> None:
    # The environment of the tests was compiled too, where that was possible.
    assert len(compiled(wheel)) == is_compiled()
    is_for_all = wheel.name == f"bertviewer-{__version__}-py3-none-any.whl"
    assert is_for_all is not is_compiled()
    names = set(zipfile.ZipFile(wheel).namelist())
    # What tells type checkers of a script that there are types, and which.
    assert names >= {"bertviewer/py.typed", "bertviewer/__init__.pyi"}
    prefix = "bertviewer/resources/"
    assert {name.removeprefix(prefix) for name in names if name.startswith(prefix)} == (
        resource_files()
    )
    modules = {str(path.relative_to(ROOT)) for path in (ROOT / "bertviewer").rglob("*.py")}
    assert modules <= names
    assert not any(name.startswith(("tests", "packaging")) for name in names)
    (notices,) = (name for name in names if name.endswith("/THIRD_PARTY_NOTICES.txt"))
    assert "GNU LESSER GENERAL PUBLIC LICENSE" in zipfile.ZipFile(wheel).read(notices).decode()


def test_source_archive_builds_the_same_wheel(wheel: Path, tools: Path, tmp_path: Path) -> None:
    backend(tools, "sdist", ROOT, tmp_path)
    (archive,) = tmp_path.glob("*.tar.gz")
    with tarfile.open(archive) as opened:
        names = {name.partition("/")[2] for name in opened.getnames()}
        opened.extractall(tmp_path, filter="data")
    assert {f"resources/{name}" for name in resource_files()} <= names
    assert {"LICENSE", "README.md", "main.py", "packaging/constraints.txt"} <= names
    unpacked = tmp_path / archive.name.removesuffix(".tar.gz")
    backend(tools, "wheel", unpacked, tmp_path)
    (again,) = tmp_path.glob("*.whl")
    assert contents(again) == contents(wheel)


def contents(path: Path) -> dict[str, int]:
    with zipfile.ZipFile(path) as opened:
        return {entry.filename: entry.CRC for entry in opened.infolist()}


def required(names: list[str]) -> dict[str, Distribution]:
    """Return what is installed here of these requirements and all that they require, by name."""
    found: dict[str, Distribution] = {}
    waiting = [Requirement(name) for name in names]
    while waiting:
        wanted = waiting.pop()
        distribution = found.setdefault(wanted.name, Distribution.from_name(wanted.name))
        assert wanted.specifier.contains(distribution.version, prereleases=True), wanted
        for line in distribution.requires or ():
            further = Requirement(line)
            extras = wanted.extras or {""}
            if further.name not in found and (
                further.marker is None
                or any(further.marker.evaluate({"extra": extra}) for extra in extras)
            ):
                waiting.append(further)
    return found


def fresh_environment(folder: Path, wheel: Path) -> Path:
    """Install the wheel in an environment that has what it declares to need, and nothing else.

    The libraries are linked: to copy torch and Qt takes a minute. ``.ci/run`` has pip fetch them.
    """
    venv.create(folder, with_pip=False)
    (packages,) = folder.glob("lib/python*/site-packages")
    output_of(
        [sys.executable, "-m", "pip", "--python", folder / "bin" / "python", "install",
         "--no-deps", "--no-index", wheel],
        folder.parent,
        ENVIRONMENT,
    )  # fmt: skip
    (own,) = distributions(path=[str(packages)])
    declared = [
        line
        for line in own.requires or ()
        if (marker := Requirement(line).marker) is None or marker.evaluate({"extra": ""})
    ]
    # The demo's files alone, without what their package asks for.
    for distribution in (*required(declared).values(), distribution_of(DEMO_PACKAGE)):
        for file in distribution.files or ():
            target, link = (
                Path(str(distribution.locate_file(file.parts[0]))),
                packages / file.parts[0],
            )
            if file.parts[0] not in ("..", "__pycache__") and not link.exists():
                link.symlink_to(target)
    return folder


def test_installed_wheel_works_outside_the_checkout(wheel: Path, tmp_path: Path) -> None:
    environment = fresh_environment(tmp_path / "environment", wheel)
    program = environment / "bin" / "bertviewer"
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
         "from bertviewer.core.util.files import resources_folder as f; print(f())"],
        folder,
        ENVIRONMENT,
    )  # fmt: skip
    assert Path(where.strip()).is_relative_to(environment)
    has_c = output_of(
        [environment / "bin" / "python", "-c",
         "from bertviewer.core.statistics.row_statistics import is_compiled as f; print(f())"],
        folder,
        ENVIRONMENT,
    )  # fmt: skip
    assert has_c == f"{is_compiled()}\n"


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
