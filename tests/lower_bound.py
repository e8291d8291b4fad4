"""Tries the lowest transformers that pyproject.toml allows: python -m tests.lower_bound.

It is installed into a temporary folder, all else stays as it is here, and the tests that build,
read and run models are carried out with it. ``--keep FOLDER`` keeps it for the next time.
"""

import argparse
import os
import subprocess
import sys
import tempfile
import tomllib
from pathlib import Path

from packaging.requirements import Requirement

ROOT = Path(__file__).parents[1]
TESTS = (
    "tests/core/building/test_models.py",
    "tests/core/building/test_configurations.py",
    "tests/core/sources/test_configuration.py",
    "tests/core/loading/test_inspection.py",
    "tests/core/runs/test_running.py",
    "tests/core/tokenization/test_tokenization.py",
    "tests/core/tokenization/test_kinds.py",
    "tests/core/checks/test_families.py",
    "tests/core/loading/test_pretrained.py",
    "tests/core/symbolic/test_counts.py",
)
OTHERWISE = {
    "tests/core/runs/test_running.py::test_a_model_without_layers_runs": (
        "before 5.23 a BERT of no layers gives its embeddings as a hidden state"
    )
}
"""What is so with the newest alone, and does no harm."""
# Of torch's, at the import of DeBERTa before 5.23; the program shows no warnings of libraries.
QUIET = ("-W", "ignore:`torch.jit.script` is deprecated:DeprecationWarning")


def lowest(name: str) -> str:
    """Return the lower bound of a dependency."""
    with (ROOT / "pyproject.toml").open("rb") as file:
        declared = map(Requirement, tomllib.load(file)["project"]["dependencies"])
    (bound,) = (
        part.version
        for requirement in declared
        if requirement.name == name
        for part in requirement.specifier
        if part.operator == ">="
    )
    return bound


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.lower_bound", description=__doc__)
    parser.add_argument("--keep", type=Path, metavar="FOLDER")
    keep = parser.parse_args().keep
    version = lowest("transformers")
    with tempfile.TemporaryDirectory() as temporary:
        folder = keep or Path(temporary)
        if not (folder / "transformers").is_dir():
            pip = [
                sys.executable,
                "-m",
                "pip",
                "install",
                "-q",
                "--no-deps",
                "--target",
                str(folder),
            ]
            subprocess.run([*pip, f"transformers=={version}"], check=True)
        environment = {**os.environ, "PYTHONPATH": str(folder)}
        asked = "import transformers; print(transformers.__version__)"
        subprocess.run([sys.executable, "-c", asked], env=environment, check=True, cwd=folder)
        pytest = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *QUIET, *TESTS]
        pytest += [f"--deselect={name}" for name in OTHERWISE]
        return subprocess.run(pytest, env=environment, check=False, cwd=ROOT).returncode


if __name__ == "__main__":
    raise SystemExit(main())
