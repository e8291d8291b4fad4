"""Numbers, heads and symbols of a model as results of the palette."""

from collections.abc import Iterator

import pytest
from msgspec.structs import replace

from bertviewer.ui.palette import topics
from bertviewer.ui.palette.topics import plain_symbol
from bertviewer.ui.run import views
from bertviewer.ui.state.pages import RUN_PAGES
from bertviewer.ui.state.workspace import Workspace
from tests.core.opened import derived
from tests.ui.direct_worker import DirectWorker


@pytest.fixture
def workspace(qapp: object) -> Iterator[Workspace]:
    worker = DirectWorker()
    yield Workspace(worker)
    assert worker.stop(10)


def test_figures_that_are_being_derived(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    early = replace(derived("bert-base-uncased"), costs=None, flows=None)
    monkeypatch.setattr(Workspace, "is_deriving", True)
    found = {topic.name: topic.about for topic in topics.figures(early, None, workspace)}
    assert found["most expensive part"] == found["causal attention"] == "being derived…"


def test_each_stack_is_causal_or_not(workspace: Workspace) -> None:
    for name, causal in (("gpt2", ["yes"]), ("transformer-base", ["no", "yes"])):
        found = topics.figures(derived(name), None, workspace)
        about = [topic.about for topic in found if topic.name == "causal attention"]
        assert [each.partition(":")[0] for each in about] == causal


def test_heads_of_one_attention_come_first(workspace: Workspace) -> None:
    first = "encoder.layer.3.attention.self"
    found = list(topics.heads(derived("bert-base-uncased"), workspace, first))
    assert len(found) == 12 * 12
    assert {topic.about for topic in found[:12]} == {first}
    assert found[0].name == "layer 3, head 0"
    assert found[12].name == "layer 0, head 0"


def test_symbols_and_views() -> None:
    assert plain_symbol('W_"word"') == "W_word"
    assert plain_symbol('op("GELU"_"tanh")') == "GELU_tanh"
    assert plain_symbol("W_Q^top") == "W_Qᵀ"
    assert plain_symbol("italic(x)") == "x"
    assert tuple(kind.title for kind in views.VIEWS) == RUN_PAGES
