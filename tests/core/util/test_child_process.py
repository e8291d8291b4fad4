"""Processes of the program's own: what they are started with, and what holds them."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from bertviewer.app import main
from bertviewer.core.checkpoints import PICKLE_CHILD
from bertviewer.core.pickles import child as pickle_child
from bertviewer.core.util import child_process


def test_secrets_stay_here(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_TOKEN", "hf_secret")
    assert "hf_secret" not in str(child_process.environment())


def test_a_bundle_calls_itself(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(sys, "frozen", True, raising=False)
    monkeypatch.setattr(sys, "executable", "/opt/bertviewer/bertviewer")
    command = child_process.command(PICKLE_CHILD, [str(tmp_path / "a"), str(tmp_path / "b")])
    assert command[:2] == ["/opt/bertviewer/bertviewer", PICKLE_CHILD]
    called: list[list[str]] = []

    def converted(given: list[str]) -> int:
        called.append(given)
        return 0

    monkeypatch.setattr(pickle_child, "main", converted)
    assert main(command[1:]) == 0
    assert called == [[str(tmp_path / "a"), str(tmp_path / "b")]]


def held(code: str, roots: list[Path]) -> str:
    """Run code in a process that may read Python's own files and those in ``roots`` alone."""
    script = (
        "import sys\nfrom pathlib import Path\n"
        "from bertviewer.core.util.child_process import forbid, forbid_reading\n"
        f"sys.addaudithook(forbid)\nforbid_reading({[str(root) for root in roots]!r})\n{code}"
    )
    done = subprocess.run(
        [sys.executable, "-c", script],
        env=child_process.environment(),
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    return done.stdout.strip() if done.returncode == 0 else done.stderr.splitlines()[-1]


def test_only_what_it_was_given_can_be_read(tmp_path: Path) -> None:
    inside, outside = tmp_path / "in", tmp_path / "out"
    for folder in (inside, outside):
        folder.mkdir()
        (folder / "file").write_text("read")
    (inside / "link").symlink_to(outside / "file")
    assert held(f"print(Path({str(inside / 'file')!r}).read_text())", [inside]) == "read"
    assert held("import colorsys; print(colorsys.rgb_to_hls(0, 0, 0)[0])", [inside]) == "0.0"
    refused = "bertviewer.core.util.child_process.ForbiddenError: open"
    for path in (outside / "file", inside / "link", inside / ".." / "out" / "file", "/etc/passwd"):
        assert held(f"open({str(path)!r})", [inside]).startswith(refused)
    assert held("open(0)", [inside]).startswith(refused)


def test_an_installation_may_be_made_of_links(tmp_path: Path) -> None:
    library = tmp_path / "library"
    library.mkdir()
    (tmp_path / "module.py").write_text("WORD = 'read'")
    (library / "linked.py").symlink_to(tmp_path / "module.py")
    looked_up = f"import sys; sys.path.insert(0, {str(library)!r})"
    code = f"{looked_up}\nfrom pathlib import Path\n"
    code += "import bertviewer.core.util.child_process as it\n"
    code += "it.forbid_reading([])\nimport linked\nprint(linked.WORD)"
    done = subprocess.run(
        [sys.executable, "-c", code],
        env=child_process.environment(),
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert (done.stdout.strip(), done.returncode) == ("read", 0), done.stderr


@pytest.mark.parametrize(
    ("code", "said"),
    [
        ("import socket; socket.socket()", "socket.__new__"),
        ("import os; os.system('true')", "os.system"),
        ("import subprocess; subprocess.run(['true'])", "subprocess.Popen"),
        (f"open({str(Path(os.devnull))!r}, 'w')", "open"),
    ],
)
def test_what_is_forbidden(code: str, said: str, tmp_path: Path) -> None:
    assert said in held(code, [tmp_path])
