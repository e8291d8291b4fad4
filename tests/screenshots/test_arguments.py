"""Arguments of the command: invalid ones write nothing."""

from pathlib import Path

import pytest

from tests.screenshots.__main__ import main


@pytest.mark.parametrize(
    ("arguments", "status"), [(["--help"], 0), (["--unknown"], 2), (["folder", "no chapter"], 2)]
)
def test_invalid_arguments_write_nothing(
    arguments: list[str], status: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(SystemExit) as ended:
        main(arguments)
    assert ended.value.code == status
    assert not list(tmp_path.iterdir())
