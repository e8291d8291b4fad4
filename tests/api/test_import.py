"""``import bertviewer``: what comes with it, what it names, and that its types are known."""

import ast
import os
import subprocess
import sys
from pathlib import Path

import pytest

import bertviewer
from tests.cli.commands import ROOT, python_of

HEAVY = ("torch", "transformers", "tokenizers", "numpy", "sympy", "PySide6", "typst")
LOOK = f"print([name for name in {HEAVY!r} if name in sys.modules])"


def printed(folder: Path, *lines: str) -> list[str]:
    result = python_of(folder, "-c", "\n".join(("import sys", *lines)))
    assert (result.returncode, result.stderr) == (0, "")
    return result.stdout.splitlines()


def test_nothing_heavy_comes_before_a_model_is_open(tmp_path: Path) -> None:
    assert printed(
        tmp_path,
        "import bertviewer",
        "sorted(map(str, dir(bertviewer)))",
        "bertviewer.presets(), bertviewer.Error, bertviewer.__version__",
        LOOK,
    ) == ["[]"]


def test_a_model_that_was_seen_needs_neither_torch_nor_qt(tmp_path: Path) -> None:
    lines = (
        "import bertviewer",
        'model = bertviewer.open("demo")',
        "model.summary(), model.modules(), model.parameters(), model.formula().latex",
        'model.flow("encoder.layer.0"), model.tensor("pooler.dense.bias")',
        "model._repr_html_()",
        "print([name for name in ('torch', 'transformers', 'PySide6') if name in sys.modules])",
    )
    assert printed(tmp_path, *lines) == ["[]"]


def test_all_names_are_there_and_have_types() -> None:
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


def test_a_script_is_checked_by_strict_types(tmp_path: Path) -> None:
    (tmp_path / "good.py").write_text(USER, encoding="utf-8")
    (tmp_path / "wrong.py").write_text(WRONG, encoding="utf-8")
    # To read torch takes a minute, and there is nothing of it in what a script sees.
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
