"""Before the flows are there: what the module tree can tell."""

from msgspec.structs import replace

from bertviewer.core.walkthrough.build import build_walkthrough
from tests.core.opened import plain
from tests.core.walkthrough.small_walkthroughs import flowing


def test_modules_stand_in_the_trees_order_under_their_own_names() -> None:
    walk = build_walkthrough(plain("bert-base-uncased"))
    assert [(part.title, [step.name for step in part.steps]) for part in walk.sections] == [
        ("Embeddings", ["embeddings"]),
        ("One layer", ["attention", "intermediate", "output"]),
        ("Other layers", ["Layers 1–11"]),
        ("After the layers", ["pooler"]),
    ]
    assert not any(part.is_executed for part in walk.sections)
    assert walk.reconciles
    assert (walk.sections[1].times, walk.sections[1].parameters) == (12, 7_087_872)


def test_a_tied_head_says_so() -> None:
    head = build_walkthrough(plain("bert-base-uncased", "masked-lm")).steps[-1]
    assert (head.path, head.count.parameters) == ("cls", 622_650)
    assert head.note.startswith("Tied to bert.embeddings.word_embeddings.weight")


def test_of_a_checkpoint_alone_the_names_are_known() -> None:
    bare = replace(plain("bert-base-uncased"), config={})
    assert build_walkthrough(bare).sections[0].title == "Modules by name"


def test_a_pass_that_stopped_leaves_the_tree() -> None:
    architecture = flowing("bert-base-uncased")
    assert architecture.flows is not None
    distinct = {path: flow for path, flow in architecture.flows.distinct.items() if path}
    stopped = replace(architecture, flows=replace(architecture.flows, distinct=distinct))
    walk = build_walkthrough(stopped)
    assert walk.reconciles
    assert not any(part.is_executed for part in walk.sections)
