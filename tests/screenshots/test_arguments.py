"""What is no folder or no chapter is said, and nothing is made of it."""

from pathlib import Path

import pytest

from tests.screenshots.__main__ import main


@pytest.mark.parametrize(
    ("arguments", "status"), [(["--help"], 0), (["--unknown"], 2), (["folder", "no chapter"], 2)]
)
def test_nothing_is_made(
    arguments: list[str], status: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(SystemExit) as ended:
        main(arguments)
    assert ended.value.code == status
    assert not list(tmp_path.iterdir())
