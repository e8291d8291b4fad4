"""BigBird: BERT whose long sequences look at some blocks of positions only (Zaheer et al. 2020)."""

from dataclasses import replace

from bertviewer.core.families.bert import BERT_LAYER, HALVES, attention_and_norm
from bertviewer.core.families.family import Family
from bertviewer.core.families.heads import BERT_HEAD, TASK_MODELS
from bertviewer.core.families.module_kind import ModuleKind

_MASKS = ("band_mask", "from_mask", "to_mask")

BIG_BIRD = Family(
    prefixes=("BigBird",),
    endings={
        **TASK_MODELS,
        **BERT_HEAD,
        **HALVES,
        "SelfAttention": ModuleKind.BIG_BIRD_ATTENTION,
        "BlockSparseAttention": ModuleKind.BIG_BIRD_SPARSE_ATTENTION,
        "Attention": ModuleKind.BIG_BIRD_ATTENTION_BLOCK,
        "Layer": replace(
            BERT_LAYER,
            takes=(*BERT_LAYER.takes[:4], *_MASKS, "blocked_encoder_mask", "past_key_values"),
            attention=attention_and_norm(*_MASKS, "past_key_values"),
        ),
        "Encoder": ModuleKind.BIG_BIRD_STACK,
        "Embeddings": ModuleKind.BERT_EMBEDDINGS,
        "Model": ModuleKind.BIG_BIRD_MODEL,
        "PreTrainingHeads": ModuleKind.PRETRAINING_HEADS,
        "ClassificationHead": ModuleKind.ACTIVATED_CLASSIFICATION_HEAD,
        "ForQuestionAnsweringHead": ModuleKind.BIG_BIRD_ANSWER_HEAD,
        "ForQuestionAnswering": ModuleKind.BIG_BIRD_ANSWER_FINDER,
        "ForPreTraining": ModuleKind.PRETRAINING_MODEL,
    },
)
