"""Small tokenizers of each kind, trained on two sentences and saved as for real models."""

from collections.abc import Callable
from pathlib import Path

from tokenizers import (
    AddedToken,
    Tokenizer,
    decoders,
    models,
    normalizers,
    pre_tokenizers,
    processors,
    trainers,
)

CORPUS = ["this is a test sentence, don't stop", "the cat sat on the mat 12212121"] * 5


def word_piece() -> Tokenizer:
    """Return a WordPiece tokenizer like BERT's."""
    special = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
    tokenizer = Tokenizer(models.WordPiece(unk_token="[UNK]"))
    tokenizer.normalizer = normalizers.BertNormalizer()
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    tokenizer.train_from_iterator(
        CORPUS,
        trainers.WordPieceTrainer(vocab_size=120, special_tokens=special, show_progress=False),
    )
    tokenizer.post_processor = processors.BertProcessing(("[SEP]", 3), ("[CLS]", 2))
    return tokenizer


def byte_level() -> Tokenizer:
    """Return a byte-level BPE tokenizer like RoBERTa's."""
    special = ["<s>", "<pad>", "</s>", "<unk>", AddedToken("<mask>", lstrip=True)]
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=300,
        special_tokens=special,
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    tokenizer.train_from_iterator(CORPUS, trainer)
    tokenizer.post_processor = processors.RobertaProcessing(("</s>", 2), ("<s>", 0))
    return tokenizer


def unigram(splits_at_spaces: bool = True) -> Tokenizer:
    """Return a tokenizer like SentencePiece's; Llama's does not split at spaces first."""
    tokenizer = Tokenizer(models.Unigram())
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace()
    trainer = trainers.UnigramTrainer(
        vocab_size=60,
        special_tokens=["<pad>", "</s>", "<unk>"],
        unk_token="<unk>",
        show_progress=False,
    )
    tokenizer.train_from_iterator(CORPUS, trainer)
    if not splits_at_spaces:
        tokenizer.pre_tokenizer = pre_tokenizers.Metaspace(split=False)
    tokenizer.post_processor = processors.TemplateProcessing(
        single="$A </s>", pair="$A </s> $B </s>", special_tokens=[("</s>", 1)]
    )
    return tokenizer


NAMES = {
    "bert": {"unk": "[UNK]", "cls": "[CLS]", "sep": "[SEP]", "pad": "[PAD]", "mask": "[MASK]"},
    "roberta": {"unk": "<unk>", "bos": "<s>", "eos": "</s>", "pad": "<pad>", "mask": "<mask>"},
    "sentencepiece": {"unk": "<unk>", "eos": "</s>", "pad": "<pad>"},
    "unsplit": {"unk": "<unk>", "eos": "</s>", "pad": "<pad>"},
}
MAKERS: dict[str, Callable[[], Tokenizer]] = {
    "bert": word_piece,
    "roberta": byte_level,
    "sentencepiece": unigram,
    "unsplit": lambda: unigram(splits_at_spaces=False),
}


def write_tokenizer(kind: str, folder: Path) -> None:
    """Save one of ``MAKERS`` in a folder."""
    from bertviewer.core.building.backend import transformers

    names = {f"{role}_token": name for role, name in NAMES[kind].items()}
    made = transformers.PreTrainedTokenizerFast(tokenizer_object=MAKERS[kind](), **names)
    made.save_pretrained(folder)


def write_python_tokenizer(folder: Path) -> None:
    """Save ByT5's tokenizer, which is written in Python and has no offsets."""
    from bertviewer.core.building.backend import transformers

    transformers.ByT5Tokenizer().save_pretrained(folder)
