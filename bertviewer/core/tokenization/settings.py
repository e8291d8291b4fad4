"""What of a tokenizer's settings is passed on to transformers: known keys of known types.

transformers hands every key that it finds in these files to the class of the tokenizer as an
argument, and some arguments are paths. So nothing is passed on that is not listed here, and nothing
that is listed names a file. The names are those of transformers 5's tokenizer classes.
"""

import re
from collections.abc import Callable, Mapping
from typing import Any

from bertviewer.core.checkpoints.header import shown_name

_FLAGS = frozenset({
    "add_blank", "add_bos_token", "add_eos_token", "add_prefix_space", "clean_text",
    "clean_up_tokenization_spaces", "do_basic_tokenize", "do_clean_text", "do_lower_case",
    "do_lowercase", "do_lowercase_and_remove_accent", "do_phonemize", "do_split_on_punc",
    "do_subword_tokenize", "do_upper_case", "do_word_tokenize", "fix_mistral_regex", "is_uroman",
    "keep_accents", "legacy", "legacy_behaviour", "normalization", "normalize", "normalize_text",
    "only_label_first_subword", "phonemize", "predict_timestamps", "preserve_case", "reduce_len",
    "remove_space", "return_token_type_ids", "separate_vocabs", "should_strip_spaces",
    "split_by_punct", "split_special_tokens", "strip_accents", "strip_column_names",
    "strip_handles", "token_type_ids_include_special_tokens", "tokenize_chinese_chars",
    "trim_offsets", "update_answer_coordinates", "use_default_system_prompt",
    "clean_up_tokenization_spaces_for_bpe_even_though_it_will_corrupt_output",
})  # fmt: skip
_NUMBERS = frozenset({
    "cell_trim_length", "default_velocity", "extra_ids", "max_column_id", "max_depth",
    "max_entity_length", "max_input_chars_per_word", "max_len", "max_length",
    "max_mention_length", "max_question_length", "max_row_id", "max_width",
    "min_question_length", "model_max_length", "num_bars", "num_madeup_words", "offset",
    "pad_token_id", "pad_token_label", "pad_token_type_id", "pad_to_multiple_of", "pad_width",
    "stride", "unk_id",
})  # fmt: skip
# Languages, sides, kinds: never more than a word, so none can lead out of a folder.
_WORDS = frozenset({
    "errors", "language", "language_codes", "lang_codes", "padding_side", "phonemizer_backend",
    "phonemizer_lang", "source_lang", "special_tokens_pattern", "src_lang",
    "subword_tokenizer_type", "target_lang", "task", "tgt_lang", "token_type_ids_pattern",
    "tokenizer_class", "truncation_side", "truncation_strategy", "word_tokenizer_type",
})  # fmt: skip
_BOXES = frozenset({"cls_token_box", "pad_token_box", "sep_token_box"})
# What words are joined by, and the mark before the pieces inside of one.
_TEXTS = frozenset({"replace_word_delimiter_char", "wordpieces_prefix"})
_TOKEN_LISTS = frozenset({
    "additional_special_tokens", "extra_special_tokens", "model_specific_special_tokens",
})  # fmt: skip
_WORD_LISTS = frozenset({"langs", "model_input_names"})

_TOKEN_KEY = re.compile(r"[a-z][a-z0-9_]*_token|entity_token_[12]|mask_token_sent")
_WORD = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.@+-]{0,99}")
_ID = re.compile(r"[0-9]{1,18}")

_TOKEN_FLAGS = frozenset({"lstrip", "normalized", "rstrip", "single_word", "special"})


def known_settings(data: Mapping[str, Any]) -> dict[str, Any]:
    """Return what of a ``tokenizer_config.json`` or ``special_tokens_map.json`` is passed on.

    Keys that are not known are left out: they name files, belong to chats, or mean nothing to a
    class of transformers.

    Raises:
        ValueError: a known key has a value of another type; the text says which.
    """
    kept: dict[str, Any] = {}
    for key, value in data.items():
        if (read := _reader(key)) is None:
            continue
        try:
            kept[key] = None if value is None else read(value)
        except (TypeError, ValueError) as error:
            reason = str(error) if isinstance(error, ValueError) else ""
            raise ValueError(f"{shown_name(key)} is {reason or 'of another type'}") from None
    return kept


def known_added_tokens(data: Mapping[str, Any]) -> dict[str, int]:
    """Return an ``added_tokens.json``: ids by their tokens.

    Raises:
        ValueError: something in it is no id.
    """
    for token, number in data.items():
        if type(number) is not int:
            raise ValueError(f"the id of {shown_name(token)} is not an integer")
    return dict(data)


