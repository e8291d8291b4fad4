"""What is of another kind than it should be is one clear line, wherever it is passed."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import bertviewer

Ask = Callable[[bertviewer.Model, bertviewer.Run, Any], object]
TEXTS: dict[str, Ask] = {
    "path": lambda model, _, value: model.formula(value),
    "name": lambda model, _, value: model.tensor(value),
    "text": lambda model, _, value: model.run(value),
    "device": lambda model, _, value: model.run("a", device=value),
    "statistic": lambda _, run, value: run.figure("layers", statistic=value),
    "title": lambda model, _, value: model.report("a.json", title=value),
    "modules": lambda model, _, value: model.corpus("a.txt", folder="out", modules=value),
}
FILES: dict[str, Ask] = {
    "model": lambda _, __, value: bertviewer.open(value),
    "folder": lambda _, __, value: bertviewer.open_corpus(value),
    "left": lambda _, __, value: bertviewer.compare(value, "demo"),
    "file": lambda _, run, value: run.figure("norms").save(value),
    "data": lambda model, _, value: model.corpus(value, folder="out"),
}
OTHERS: dict[str, tuple[Any, Ask]] = {
    "call": ("0", lambda _, run, value: run.values("pooler", call=value)),
    "layer": (True, lambda _, run, value: run.attention(value)),
    "head": (1.5, lambda _, run, value: run.figure("attention", head=value)),
    "depth": ("1", lambda model, _, value: model.summary(depth=value)),
    "allow_pickle": ("no", lambda _, __, value: bertviewer.open("demo", allow_pickle=value)),
    "right": ("demo", lambda model, _, value: model.compare(value)),
    "against": ("a", lambda model, run, value: model.report("a.json", run, against=value)),
    "layers": ([1.5], lambda model, run, value: model.report("a.json", run, layers=value)),
    "sections": ("model", lambda model, _, value: model.report("a.json", sections=value)),
    "progress": ("x", lambda _, __, value: bertviewer.open("demo", progress=value)),
    "limit": ("3", lambda model, _, value: model.corpus("a.txt", folder="out", limit=value)),
}


@pytest.fixture(autouse=True)
def _somewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


@pytest.mark.parametrize("value", [None, b"demo", 3, ["a"], object()])
@pytest.mark.parametrize("name", [*TEXTS, *FILES])
def test_no_text(model: bertviewer.Model, run: bertviewer.Run, name: str, value: Any) -> None:
    words = f"^{name} must be .*, not {type(value).__name__}$"
    with pytest.raises(TypeError, match=words) as raised:
        {**TEXTS, **FILES}[name](model, run, value)
    assert len(str(raised.value)) < 120
    assert not list(Path().iterdir())


@pytest.mark.parametrize("value", ["a\0b", "a\ud800b"])
@pytest.mark.parametrize("name", FILES)
def test_what_no_file_is_called(
    model: bertviewer.Model, run: bertviewer.Run, name: str, value: str
) -> None:
    with pytest.raises(bertviewer.Error, match="is not a valid file name"):
        FILES[name](model, run, value)


@pytest.mark.parametrize("name", OTHERS)
def test_other_kinds(model: bertviewer.Model, run: bertviewer.Run, name: str) -> None:
    value, ask = OTHERS[name]
    with pytest.raises(TypeError, match=f"^{name} must be .*, not {type(value).__name__}$"):
        ask(model, run, value)
    assert not list(Path().iterdir())


def test_what_is_as_good(run: bertviewer.Run, tiny_bert_folder: Path) -> None:
    assert np.array_equal(run.attention(np.int64(1)), run.attention(1))  # type: ignore[arg-type]
    assert bertviewer.open(tiny_bert_folder, task=np.str_("base")).task == "base"


def test_no_module_of_a_figure(run: bertviewer.Run) -> None:
    with pytest.raises(bertviewer.Error, match="no module 'poler'"):
        run.figure("layers", path="poler")
