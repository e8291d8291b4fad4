"""What is only half written is no longer there when the program is left."""

from pathlib import Path

from bertviewer.core.util.files import take_unfinished_away, unfinished


def test_what_is_being_written_is_taken_away_and_what_is_done_stays(tmp_path: Path) -> None:
    done, file, folder = (tmp_path / name for name in ("done", "file", "folder"))
    with unfinished(done):
        done.write_text("all of it")
    folder.mkdir()
    with unfinished(file), unfinished(folder), unfinished(tmp_path / "never made"):
        file.write_text("half of it")
        (folder / "part").write_text("half of it")
        take_unfinished_away()
        assert list(tmp_path.iterdir()) == [done]
