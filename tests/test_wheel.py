"""The wheel, the source archive, and the installed program."""

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
# The installed program must not see the checkout and the environment of the tests.
ENVIRONMENT = {
    name: value
    for name, value in os.environ.items()
    if name not in ("PYTHONPATH", "PYTHONHOME", "VIRTUAL_ENV")
}


def resource_files() -> set[str]:
    """Return the files of an installation, relative to resources/."""
    folder = ROOT / "resources"
    return {
        str(path.relative_to(folder))
        for name in RESOURCES
        for path in (folder / name).rglob("*")
        if path.is_file()
    }


@pytest.fixture(scope="module")
def tools(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with the build requirements and nothing else."""
    folder = tmp_path_factory.mktemp("tools")
    with Path(ROOT, "pyproject.toml").open("rb") as file:
        required = tomllib.load(file)["build-system"]["requires"]
    pip: list[str | Path] = [sys.executable, "-m", "pip", "install", "-q", "--no-compile"]
    output_of([*pip, "--target", folder, "-c", CONSTRAINTS, *required], folder, ENVIRONMENT)
    return folder


def build(tools: Path, kind: str, source: Path, folder: Path, **environment: str) -> Path:
    """Build a wheel or a source archive; -S hides all other installed packages."""
    code = f"import sys, hatchling.build as b; print(b.build_{kind}(sys.argv[1]))"
    known = {**ENVIRONMENT, "PYTHONPATH": str(tools), **environment}
    printed = output_of([sys.executable, "-S", "-c", code, folder], source, known)
    return folder / printed.splitlines()[-1]


@pytest.fixture(scope="module")
def wheel(tools: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build(tools, "wheel", ROOT, tmp_path_factory.mktemp("wheel"))


def compiled(wheel: Path) -> set[str]:
    """Return the compiled modules in a wheel."""
    names = zipfile.ZipFile(wheel).namelist()
    return {name for name in names if name.endswith((".so", ".pyd"))}


def test_without_a_compiler_the_wheel_is_for_all_platforms(
    wheel: Path, tools: Path, tmp_path: Path
) -> None:
    plain = build(tools, "wheel", ROOT, tmp_path, CC="/nonexistent")
    assert plain.name == f"bertviewer-{__version__}-py3-none-any.whl"
    assert not compiled(plain)
    assert contents(plain).keys() == contents(wheel).keys() - compiled(wheel)


def test_the_wheel_has_the_package_and_its_resources(wheel: Path) -> None:
    # The extension is compiled if there is a compiler, here as in the environment of the tests.
    assert len(compiled(wheel)) == is_compiled()
    is_for_all = wheel.name == f"bertviewer-{__version__}-py3-none-any.whl"
    assert is_for_all is not is_compiled()
    names = set(zipfile.ZipFile(wheel).namelist())
    # For type checkers of scripts.
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


def test_the_source_archive_builds_the_same_wheel(wheel: Path, tools: Path, tmp_path: Path) -> None:
    archive = build(tools, "sdist", ROOT, tmp_path)
    with tarfile.open(archive) as opened:
        names = {name.partition("/")[2] for name in opened.getnames()}
        opened.extractall(tmp_path, filter="data")
    assert {f"resources/{name}" for name in resource_files()} <= names
    assert {"LICENSE", "README.md", "main.py", "packaging/constraints.txt"} <= names
    unpacked = tmp_path / archive.name.removesuffix(".tar.gz")
    assert contents(build(tools, "wheel", unpacked, tmp_path)) == contents(wheel)


def contents(path: Path) -> dict[str, int]:
    with zipfile.ZipFile(path) as opened:
        return {entry.filename: entry.CRC for entry in opened.infolist()}


def required(names: list[str]) -> dict[str, Distribution]:
    """Return the installed distributions of requirements and of their requirements, by name."""
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
    """Install the wheel in an environment with its declared requirements and nothing else.

    Libraries are linked, as copying torch and Qt takes a minute. ``.ci/run`` installs them by pip.
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
    # The demo's files without the requirements of its package.
    for distribution in (*required(declared).values(), distribution_of(DEMO_PACKAGE)):
        for file in distribution.files or ():
            target, link = (
                Path(str(distribution.locate_file(file.parts[0]))),
                packages / file.parts[0],
            )
            if file.parts[0] not in ("..", "__pycache__") and not link.exists():
                link.symlink_to(target)
    return folder


def test_the_installed_wheel_works_outside_the_checkout(wheel: Path, tmp_path: Path) -> None:
    environment = fresh_environment(tmp_path / "environment", wheel)
    folder = tmp_path / "elsewhere"
    folder.mkdir()
    report = ["report", "demo", "-o", "out.pdf", "--sentence", "A test.", "--sections", "sentence"]
    output_of([environment / "bin" / "bertviewer", *report], folder, ENVIRONMENT)
    assert (folder / "out.pdf").read_bytes().startswith(b"%PDF")
    code = """
from bertviewer.app import main
from bertviewer.core.statistics.row_statistics import is_compiled
from bertviewer.core.util.files import resources_folder
print(resources_folder(), is_compiled())
main(["--version"])
"""
    printed = output_of([environment / "bin" / "python", "-c", code], folder, ENVIRONMENT)
    resources, is_fast, *version = printed.split()
    assert Path(resources).is_relative_to(environment)
    assert is_fast == str(is_compiled())
    assert version == ["bertviewer", __version__]


def test_a_checkout_has_its_resources() -> None:
    # The environment of the tests is an editable installation.
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
