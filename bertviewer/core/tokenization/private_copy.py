"""A copy of a tokenizer's files in which no key of any file can name another file.

transformers loads a tokenizer from this copy, never from the model's folder. It passes each key of
the settings to the class of the tokenizer as an argument, and some arguments are paths. So only the
keys listed here are copied, and none of them names a file. Their names are those of the tokenizer
classes of transformers 5. What is not needed to read a sentence, such as chat templates, is left
out.
"""

import json
import re
from collections.abc import Mapping
from importlib.metadata import version
from os.path import lexists
from pathlib import Path
from typing import Annotated, Any, Literal

from msgspec import Meta, Struct, ValidationError, convert, field, to_builtins
from packaging.version import InvalidVersion, Version

from bertviewer.core.checkpoints.finding import check_inside, is_plain_name
from bertviewer.core.tokenization.files import (
    MAX_BYTES,
    READ_BY_TRANSFORMERS,
    SETTINGS,
    TOKENIZER,
)
from bertviewer.core.util.errors import UserError
from bertviewer.core.util.files import read_small_file
from bertviewer.core.util.serialization import parse_lenient
from bertviewer.core.util.text import shown_name

_VERSIONS = "fast_tokenizer_files"
_VERSIONED = re.compile(r"tokenizer\.(.+)\.json")
# The keys of a configuration by which transformers selects the class of the tokenizer.
_CONFIG_KEYS = ("model_type", "tokenizer_class", "transformers_version")
_PARTS = ("encoder", "decoder")
_TOKENS_MAP = "special_tokens_map.json"
# The values of other JSON files, and the message about another value: a text instead of a table
# would be a path.
_VALUES: Mapping[str, tuple[type, str]] = {
    "added_tokens.json": (int, "the id of {} is not an integer"),
    "byte_maps.json": (dict, "{} is not an object"),
    "emoji.json": (dict, "{} is not an object"),
}

_TOKEN_KEY = r"^([a-z][a-z0-9_]*_token|entity_token_[12]|mask_token_sent)\Z"
_is_token_key = re.compile(_TOKEN_KEY).match

# Languages, sides, types: no path, since it has neither a separator nor "..".
Word = Annotated[str, Meta(pattern=r"^(?!.*\.\.)[A-Za-z0-9][A-Za-z0-9_.@+-]{0,99}\Z")]
Number = int | float


class AddedToken(Struct, omit_defaults=True):
    """A token, and how it is found in a text: see ``tokenizers.AddedToken``."""

    content: str
    type_: Literal["AddedToken"] | None = field(name="__type", default=None)
    lstrip: bool | None = None
    normalized: bool | None = None
    rstrip: bool | None = None
    single_word: bool | None = None
    special: bool | None = None


class SentencePieceOptions(Struct, omit_defaults=True):
    """The value of ``sp_model_kwargs``."""

    enable_sampling: bool | None = None
    nbest_size: Number | None = None
    alpha: Number | None = None


class JapaneseOptions(Struct, omit_defaults=True):
    """The values of ``mecab_kwargs``, ``sudachi_kwargs`` and ``jumanpp_kwargs``."""

    do_lower_case: bool | None = None
    mecab_dic: Word | None = None
    sudachi_split_mode: Word | None = None
    sudachi_dict_type: Word | None = None
    sudachi_projection: Word | None = None
    trim_whitespace: bool | None = None


Token = str | AddedToken
NamedTokens = dict[Annotated[str, Meta(pattern=_TOKEN_KEY)], Token | None]
"""Their names become attributes of the tokenizer."""
NumberedTokens = dict[Annotated[str, Meta(pattern=r"^[0-9]{1,18}\Z")], AddedToken]

_KINDS: tuple[tuple[Any, str, str], ...] = (
    (
        bool,
        "true or false",
        "add_blank add_bos_token add_eos_token add_prefix_space clean_text "
        "clean_up_tokenization_spaces do_basic_tokenize do_clean_text do_lower_case do_lowercase "
        "do_lowercase_and_remove_accent do_phonemize do_split_on_punc do_subword_tokenize "
        "do_upper_case do_word_tokenize fix_mistral_regex is_uroman keep_accents legacy "
        "legacy_behaviour normalization normalize normalize_text only_label_first_subword "
        "phonemize predict_timestamps preserve_case reduce_len remove_space return_token_type_ids "
        "separate_vocabs should_strip_spaces split_by_punct split_special_tokens strip_accents "
        "strip_column_names strip_handles token_type_ids_include_special_tokens "
        "tokenize_chinese_chars trim_offsets update_answer_coordinates use_default_system_prompt "
        "clean_up_tokenization_spaces_for_bpe_even_though_it_will_corrupt_output",
    ),
    (
        Number,
        "a number",
        "cell_trim_length default_velocity extra_ids max_column_id max_depth max_entity_length "
        "max_input_chars_per_word max_len max_length max_mention_length max_question_length "
        "max_row_id max_width min_question_length model_max_length num_bars num_madeup_words "
        "offset pad_token_id pad_token_label pad_token_type_id pad_to_multiple_of pad_width stride "
        "unk_id",
    ),
    (
        Word,
        "a word",
        "errors language language_codes lang_codes padding_side phonemizer_backend "
        "phonemizer_lang source_lang special_tokens_pattern src_lang subword_tokenizer_type "
        "target_lang task tgt_lang token_type_ids_pattern tokenizer_class truncation_side "
        "truncation_strategy word_tokenizer_type",
    ),
    (str, "a text", "replace_word_delimiter_char wordpieces_prefix"),
    (
        list[Token] | NamedTokens,
        "a list of tokens, or an object of tokens by name",
        "additional_special_tokens extra_special_tokens model_specific_special_tokens",
    ),
    (NumberedTokens, "an object of tokens by id", "added_tokens_decoder"),
    (list[str], "a list of texts", "never_split"),
    (list[Word], "a list of words", "langs model_input_names"),
    (list[Number], "a list of numbers", "cls_token_box pad_token_box sep_token_box"),
    (dict[str, Word], "an object of words", "id2lang"),
    (dict[str, Number], "an object of numbers", "lang2id tags_dict"),
    (SentencePieceOptions, "an object of options", "sp_model_kwargs"),
    (JapaneseOptions, "an object of options", "mecab_kwargs sudachi_kwargs jumanpp_kwargs"),
)
"""The type of a value, how messages name it, and the keys with such values."""
_KIND_OF = {key: (kind, words) for kind, words, keys in _KINDS for key in keys.split()}


