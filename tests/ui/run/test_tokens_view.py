"""Tokens view: the sentence as a vector next to unrelated ones, and padded."""

import pytest
from PySide6.QtWidgets import QSpinBox, QTabBar, QTableView

from bertviewer.core.util.errors import UserError
from bertviewer.ui.run import jobs
from bertviewer.ui.state.pages import Page
from tests.ui.run.conftest import MakeView
from tests.ui.run.view_harness import PanelHarness, ViewHarness

FIRST, SECOND = "The bank raised its rates.", "The lender increased interest."


@pytest.fixture
def view(demo_view: MakeView) -> ViewHarness:
    """Return the page of sentence vectors, without a run."""
    view = demo_view(Page.TOKENS)
    view.find(QTabBar, "tokensSwitch").setCurrentIndex(1)
    return view


def rows(view: ViewHarness, table: str) -> list[list[str]]:
    return [[cell.text for cell in row] for row in view.table(table).rows]


def test_both_sentences_of_a_pair_are_compared_and_padded(view: ViewHarness) -> None:
    run = view.run(FIRST, SECOND).run
    vectors = rows(view, "sentenceTable")
    assert [row[0] for row in vectors] == [
        *("[CLS]", "pooled", "mean of all tokens (this model’s own)")
    ]
    # Their meanings are more similar than those of any two unrelated sentences.
    assert all(row[1].is_bold for row in view.table("sentenceTable").rows)
    assert vectors[2][1] == "0.667"
    assert "66 pairs of 12 plain sentences" in view.text("sentenceWords")
    assert SECOND in view.text("sentenceWhich")
    padding = rows(view, "paddingTable")
    assert [row[0] for row in padding] == ["emb", "0", "1", "2", "3", "4", "5"]
    assert {row[3] for row in padding[1:]} == {"0"}
    assert all(row[4].endswith("%") for row in padding[1:])
    assert "The vectors of padding are not zero" in view.text("paddingWords")
    assert view.is_visible("pairMask")
    length, count = view.find(QSpinBox, "paddedLength"), len(run.tokens)
    assert (length.minimum(), length.maximum()) == (count + 1, 512)
    length.setValue(50)
    view.settle()
    assert f"{50 - count} zeros)" in view.text("paddingWords")


def test_a_single_sentence_is_compared_with_the_baseline(view: ViewHarness) -> None:
    view.run(SECOND)
    assert view.text("sentenceWords").startswith("Add a second sentence")
    assert not view.is_visible("sentenceTable")
    assert not view.is_visible("pairMask")
    view.keep()
    view.run(FIRST)
    assert rows(view, "sentenceTable")[2][1] == "0.667"


def test_errors_replace_the_tables(view: ViewHarness, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> None:
        raise UserError("not enough memory")

    monkeypatch.setattr(jobs, "padding_job", fail)
    monkeypatch.setattr(jobs, "compare_sentences_job", fail)
    view.run(FIRST, SECOND)
    for label, table in (("sentenceWords", "sentenceTable"), ("paddingWords", "paddingTable")):
        assert view.text(label) == "Not enough memory"
        assert not view.find(QTableView, table).isVisible()


def test_the_similarity_view_leads_to_the_sentence_vectors(panel: PanelHarness) -> None:
    panel.run(FIRST, SECOND)
    panel.bring(Page.SIMILARITY)
    panel.click("wholeSentences")
    assert panel.views.shown == Page.TOKENS
    assert panel.find(QTabBar, "tokensSwitch").currentIndex() == 1
