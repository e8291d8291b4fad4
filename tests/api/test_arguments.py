"""Arguments of wrong types raise an error of one line."""

from collections.abc import Callable
from inspect import isfunction, signature
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import bertviewer

Call = Callable[[bertviewer.Model, bertviewer.Run, Any], object]
CALLS: tuple[tuple[str, Any, Call], ...] = (
    ("model", None, lambda _, __, value: bertviewer.open(value)),
    ("path", 3, lambda model, _, value: model.formula(value)),
    ("device", b"cpu", lambda model, _, value: model.run("a", device=value)),
    ("statistic", ["a"], lambda _, run, value: run.figure("layers", statistic=value)),
    ("file", object(), lambda _, run, value: run.figure("norms").save(value)),
    ("data", b"a.txt", lambda model, _, value: model.corpus(value, folder="out")),
    ("call", "0", lambda _, run, value: run.values("pooler", call=value)),
    ("layer", True, lambda _, run, value: run.attention(value)),
    ("head", 1.5, lambda _, run, value: run.figure("attention", head=value)),
    ("depth", "1", lambda model, _, value: model.summary(depth=value)),
    ("allow_pickle", "no", lambda _, __, value: bertviewer.open("demo", allow_pickle=value)),
    ("right", "demo", lambda model, _, value: model.compare(value)),
    ("against", "a", lambda model, run, value: model.report("a.json", run, against=value)),
    ("layers", [1.5], lambda model, run, value: model.report("a.json", run, layers=value)),
    ("sections", "model", lambda model, _, value: model.report("a.json", sections=value)),
    ("progress", "x", lambda _, __, value: bertviewer.open("demo", progress=value)),
)


@pytest.mark.parametrize(("name", "value", "call"), CALLS, ids=[name for name, *_ in CALLS])
def test_a_wrong_type_is_named(  # noqa: PLR0917
    model: bertviewer.Model,
    run: bertviewer.Run,
    name: str,
    value: Any,
    call: Call,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    words = f"^{name} must be .*, not {type(value).__name__}$"
    with pytest.raises(TypeError, match=words) as raised:
        call(model, run, value)
    assert len(str(raised.value)) < 120
    assert not list(tmp_path.iterdir())


def test_all_functions_with_arguments_check_them() -> None:
    classes = (bertviewer.Model, bertviewer.Run, bertviewer.Corpus, bertviewer.Figure)
    functions: list[Any] = [bertviewer.open, bertviewer.compare, bertviewer.open_corpus]
    functions += [getattr(each, name) for each in classes for name in vars(each) if name[0] != "_"]
    for function in functions:
        if isfunction(function) and len(signature(function).parameters) > 1:
            assert hasattr(function, "__wrapped__"), function


def test_impossible_file_names(run: bertviewer.Run) -> None:
    for value in ("a\0b", "a\ud800b"):
        for call in (bertviewer.open, bertviewer.open_corpus, run.figure("norms").save):
            with pytest.raises(bertviewer.Error, match="is not a valid file name"):
                call(value)


def test_numpy_values_are_accepted(run: bertviewer.Run, tiny_bert_folder: Path) -> None:
    assert np.array_equal(run.attention(np.int64(1)), run.attention(1))  # type: ignore[arg-type]
    assert bertviewer.open(tiny_bert_folder, task=np.str_("base")).task == "base"
