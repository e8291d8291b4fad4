"""Sources of the palette: modules, tensors, tokens, topics, commands, settings and models."""

from collections.abc import Callable, Iterable, Sequence
from functools import partial

from msgspec import Struct

from bertviewer.charts.labels import visible
from bertviewer.charts.selection_key import SelectionKey
from bertviewer.core.analysis.attention_modules import attentions_at
from bertviewer.core.schema.activation_run import ActivationRun, Token
from bertviewer.core.schema.architecture import Architecture
from bertviewer.core.sources.presets import PRESETS
from bertviewer.ui.actions.action import (
    Action,
    Choice,
    Entry,
    Option,
    disabled_reason,
    native_keys,
    plain_title,
)
from bertviewer.ui.help.guide_sections import VIEWS_CHAPTER, guide_sections, table_rows
from bertviewer.ui.palette import topics
from bertviewer.ui.palette.matching import COMMANDS, HELP, SETTINGS, TENSORS, TOKENS
from bertviewer.ui.palette.search_index import SearchIndex
from bertviewer.ui.palette.topics import Topic
from bertviewer.ui.settings.translation import QT_TRANSLATE_NOOP, translate
from bertviewer.ui.state.pages import RUN_PAGES
from bertviewer.ui.state.workspace import Workspace
from bertviewer.ui.views.links import show_tensor

SEPARATOR = "   "
"""Between the name of a result and its description."""

MAX_RECENT = 5
"""Recent modules that are listed."""

_RECENT = QT_TRANSLATE_NOOP("palette", "Recent")
_MODULES = QT_TRANSLATE_NOOP("palette", "Modules")
_TENSORS = QT_TRANSLATE_NOOP("palette", "Tensors")
_TOKENS = QT_TRANSLATE_NOOP("palette", "Tokens")
_COMMANDS = QT_TRANSLATE_NOOP("palette", "Commands")
_SETTINGS = QT_TRANSLATE_NOOP("palette", "Settings")
_MODELS = QT_TRANSLATE_NOOP("palette", "Models")
_COMPARED = QT_TRANSLATE_NOOP("palette", "Compare with")
_HEADS = QT_TRANSLATE_NOOP("palette", "Heads")
_TOTALS = QT_TRANSLATE_NOOP("palette", "Totals")
_SYMBOLS = QT_TRANSLATE_NOOP("palette", "Formula symbols")
_KEYS = QT_TRANSLATE_NOOP("palette", "Configuration")
_QUESTIONS = QT_TRANSLATE_NOOP("palette", "Questions")
_HELP = QT_TRANSLATE_NOOP("palette", "User guide")
_VIEWS = QT_TRANSLATE_NOOP("palette", "Run views")
_WITH_NUMBERS = frozenset((_TOTALS, _SYMBOLS, _KEYS))
_PREFIXES = {_COMMANDS: COMMANDS, _SETTINGS: SETTINGS, _QUESTIONS: HELP, _HELP: HELP}
_STOP_WORDS = frozenset(
    (
        *("why", "what", "which", "where", "how", "is", "are", "does", "do"),
        *("number", "many", "the", "a", "of", "for", "in", "to", "it", "its", "this", "model"),
    )
)
_DESCRIPTIONS = {preset.name: preset.description for preset in PRESETS}


class Item(Struct, frozen=True):
    """What a result does.

    Attributes:
        choose: carries it out.
        keys: the shortcut that does the same.
        disabled_reason: why it cannot be chosen, "" if it can.
        is_chosen: whether it is the option that is chosen already.
    """

    choose: Callable[[], object]
    keys: str = ""
    disabled_reason: str = ""
    is_chosen: bool = False


class Source(Struct, frozen=True):
    """Results of one kind.

    Attributes:
        title: the heading above them.
        index: their texts; the description after ``SEPARATOR`` is searched, too.
        item: returns what the result of a number does.
        prefix: first character of a search for this kind alone; "" for none.
        stop_words: words that are not searched for, unless there are no others.
        is_prose: whether descriptions are sentences, whose words are not matched by abbreviations.
        has_numbers: whether they are numbers of the model, which "how many" asks for.
    """

    title: str
    index: SearchIndex
    item: Callable[[int], Item]
    prefix: str = ""
    stop_words: frozenset[str] = frozenset()
    is_prose: bool = True
    has_numbers: bool = False


def name_of(text: str) -> str:
    """Return the name in the text of a result."""
    return text.partition(SEPARATOR)[0]


def sources_of(
    entries: Sequence[Entry],
    workspace: Workspace,
    show_guide: Callable[[str], None],
    topic_sources: "TopicSources",
) -> tuple[Source, ...]:
    """Return what can be found in the present state of the window."""
    architecture, run = workspace.architecture, workspace.runs.run
    found: list[Source] = []
    if architecture is not None:
        found += _of_architecture(architecture, workspace)
        found += topic_sources.of(architecture, run, workspace)
    if run is not None:
        found.append(_of_tokens(run.tokens, workspace))
        found.append(_of_views(workspace))
    guide = [
        Topic(each.title, each.text, partial(show_guide, each.address)) for each in guide_sections()
    ]
    return (*found, _of_topics(_HELP, guide), *_of_entries(entries, workspace))


