"""A run has the values of torch, and prints what the command prints."""

import json
from pathlib import Path
from typing import Any, get_args

import numpy as np
import pytest

import bertviewer
from bertviewer.api.pictures import FigureName
from bertviewer.app import main
from bertviewer.core.building.backend import torch, transformers

SELF = "encoder.layer.1.attention.self"


def test_tables_are_those_of_the_command(
    run: bertviewer.Run, tiny_bert_folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    pair = ("--pair", "on the mat", "--check", "--format", "json")
    assert main(["run", str(tiny_bert_folder), "the cat sat", *pair]) == 0
    printed = json.loads(capsys.readouterr().out)
    texts = {"not_measured": "", "macs_reason": ""}
    assert run.statistics() == [
        row | {key: text for key, text in texts.items() if row[key] is None}
        for row in printed["modules"]
    ]
    assert run.tokens == printed["tokens"]
    assert run.check() == printed["check"]
    assert run.unchecked() == printed["unchecked"]


def test_values_are_those_of_a_forward_hook(run: bertviewer.Run, tiny_bert_folder: Path) -> None:
    module = transformers.BertModel.from_pretrained(tiny_bert_folder).eval()
    seen: list[Any] = []
    inner = module.get_submodule(SELF)
    inner.register_forward_hook(lambda _m, args, output: seen.append((args, output)))
    ids = torch.tensor([[token["id"] for token in run.tokens]])
    types = torch.tensor([[token["segment"] for token in run.tokens]])
    with torch.no_grad():
        module(input_ids=ids, token_type_ids=types, attention_mask=torch.ones_like(ids))
    ((args, output),) = seen
    values = run.values(SELF)
    assert np.array_equal(values.took["hidden_states"], args[0].numpy())
    assert np.array_equal(values.gave["output.0"], output[0].numpy())
    whole = run.values()
    assert np.array_equal(whole.took["input_ids"], ids.numpy())
    assert np.array_equal(whole.gave["last_hidden_state"][0], run.hidden_states[-1])


def test_attention(run: bertviewer.Run, random_run: bertviewer.Run) -> None:
    tokens = len(run.tokens)
    found = run.attention(1)
    assert found.shape == (4, tokens, tokens)
    assert np.allclose(found.sum(axis=-1), 1, atol=1e-5)
    assert np.array_equal(found, run.attention(SELF))
    assert [row["layer"] for row in run.attentions()] == [0, 1]
    with pytest.raises(bertviewer.Error, match="several attentions; name one by its path"):
        random_run.attention(0)
    for row in random_run.attentions()[:2]:
        assert random_run.attention(row["path"]).ndim == 3


def test_a_check_of_one_module(model: bertviewer.Model) -> None:
    run = model.run("the cat")
    steps = run.check("pooler")
    assert steps
    assert all(step["ok"] and step["path"] == "pooler" for step in steps)
    assert run.data.check is not None
    assert [step.to_json() for step in run.data.check.steps] == steps


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda run: run.attention(7), "no attention 7"),
        (lambda run: run.attention("pooler"), "no attention 'pooler'"),
        (lambda run: run.values("poler"), "did you mean pooler"),
        (lambda run: run.values("pooler", call=3), "has no call 3"),
        (lambda run: run.check("nothing"), "no module 'nothing'"),
        (lambda run: run.figure("nothing"), "no figure 'nothing'"),
        (lambda run: run.figure("attention", head=4), "no head 4; available: 0 to 3"),
        (lambda run: run.figure("similarity", state=9), "no hidden state 9"),
        (lambda run: run.figure("layers", statistic="sum"), "unknown statistic 'sum'"),
        (lambda run: run.figure("layers", path="poler"), "no module 'poler'"),
        (lambda run: run.figure("norms").save("a.doc"), "is written as"),
        (lambda run: run.figure("norms").dot(), "has no .dot"),
    ],
)
def test_unknown_names_and_numbers(run: bertviewer.Run, call: Any, words: str) -> None:
    with pytest.raises(bertviewer.Error, match=words):
        call(run)


def test_unknown_devices(model: bertviewer.Model) -> None:
    with pytest.raises(bertviewer.Error, match=r"no device 'cuda:97' here, but cpu"):
        model.run("the cat", device="cuda:97")


@pytest.mark.usefixtures("_drawn_here")
@pytest.mark.parametrize("name", get_args(FigureName))
def test_figures_in_all_formats(
    run: bertviewer.Run, random_run: bertviewer.Run, name: Any, tmp_path: Path
) -> None:
    figure = run.figure(name)
    starts = {".svg": b"<svg", ".pdf": b"%PDF", ".png": b"\x89PNG", ".csv": b""}
    assert set(figure.endings) == set(starts)
    for ending, start in starts.items():
        path = figure.save(tmp_path / f"figure{ending}")
        assert path.read_bytes().startswith(start)
        assert path.stat().st_size > 50
    assert repr(figure) == f"<bertviewer.Figure {name!r}>"
    assert figure._repr_svg_() == (tmp_path / "figure.svg").read_text(encoding="utf-8")
    assert random_run.is_random
    random = random_run.figure(name, layer=random_run.attentions()[0]["path"])
    assert "random weights" in random.csv().partition("\n")[0]
    assert "random weights" in random.svg()


def test_files_of_the_model_are_not_replaced(run: bertviewer.Run, tiny_bert_folder: Path) -> None:
    before = (tiny_bert_folder / "config.json").read_bytes()
    file = tiny_bert_folder / "model.csv"
    file.symlink_to("config.json")
    try:
        with pytest.raises(bertviewer.Error, match="cannot write"):
            run.figure("norms").save(file)
    finally:
        file.unlink()
    assert (tiny_bert_folder / "config.json").read_bytes() == before


def test_saved_runs(run: bertviewer.Run, saved_runs: Path) -> None:
    last, run_a = bertviewer.open(saved_runs).saved_runs()
    assert last.statistics() == run.statistics()
    assert run_a is not None
    assert run_a.text == "the cat"
    with pytest.raises(bertviewer.Error, match="loaded from a file"):
        last.values("pooler")


def test_tables_can_be_converted_to_arrow(model: bertviewer.Model, run: bertviewer.Run) -> None:
    arrow = pytest.importorskip("pyarrow")
    tables = (run.statistics(), run.tokens, run.attentions(), run.check("pooler"))
    for rows in (*tables, model.modules(), model.parameters(), model.compare(model).tensors()):
        table = arrow.Table.from_pylist(rows)
        assert table.num_rows == len(rows)
        assert table.column_names == list(rows[0])
