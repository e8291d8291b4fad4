"""``import bertviewer``: its names, types and examples, and what it imports."""

import ast
import doctest
import os
import subprocess
import sys
from importlib import import_module
from pathlib import Path
from types import ModuleType

import pytest

import bertviewer
from tests.cli.commands import ROOT, python_of

HEAVY = ("torch", "transformers", "tokenizers", "numpy", "sympy", "PySide6", "typst")
MODULES = [
    bertviewer,
    *(
        import_module(f"bertviewer.api.{name}")
        for name in (
            "comparison",
            "corpus",
            "errors",
            "figure",
            "formula",
            "model",
            "opening",
            "run",
        )
    ),
]


def test_libraries_are_imported_when_needed(tmp_path: Path) -> None:
    code = f"""
import sys
import bertviewer
sorted(map(str, dir(bertviewer)))
bertviewer.presets(), bertviewer.Error, bertviewer.__version__
print([name for name in {HEAVY!r} if name in sys.modules])
model = bertviewer.open("demo")
model.summary(), model.modules(), model.parameters(), model.formula().latex
model.flow("encoder.layer.0"), model.tensor("pooler.dense.bias")
model._repr_html_()
print([name for name in ("torch", "transformers", "PySide6") if name in sys.modules])
"""
    result = python_of(tmp_path, "-c", code)
    assert (result.returncode, result.stdout, result.stderr) == (0, "[]\n[]\n", "")


def test_all_names_exist_and_have_types() -> None:
    stub = ast.parse((ROOT / "bertviewer" / "__init__.pyi").read_text(encoding="utf-8"))
    typed = {
        alias.name: str(node.module)
        for node in stub.body
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }
    assert sorted([*typed, "__version__"]) == sorted(bertviewer.__all__)
    for name, home in typed.items():
        found = getattr(bertviewer, name)
        assert found.__module__ in (home, "bertviewer")
        assert found.__doc__
    with pytest.raises(AttributeError, match="has no attribute 'nothing'"):
        _ = bertviewer.nothing  # type: ignore[attr-defined]


@pytest.mark.parametrize("module", MODULES, ids=lambda module: module.__name__)
def test_examples_in_docstrings(
    module: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert not doctest.testmod(module).failed


def test_the_main_classes_have_examples() -> None:
    finder = doctest.DocTestFinder(exclude_empty=True)
    found = [test for module in MODULES for test in finder.find(module) if test.examples]
    names = {test.name.rpartition(".")[2] for test in found}
    assert names >= {"bertviewer", "Model", "Run", "Corpus", "Formula", "Figure"}


USER = """\
import bertviewer


def norms(name: str) -> list[float]:
    model: bertviewer.Model = bertviewer.open(name, progress=lambda done, total, label: None)
    run = model.run("Hello, BERT.", pair=None, random_weights=True)
    took, gave = run.values("pooler")
    figure: bertviewer.Figure = run.figure("layers", statistic="rms")
    figure.save("a.svg")
    model.report("a.pdf", run, layers=[0, 1])
    text: str | None = model.formula("pooler").text
    print(text, took["hidden_states"].shape, bertviewer.compare(model, "gpt2").counts)
    return [row["rms"] for row in run.statistics()]


try:
    norms("demo")
except bertviewer.Error as error:
    print(error)
"""
WRONG = USER + '\nbertviewer.open("demo").run("a", "b", True)\nbertviewer.open(3)\n'


def test_mypy_checks_scripts_strictly(tmp_path: Path) -> None:
    (tmp_path / "good.py").write_text(USER, encoding="utf-8")
    (tmp_path / "wrong.py").write_text(WRONG, encoding="utf-8")
    # To read torch takes a minute, and the types that a script sees do not need it.
    others = ",".join(f"{name}.*" for name in HEAVY if name != "numpy")
    (tmp_path / "mypy.ini").write_text(f"[mypy]\n[mypy-{others}]\nfollow_imports = skip\n")
    command = [sys.executable, "-m", "mypy", "--strict", "--follow-imports=silent"]
    command += ["--config-file", "mypy.ini", "--cache-dir", "cache"]
    result = subprocess.run(
        [*command, "good.py", "wrong.py"],
        cwd=tmp_path,
        env={**os.environ, "MYPYPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=False,
    )
    lines = result.stdout.splitlines()
    errors = [line.partition(": error: ") for line in lines if ": error: " in line]
    assert [place for place, _, _ in errors] == ["wrong.py:21", "wrong.py:22"]
    assert "Too many positional arguments" in errors[0][2]
    assert 'incompatible type "int"' in errors[1][2]