def write_private_copy(folder: Path, config: Mapping[str, Any], target: Path) -> bool:
    """Copy a tokenizer into an empty folder, with what is needed of the model's ``config``.

    Returns whether the settings name Python code of the model for the tokenizer.

    Raises:
        UserError: a file is not a regular file, too large, outside of the folder, or invalid.
        OSError: it cannot be written.
    """
    (target / "config.json").write_text(json.dumps(_config(config)), encoding="utf-8")
    settings = _parsed(folder / SETTINGS) if lexists(folder / SETTINGS) else {}
    for name in READ_BY_TRANSFORMERS:
        file = folder / (_tokenizer_for(settings, folder) if name == TOKENIZER else name)
        if lexists(file):
            (target / name).write_bytes(_checked(name, file))
    return bool(settings.get("auto_map"))


def _config(config: Mapping[str, Any]) -> dict[str, Any]:
    kept: dict[str, Any] = {
        key: config[key] for key in _CONFIG_KEYS if isinstance(config.get(key), str)
    }
    parts = {key: config[key] for key in _PARTS if isinstance(config.get(key), Mapping)}
    return kept | {key: _config(part) for key, part in parts.items()}


def _tokenizer_for(settings: Mapping[str, Any], folder: Path) -> str:
    """Return the name of the tokenizer.json for this version of transformers.

    The settings may list files such as ``tokenizer.4.0.0.json``, for this version and later ones.
    """
    names = settings.get(_VERSIONS) or []
    chosen, newest = TOKENIZER, Version("0")
    for name in names if isinstance(names, list) else [names]:
        if not isinstance(name, str) or not is_plain_name(name):
            raise UserError(
                f"{folder / SETTINGS}: {shown_name(str(name))} is not the name of a file in the "
                "same folder"
            )
        try:
            since = Version(found[1]) if (found := _VERSIONED.fullmatch(name)) else Version("0")
        except InvalidVersion:
            continue
        if newest < since <= Version(version("transformers")):
            chosen, newest = name, since
    return chosen


def _checked(name: str, file: Path) -> bytes:
    """Return what is copied of a file."""
    if name not in (SETTINGS, _TOKENS_MAP, TOKENIZER, *_VALUES):
        return _content(file)
    data = _parsed(file)
    try:
        if name in (SETTINGS, _TOKENS_MAP):
            data = _known_settings(data)
        elif name == TOKENIZER:
            _check_model(data.get("model"))
        else:
            kind, message = _VALUES[name]
            for key, value in data.items():
                if type(value) is not kind:
                    raise ValueError(message.format(shown_name(key)))
    except ValueError as error:
        raise UserError(f"{file}: {error}") from error
    return json.dumps(data).encode()


def _content(file: Path) -> bytes:
    check_inside(file)
    return read_small_file(file, MAX_BYTES, "a tokenizer")


def _parsed(file: Path) -> dict[str, Any]:
    what = "settings" if file.name == SETTINGS else "JSON"
    try:
        data = parse_lenient(_content(file))  # with the 31 digits of transformers' "no limit"
    except (ValueError, RecursionError) as error:
        raise UserError(f"{file}: bad {what}: {error}") from error
    if not isinstance(data, dict):
        raise UserError(f"{file}: not a JSON object")
    return data


def _known_settings(data: Mapping[str, Any]) -> dict[str, Any]:
    """Return the keys of a ``tokenizer_config.json`` or ``special_tokens_map.json`` to be copied.

    Raises:
        ValueError: a known key has a value of another type; the message says which.
    """
    kept: dict[str, Any] = {}
    for key, value in data.items():
        # Each class has its own tokens, and a model may have more.
        kind, words = _KIND_OF.get(key, (Token, "a token") if _is_token_key(key) else (None, ""))
        if kind is None:
            continue
        try:
            found = None if value is None else to_builtins(convert(value, kind))
        except ValidationError:
            shown = shown_name(value) if isinstance(value, str) else repr(value)[:40]
            found = "" if isinstance(value, dict | list) else f" {shown},"
            raise ValueError(f"{shown_name(key)} is{found} not {words}") from None
        if isinstance(found, dict):
            found = {name: inner for name, inner in found.items() if inner is not None}
        kept[key] = found
    return kept


def _check_model(model: Any) -> None:
    """Check the model of a tokenizer.json: transformers passes its vocabulary as an argument."""
    if not isinstance(model, dict):
        raise ValueError("it contains no model")
    if not isinstance(model.get("vocab", []), dict | list):
        raise ValueError("the model's vocab is neither an object nor a list")
    if not isinstance(model.get("merges", []), list):
        raise ValueError("the model's merges are not a list")
