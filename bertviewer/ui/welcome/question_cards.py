"""The questions as cards."""

from collections.abc import Iterator

from bertviewer.ui.tips import plain_tip
from bertviewer.ui.translation import translate
from bertviewer.ui.welcome.asking import Asking
from bertviewer.ui.welcome.card import Card
from bertviewer.ui.welcome.questions import QUESTIONS, Question


class QuestionCard(Card):
    """A question, the sentence that is run for it, and what is looked at."""

    def __init__(self, question: Question) -> None:
        title, hint = (translate("questions", text) for text in (question.title, question.hint))
        sentence = question.sentence
        texts = " ↔ ".join(f"“{text}”" for text in (sentence.text, sentence.pair) if text)
        super().__init__(question.name, title, f"{hint}. {texts}")
        self.setToolTip(plain_tip(texts))
        self.add_text(title, is_title=True)
        self.add_text(hint)
        self.add_text(texts)


def question_cards(asking: Asking, lacking: str) -> Iterator[QuestionCard]:
    """Yield the cards; ``lacking`` is why they cannot be asked, empty if they can."""
    for question in QUESTIONS:
        card = QuestionCard(question)
        card.setEnabled(not lacking)
        if lacking:
            card.setToolTip(plain_tip(lacking))
        card.clicked.connect(lambda _=False, question=question: asking.ask(question))
        yield card