class TopicSources:
    """Sources of the open model's topics, which take a while to collect: cached by their inputs."""

    def __init__(self) -> None:
        self._cache: dict[str, tuple[tuple[object, ...], Source]] = {}

    def of(
        self, architecture: Architecture, run: ActivationRun | None, workspace: Workspace
    ) -> tuple[Source, ...]:
        """Return the sources of heads, totals, symbols, configuration keys and questions."""
        near = attentions_at(architecture, workspace.selection.place.path or "")
        first = near[0] if near else ""
        is_deriving = workspace.is_deriving
        kinds: dict[str, tuple[tuple[object, ...], Callable[[], Iterable[Topic]]]] = {
            _HEADS: ((first,), lambda: topics.heads(architecture, workspace, first)),
            _TOTALS: ((run, is_deriving), lambda: topics.figures(architecture, run, workspace)),
            _SYMBOLS: ((), lambda: topics.symbols(architecture, workspace)),
            _KEYS: ((), lambda: topics.keys(architecture, workspace)),
            _QUESTIONS: ((run,), lambda: topics.questions(architecture, run, workspace)),
        }
        for title, (inputs, find) in kinds.items():
            key = architecture, *inputs
            cached = self._cache.get(title)
            # By identity: an architecture is not hashable, and comparing two takes long.
            if cached is None or not all(a is b for a, b in zip(cached[0], key, strict=True)):
                self._cache[title] = key, _of_topics(title, find())
        return tuple(self._cache[title][1] for title in kinds)


def _of_topics(title: str, found: Iterable[Topic]) -> Source:
    known = tuple(found)
    return Source(
        title,
        SearchIndex([f"{visible(each.name)}{SEPARATOR}{each.about}" for each in known]),
        lambda n: Item(known[n].choose),
        _PREFIXES.get(title, ""),
        frozenset() if title == _HEADS else _STOP_WORDS,
        has_numbers=title in _WITH_NUMBERS,
    )


def _of_views(workspace: Workspace) -> Source:
    about = table_rows(VIEWS_CHAPTER)
    return _of_topics(
        _VIEWS,
        [
            Topic(translate("views", page), about.get(page, ""), partial(workspace.show_page, page))
            for page in RUN_PAGES
        ],
    )


def first_sources(entries: Sequence[Entry], workspace: Workspace) -> tuple[Source, ...]:
    """Return what is listed before anything is typed: recent modules and commands."""
    select, keys = workspace.selection.select, workspace.history.recent(MAX_RECENT)
    tree = workspace.selection.tree
    recent = [key or ("" if tree is None else tree.node.class_name) for key in keys]
    commands = [
        entry
        for entry in sorted(entries, key=lambda each: not each.needs)
        if isinstance(entry, Action) and entry.keys and not disabled_reason(entry, workspace)
    ]
    items = [Item(entry.call, entry.shortcut) for entry in commands]
    texts = [_described(plain_title(entry), entry.tip) for entry in commands]
    return (
        Source(_RECENT, SearchIndex(recent), lambda n: Item(partial(select, keys[n]))),
        Source(_COMMANDS, SearchIndex(texts), items.__getitem__),
    )


def _of_tokens(tokens: Sequence[Token], workspace: Workspace) -> Source:
    about, go = translate("palette", "token {0}"), workspace.selection.go
    texts = [f"{visible(each.text)}{SEPARATOR}{about.format(n)}" for n, each in enumerate(tokens)]
    return Source(
        _TOKENS, SearchIndex(texts), lambda n: Item(partial(go, SelectionKey(token=n))), TOKENS
    )


def _of_architecture(architecture: Architecture, workspace: Workspace) -> tuple[Source, ...]:
    modules, tensors = architecture.modules, architecture.parameters
    select = workspace.selection.select
    paths = [f"{m.path}{SEPARATOR}{m.class_name}" if m.path else m.class_name for m in modules]
    names = [f"{t.name}{SEPARATOR}{'×'.join(map(str, t.shape))}" for t in tensors]
    return (
        Source(
            _MODULES,
            SearchIndex(paths),
            lambda n: Item(partial(select, modules[n].path)),
            is_prose=False,
        ),
        Source(
            _TENSORS,
            SearchIndex(names),
            lambda n: Item(partial(show_tensor, workspace, tensors[n].name)),
            TENSORS,
            is_prose=False,
        ),
    )


def _of_entries(entries: Sequence[Entry], workspace: Workspace) -> Sequence[Source]:
    """Return the sources of the table of actions: commands, settings and models."""
    found: dict[str, tuple[list[str], list[Item]]] = {
        title: ([], []) for title in (_COMMANDS, _SETTINGS, _MODELS, _COMPARED)
    }
    for entry in entries:
        reason = disabled_reason(entry, workspace)
        if isinstance(entry, Action):
            texts, items = found[_COMMANDS]
            texts.append(_described(plain_title(entry), entry.tip))
            items.append(Item(entry.call, entry.shortcut, reason))
            continue
        kind = _COMPARED if entry.compares else _MODELS if entry.opens else _SETTINGS
        texts, items = found[kind]
        chosen = None if entry.chosen is None else entry.chosen()
        for number, option in enumerate(entry.options()):
            texts.append(_option_text(entry, option))
            choose = partial(entry.choose, option.name)
            keys = native_keys(entry.option_keys(number))
            items.append(Item(choose, keys, reason, option.name == chosen))
    return [
        Source(title, SearchIndex(texts), items.__getitem__, _PREFIXES.get(title, ""), _STOP_WORDS)
        for title, (texts, items) in found.items()
    ]


def _option_text(choice: Choice, option: Option) -> str:
    """Return the text of an option outside of its menu."""
    if choice.opens:
        return _described(option.title, translate("actions", _DESCRIPTIONS.get(option.name, "")))
    return f"{plain_title(choice)}: {option.title}"


def _described(title: str, description: str) -> str:
    return f"{title}{SEPARATOR}{description}" if description else title
