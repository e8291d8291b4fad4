"""The heads that a model can be opened with."""

from msgspec import Struct

from bertviewer.core.util.errors import UserError


class Task(Struct, frozen=True):
    """A head that a model can be opened with.

    Attributes:
        name: on the command line.
        auto_class: the transformers class that builds it.
        title: in the window.
        variant: another such class, for families that ``auto_class`` does not have and for
            configurations whose ``architectures`` names one of its classes.
    """

    name: str
    auto_class: str
    title: str
    variant: str = ""


AUTO = Task("auto", "", "As saved")
"""The head that a checkpoint was saved with: one of ``TASKS`` once the model is open."""

TASKS = (
    Task("base", "AutoModel", "Base model, no head", "AutoModelForTextEncoding"),
    Task("masked-lm", "AutoModelForMaskedLM", "Masked language modelling"),
    Task("causal-lm", "AutoModelForCausalLM", "Causal language modelling"),
    Task(
        "sequence-classification", "AutoModelForSequenceClassification", "Sequence classification"
    ),
    Task("pretraining", "AutoModelForPreTraining", "Pretraining", "AutoModelForSeq2SeqLM"),
    Task("token-classification", "AutoModelForTokenClassification", "Token classification"),
    Task("question-answering", "AutoModelForQuestionAnswering", "Question answering"),
    Task("next-sentence", "AutoModelForNextSentencePrediction", "Next sentence prediction"),
)


BASE = TASKS[0]
TASK_NAMES = tuple(task.name for task in (AUTO, *TASKS))
"""What a person may write."""


def find_task(name: str) -> Task:
    """Return the task of that name, ``AUTO`` included.

    Raises:
        UserError: there is none.
    """
    for task in (AUTO, *TASKS):
        if task.name == name:
            return task
    raise UserError(f"unknown task {name!r}; choose one of: {', '.join(TASK_NAMES)}")
