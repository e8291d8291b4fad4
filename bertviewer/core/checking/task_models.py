"""Models with a head on top of a base model."""

from collections.abc import Mapping
from typing import Any

from torch import Tensor

from bertviewer.core.checking.arithmetic import relu
from bertviewer.core.checking.families import BART, LLAMA, POST_NORM, T5, named
from bertviewer.core.checking.models import Result, encoder_decoder
from bertviewer.core.checking.part import NoFormulaError, Part, Recomputation

_BASES = (
    *("bert", "roberta", "electra", "albert", "distilbert", "mpnet", "deberta", "roformer", "esm"),
    *("transformer", "model"),
)
"""The names under which models with a head hold the model below it."""


def base_of(part: Part, *args: Any, **kwargs: Any) -> Result:
    """Run the model below the head; T5's is the model with the head itself."""
    if part.has("decoder"):
        return encoder_decoder(part, *args, **kwargs)
    result: Result = part.first(*_BASES)(*args, **kwargs)
    return result


def language_model(part: Part, *args: Any, **kwargs: Any) -> Result:
    """Score the vocabulary at every position."""
    base = base_of(part, *args, **kwargs)
    return base | {"logits": _vocabulary_scores(part, base["last_hidden_state"])}


def _vocabulary_scores(part: Part, x: Tensor) -> Tensor:
    result: Tensor
    if part.has("generator_predictions"):
        result = part.below("generator_lm_head")(part.below("generator_predictions")(x))
    elif part.has("vocab_projector"):
        x = part.below("activation")(part.below("vocab_transform")(x))
        result = part.below("vocab_projector")(part.below("vocab_layer_norm")(x))
    elif part.has("lm_predictions"):
        words = part.below("deberta.embeddings.word_embeddings")
        result = part.below("lm_predictions")(x, words)
    else:
        if part.has("decoder") and part.config.get("scale_decoder_outputs"):
            x = part.round(x * float(part.setting_value("d_model")) ** -0.5)
        result = part.first("cls", "lm_head", "predictions")(x)
        if (bias := part.tensor("final_logits_bias")) is not None:
            result = result + bias
    return result


def sequence_classification(
    part: Part, input_ids: Tensor | None = None, *args: Any, **kwargs: Any
) -> Result:
    """Score the classes of the whole sequence."""
    base = base_of(part, input_ids, *args, **kwargs)
    x = base["last_hidden_state"]
    if part.has("score"):
        chosen = x[:, _last_token(part, input_ids)]
        return base | {"logits": part.below("score")(chosen)}
    if part.has("classification_head"):
        if input_ids is None:
            raise NoFormulaError("the recomputation needs the ids to find the last token")
        ends = (input_ids[0] == part.setting_value("eos_token_id")).nonzero()
        return base | {"logits": part.below("classification_head")(x[:, int(ends[-1])])}
    if part.has("pre_classifier"):
        hidden = part.round(relu(part.below("pre_classifier")(x[:, 0])))
        return base | {"logits": part.below("classifier")(hidden)}
    head = part.below("classifier")
    if part.has("pooler"):
        return base | {"logits": head(part.below("pooler")(x))}
    pooled = head.node.class_name == "Linear"
    return base | {"logits": head(base["pooler_output"] if pooled else x)}


def _last_token(part: Part, input_ids: Tensor | None) -> int:
    """Return the place of the last token that is not padding, in the one sentence that is run."""
    padding = part.config.get("pad_token_id")
    if padding is None or input_ids is None:
        return -1
    real = (input_ids[0] != padding).nonzero()
    return int(real[-1]) if len(real) else 0


def token_classification(part: Part, *args: Any, **kwargs: Any) -> Result:
    """Score the classes of every token."""
    base = base_of(part, *args, **kwargs)
    return base | {"logits": part.first("classifier", "score")(base["last_hidden_state"])}


def question_answering(part: Part, *args: Any, **kwargs: Any) -> Result:
    """Score each token as the answer's start and as its end."""
    base = base_of(part, *args, **kwargs)
    scores = part.below("qa_outputs")(base["last_hidden_state"])
    return base | {"start_logits": scores[..., 0], "end_logits": scores[..., 1]}


def next_sentence(part: Part, *args: Any, **kwargs: Any) -> Result:
    """Score whether the second sentence follows the first."""
    base = base_of(part, *args, **kwargs)
    return base | {"logits": part.below("cls")(base["pooler_output"])}


def pretraining(part: Part, *args: Any, **kwargs: Any) -> Result:
    """BERT's, ALBERT's and ELECTRA's tasks of pretraining."""
    base = base_of(part, *args, **kwargs)
    x = base["last_hidden_state"]
    if part.has("discriminator_predictions"):
        return base | {"logits": part.below("discriminator_predictions")(x)}
    if part.has("sop_classifier"):
        scores = part.below("predictions")(x)
        order = part.below("sop_classifier")(base["pooler_output"])
        return base | {"prediction_logits": scores, "sop_logits": order}
    scores, follows = part.below("cls")(x, base["pooler_output"])
    return base | {"prediction_logits": scores, "seq_relationship_logits": follows}


_ALL = (
    *(*POST_NORM, "Albert", "DistilBert", "MPNet", "Esm", "SqueezeBert"),
    *("GPT2", *BART, *T5, *LLAMA),
)

TASK_MODELS: Mapping[str, Recomputation] = {
    **dict.fromkeys(
        named(_ALL, "ForMaskedLM", "LMHeadModel", "ForCausalLM", "ForConditionalGeneration"),
        language_model,
    ),
    **dict.fromkeys(named(_ALL, "ForSequenceClassification"), sequence_classification),
    **dict.fromkeys(named(_ALL, "ForTokenClassification"), token_classification),
    **dict.fromkeys(named(_ALL, "ForQuestionAnswering"), question_answering),
    "BertForNextSentencePrediction": next_sentence,
    **dict.fromkeys(named(("Bert", "Albert", "Electra", "BigBird"), "ForPreTraining"), pretraining),
}
