"""Endings of classes that many families share: models with a head, and the heads themselves."""

from bertviewer.core.families.family import Descriptions
from bertviewer.core.families.module_kind import ModuleKind

TASK_MODELS: Descriptions = {
    "ForMaskedLM": ModuleKind.MASKED_LANGUAGE_MODEL,
    "LMHeadModel": ModuleKind.CAUSAL_LANGUAGE_MODEL,
    "ForCausalLM": ModuleKind.CAUSAL_LANGUAGE_MODEL,
    "ForConditionalGeneration": ModuleKind.CAUSAL_LANGUAGE_MODEL,
    "ForSequenceClassification": ModuleKind.SEQUENCE_CLASSIFIER,
    "ForTokenClassification": ModuleKind.TOKEN_CLASSIFIER,
    "ForQuestionAnswering": ModuleKind.ANSWER_FINDER,
}
"""Of nearly every family: models that end in a head."""

BERT_HEAD: Descriptions = {
    "PredictionHeadTransform": ModuleKind.HEAD_TRANSFORM,
    "LMPredictionHead": ModuleKind.SCORES,
    "OnlyMLMHead": ModuleKind.HEAD_AROUND_SCORES,
}
"""BERT's head for the vocabulary."""