def _reader(key: str) -> Callable[[Any], Any] | None:
    """Return what reads the values of a key, ``None`` if it is not known."""
    for keys, read in _READERS:
        if key in keys:
            return read
    # Each class has tokens of its own, and a model may have more.
    return _token if _TOKEN_KEY.fullmatch(key) else None


def _flag(value: Any) -> bool:
    if not isinstance(value, bool):
        raise ValueError(f"{_shown(value)}, not true or false")
    return value


def _number(value: Any) -> int | float:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise ValueError(f"{_shown(value)}, not a number")
    return value


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise ValueError(f"{_shown(value)}, not a text")
    return value


def _word(value: Any) -> str:
    if not _WORD.fullmatch(_text(value)) or ".." in value:
        raise ValueError(f"{_shown(value)}, which is not a word")
    return str(value)


def _token(value: Any) -> str | dict[str, Any]:
    """Read a token, or a token with how it is found in a text (an ``AddedToken``)."""
    if isinstance(value, str):
        return value
    if not isinstance(value, dict) or not isinstance(value.get("content"), str):
        raise ValueError(f"{_shown(value)}, which is not a token")
    flags = {key: _flag(value[key]) for key in _TOKEN_FLAGS if value.get(key) is not None}
    mark = {"__type": "AddedToken"} if value.get("__type") == "AddedToken" else {}
    return {**mark, "content": value["content"], **flags}


def _tokens(value: Any) -> list[Any] | dict[str, Any]:
    """Read a list of tokens; they may have names, which become attributes of the tokenizer."""
    if isinstance(value, dict):
        if odd := [name for name in value if not _TOKEN_KEY.fullmatch(name)]:
            raise ValueError(f"an object with {shown_name(odd[0])}, which is not a token name")
        return {name: _token(token) for name, token in value.items() if token is not None}
    return [_token(token) for token in _list(value)]


def _numbered_tokens(value: Any) -> dict[str, Any]:
    for number, token in _table(value).items():
        if not _ID.fullmatch(number) or not isinstance(token, dict):
            raise ValueError(f"an object with {shown_name(number)}, which is not a token id")
    return {number: _token(token) for number, token in value.items()}


def _list(value: Any) -> list[Any]:
    if not isinstance(value, list):
        raise ValueError(f"{_shown(value)}, not a list")
    return value


def _table(value: Any) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise ValueError(f"{_shown(value)}, not an object")
    return value


def _of_known(readers: Mapping[str, Callable[[Any], Any]]) -> Callable[[Any], dict[str, Any]]:
    def read(value: Any) -> dict[str, Any]:
        table = _table(value)
        return {key: readers[key](table[key]) for key in readers if table.get(key) is not None}

    return read


def _shown(value: Any) -> str:
    if isinstance(value, str):
        return shown_name(value)
    if isinstance(value, dict | list):
        return "a table" if isinstance(value, dict) else "a list"
    return repr(value)[:40]


_READERS: tuple[tuple[frozenset[str], Callable[[Any], Any]], ...] = (
    (_FLAGS, _flag),
    (_NUMBERS, _number),
    (_WORDS, _word),
    (_TEXTS, _text),
    (_TOKEN_LISTS, _tokens),
    (_WORD_LISTS, lambda value: [_word(inner) for inner in _list(value)]),
    (_BOXES, lambda value: [_number(inner) for inner in _list(value)]),
    (frozenset({"added_tokens_decoder"}), _numbered_tokens),
    (frozenset({"never_split"}), lambda value: [_text(inner) for inner in _list(value)]),
    (frozenset({"id2lang"}), lambda value: {k: _word(v) for k, v in _table(value).items()}),
    (
        frozenset({"lang2id", "tags_dict"}),
        lambda value: {k: _number(v) for k, v in _table(value).items()},
    ),
    (
        frozenset({"sp_model_kwargs"}),
        _of_known({"enable_sampling": _flag, "nbest_size": _number, "alpha": _number}),
    ),
    (frozenset({"mecab_kwargs"}), _of_known({"do_lower_case": _flag, "mecab_dic": _word})),
    (
        frozenset({"sudachi_kwargs"}),
        _of_known(
            {
                "sudachi_split_mode": _word,
                "sudachi_dict_type": _word,
                "sudachi_projection": _word,
                "trim_whitespace": _flag,
            }
        ),
    ),
    (frozenset({"jumanpp_kwargs"}), _of_known({"trim_whitespace": _flag})),
)
