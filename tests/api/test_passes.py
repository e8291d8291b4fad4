"""The number of forward passes of commands and scripts."""

from pathlib import Path
from typing import Any

import pytest

import bertviewer
from bertviewer.app import main
from bertviewer.core.building.backend import torch

Passes = list[str]


@pytest.fixture
def passes(monkeypatch: pytest.MonkeyPatch) -> Passes:
    """Return the classes of the modules that are called outside of other modules."""
    found: Passes = []
    depth = 0
    call = torch.nn.Module.__call__

    def counted(module: Any, *args: Any, **kwargs: Any) -> Any:
        nonlocal depth
        # Lengths of texts are measured on the meta device.
        if not depth and not any(it.is_meta for it in module.parameters()):
            found.append(type(module).__name__)
        depth += 1
        try:
            return call(module, *args, **kwargs)
        finally:
            depth -= 1

    monkeypatch.setattr(torch.nn.Module, "__call__", counted)
    return found


RUN = "BertModel"
CHECK = ["BertModel"] * 2 + ["BertSelfAttention"] * 2
"""The reference instance, the model with eager attention, and the reference's attentions."""


def test_commands(
    passes: Passes, tiny_bert_folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    model = str(tiny_bert_folder)
    for command in (("summary", model), ("flow", model), ("flow", model, "pooler")):
        assert main(command) == 0
        passes.clear()  # of deriving formulas
        assert main(command) == 0
        assert not passes
    assert main(("run", model, "the cat sat")) == 0
    assert passes == [RUN]
    passes.clear()
    assert main(("run", model, "the cat sat", "--check")) == 0
    assert passes == [RUN, *CHECK]
    assert capsys.readouterr().err == ""


@pytest.mark.usefixtures("qapp")
def test_reports(passes: Passes, tiny_bert_folder: Path, tmp_path: Path) -> None:
    command = ("report", str(tiny_bert_folder), "--sentence=the cat", "--sections=checks", "-o")
    assert main(("summary", str(tiny_bert_folder), "--format", "json")) == 0
    passes.clear()
    assert main((*command, str(tmp_path / "a.json"))) == 0
    plain = [*passes]
    # The run, the histogram, and three with another attention for padding.
    assert plain.count(RUN) == 5
    passes.clear()
    assert main((*command, str(tmp_path / "b.json"), "--check")) == 0
    assert passes.count(RUN) == plain.count(RUN) + CHECK.count(RUN)


def test_a_check_in_the_same_pass_equals_a_later_one(
    passes: Passes, model: bertviewer.Model
) -> None:
    run = model.run("the cat sat", "on the mat", check=True)
    assert passes == [RUN, *CHECK]
    later = model.run("the cat sat", "on the mat")
    steps = later.check()
    assert run.data.check == later.data.check
    assert run.checked == later.checked == (True, ())
    assert run.check("pooler") == [step for step in steps if step["path"] == "pooler"]
    kept, other = run.context.cached.cache, later.context.cached.cache
    assert kept.calls.keys() == other.calls.keys()
    assert kept.bytes == other.bytes
    assert all(call.is_intact for calls in kept.calls.values() for call in calls)
    assert (run.attention(1) == later.attention(1)).all()
