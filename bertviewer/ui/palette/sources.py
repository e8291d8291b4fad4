"""What can be found: modules, tensors, heads, tokens, topics, commands, settings and models."""

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
    COMMANDS,
    HELP,
    SETTINGS,
    TENSORS,
    TOKENS,
    Action,
    Choice,
    Commands,
    Entry,
    Option,
    keys_of,
    option_keys,
    plain_title,
    why_not,
    written_keys,
)
from bertviewer.ui.help.guide_sections import VIEWS_CHAPTER, guide_sections, table_rows
from bertviewer.ui.palette import topics
from bertviewer.ui.palette.search_index import Haystack
from bertviewer.ui.palette.topics import Topic
from bertviewer.ui.settings.translation import QT_TRANSLATE_NOOP, translate
from bertviewer.ui.state.workspace import Workspace
from bertviewer.ui.views.links import show_tensor

BETWEEN = "   "
"""Between what a thing is called and what is said of it."""

RECENT = 5
"""Modules that are offered again."""

_RECENT = QT_TRANSLATE_NOOP("palette", "Recent")
_MODULES = QT_TRANSLATE_NOOP("palette", "Modules")
_TENSORS = QT_TRANSLATE_NOOP("palette", "Tensors")
_TOKENS = QT_TRANSLATE_NOOP("palette", "Tokens")
_COMMANDS = QT_TRANSLATE_NOOP("palette", "Commands")
_SETTINGS = QT_TRANSLATE_NOOP("palette", "Settings")
_MODELS = QT_TRANSLATE_NOOP("palette", "Models")
_COMPARED = QT_TRANSLATE_NOOP("palette", "Compare with")
_HEADS = QT_TRANSLATE_NOOP("palette", "Heads")
_FIGURES = QT_TRANSLATE_NOOP("palette", "Totals")
_SYMBOLS = QT_TRANSLATE_NOOP("palette", "Formula symbols")
_KEYS = QT_TRANSLATE_NOOP("palette", "Configuration")
_QUESTIONS = QT_TRANSLATE_NOOP("palette", "Questions")
_HELP = QT_TRANSLATE_NOOP("palette", "User guide")
_VIEWS = QT_TRANSLATE_NOOP("palette", "Run views")
_HAVE_FIGURES = frozenset((_FIGURES, _SYMBOLS, _KEYS))
_PREFIXES = {_COMMANDS: COMMANDS, _SETTINGS: SETTINGS}
_ASKING = frozenset(
    (
        *("why", "what", "which", "where", "how", "is", "are", "does", "do"),
        *("number", "many", "the", "a", "of", "for", "in", "to", "it", "its", "this", "model"),
    )
)
_DESCRIPTIONS = {preset.name: preset.description for preset in PRESETS}


class Item(Struct, frozen=True):
    """One thing that can be found.

    Attributes:
        choose: what choosing it does.
        keys: by which keys the same is done.
        why_not: why it cannot be chosen, "" if it can.
        is_chosen: whether it is what is chosen already, of several.
    """

    choose: Callable[[], object]
    keys: str = ""
    why_not: str = ""
    is_chosen: bool = False


class Source(Struct, frozen=True):
    """Things of one kind.

    Attributes:
        title: what they are, above them.
        prefix: the sign that finds them alone; "" for none.
        haystack: their texts; what is said of each after ``BETWEEN`` is found too.
        item: what there is to know of the one of that number.
        skipped: words that are not looked for, where others were typed too.
        is_prose: whether sentences are said of each: no word is an abbreviation of these.
        has_figures: whether numbers of the model are among them, which "how many" asks for.
    """

    title: str
    prefix: str
    haystack: Haystack
    item: Callable[[int], Item]
    skipped: frozenset[str] = frozenset()
    is_prose: bool = True
    has_figures: bool = False


def name_of(text: str) -> str:
    """Return what a thing is called, of the text that it is shown and found by."""
    return text.partition(BETWEEN)[0]


def sources_of(
    entries: Sequence[Entry], commands: Commands, topic_sources: "TopicSources"
) -> tuple[Source, ...]:
    """Return what can be found in the window as it is now."""
    workspace = commands.workspace
    architecture, run = workspace.architecture, workspace.runs.run
    found: list[Source] = []
    if architecture is not None:
        found += _of_architecture(architecture, workspace)
        found += topic_sources.of(architecture, run, workspace)
    if run is not None:
        found.append(_of_tokens(run.tokens, workspace))
        found.append(_of_views(workspace))
    guide = [
        Topic(each.title, each.text, partial(commands.show_guide, each.address))
        for each in guide_sections()
    ]
    return (*found, _of(_HELP, guide, HELP, _ASKING), *_of_entries(entries, commands))


class TopicSources:
    """Keeps the topics of the open model, which take a while to collect, until it changes."""

    def __init__(self) -> None:
        self._kept: dict[str, tuple[tuple[object, ...], Source]] = {}

    def of(
        self, architecture: Architecture, run: ActivationRun | None, workspace: Workspace
    ) -> tuple[Source, ...]:
        """Return what is known of the open model apart from its modules and tensors."""
        near = attentions_at(architecture, workspace.selection.place.path or "")
        first = near[0] if near else ""
        return (
            self._source(
                _HEADS, (architecture, first), lambda: topics.heads(architecture, workspace, first)
            ),
            self._source(
                _FIGURES,
                (architecture, run, workspace.is_deriving),
                lambda: topics.figures(architecture, run, workspace),
                skipped=_ASKING,
            ),
            self._source(
                _SYMBOLS,
                (architecture,),
                lambda: topics.symbols(architecture, workspace),
                skipped=_ASKING,
            ),
            self._source(
                _KEYS,
                (architecture,),
                lambda: topics.keys(architecture, workspace),
                skipped=_ASKING,
            ),
            self._source(
                _QUESTIONS,
                (architecture, run),
                lambda: topics.questions(architecture, run, workspace),
                HELP,
                _ASKING,
            ),
        )

    def _source(
        self,
        title: str,
        key: tuple[object, ...],
        find: Callable[[], Iterable[Topic]],
        prefix: str = "",
        skipped: frozenset[str] = frozenset(),
    ) -> Source:
        known = self._kept.get(title)
        # An architecture is not hashable, and comparing two of them would take long.
        if known is None or not all(a is b for a, b in zip(known[0], key, strict=True)):
            known = self._kept[title] = key, _of(title, find(), prefix, skipped)
        return known[1]


def _of(
    title: str,
    found: Iterable[Topic],
    prefix: str = "",
    skipped: frozenset[str] = frozenset(),
) -> Source:
    known = tuple(found)
    texts = [f"{visible(each.name)}{BETWEEN}{each.about}" for each in known]
    return Source(
        title,
        prefix,
        Haystack(texts),
        lambda n: Item(known[n].choose),
        skipped,
        has_figures=title in _HAVE_FIGURES,
    )


def _of_views(workspace: Workspace) -> Source:
    shown = table_rows(VIEWS_CHAPTER)
    views = [
        Topic(
            translate("views", title),
            shown.get(title, ""),
            partial(workspace.page_wanted.emit, title),
        )
        for title in topics.VIEWS
    ]
    return _of(_VIEWS, views, skipped=_ASKING)


def first_sources(entries: Sequence[Entry], commands: Commands) -> tuple[Source, ...]:
    """Return what is offered before anything is typed: where one was, and what can be done."""
    workspace = commands.workspace
    select, keys = workspace.selection.select, workspace.history.recent(RECENT)
    tree = workspace.selection.tree
    recent = [key or ("" if tree is None else tree.node.class_name) for key in keys]
    done = [
        (
            _described(plain_title(entry), entry.tip),
            Item(partial(entry.call, commands), keys_of(entry)),
        )
        for entry in sorted(entries, key=lambda each: not each.needs)
        if isinstance(entry, Action) and entry.keys and not why_not(entry, workspace)
    ]
    return (
        Source(_RECENT, "", Haystack(recent), lambda n: Item(partial(select, keys[n]))),
        Source(_COMMANDS, "", Haystack([text for text, _ in done]), lambda n: done[n][1]),
    )


def _of_tokens(tokens: Sequence[Token], workspace: Workspace) -> Source:
    says, go = translate("palette", "token {0}"), workspace.selection.go
    texts = [f"{visible(each.text)}{BETWEEN}{says.format(n)}" for n, each in enumerate(tokens)]
    return Source(
        _TOKENS, TOKENS, Haystack(texts), lambda n: Item(partial(go, SelectionKey(token=n)))
    )


def _of_architecture(architecture: Architecture, workspace: Workspace) -> tuple[Source, ...]:
    modules, tensors = architecture.modules, architecture.parameters
    select = workspace.selection.select
    paths = [f"{m.path}{BETWEEN}{m.class_name}" if m.path else m.class_name for m in modules]
    names = [f"{t.name}{BETWEEN}{'×'.join(map(str, t.shape))}" for t in tensors]
    return (
        Source(
            _MODULES,
            "",
            Haystack(paths),
            lambda n: Item(partial(select, modules[n].path)),
            is_prose=False,
        ),
        Source(
            _TENSORS,
            TENSORS,
            Haystack(names),
            lambda n: Item(partial(show_tensor, workspace, tensors[n].name)),
            is_prose=False,
        ),
    )


def _of_entries(entries: Sequence[Entry], commands: Commands) -> Sequence[Source]:
    """Return the sources of the table of actions: commands, settings and models."""
    found: dict[str, tuple[list[str], list[Item]]] = {
        title: ([], []) for title in (_COMMANDS, _SETTINGS, _MODELS, _COMPARED)
    }
    for entry in entries:
        reason = why_not(entry, commands.workspace)
        if isinstance(entry, Action):
            texts, items = found[_COMMANDS]
            texts.append(_described(plain_title(entry), entry.tip))
            items.append(Item(partial(entry.call, commands), keys_of(entry), reason))
            continue
        texts, items = found[_section(entry)]
        chosen = None if entry.chosen is None else entry.chosen(commands)
        for place, option in enumerate(entry.options(commands)):
            texts.append(_option_text(entry, option))
            choose = partial(entry.choose, commands, option.name)
            keys = written_keys(option_keys(entry, place))
            items.append(Item(choose, keys, reason, option.name == chosen))
    return [
        Source(title, _PREFIXES.get(title, ""), Haystack(texts), items.__getitem__, _ASKING)
        for title, (texts, items) in found.items()
    ]


def _section(choice: Choice) -> str:
    """Return the title of what a menu's options are among."""
    if choice.compares:
        return _COMPARED
    return _MODELS if choice.opens else _SETTINGS


def _option_text(choice: Choice, option: Option) -> str:
    """Return what an option is called where its menu is not around it."""
    if choice.opens:
        return _described(option.title, _DESCRIPTIONS.get(option.name, ""))
    return f"{plain_title(choice)}: {option.title}"


def _described(title: str, description: str) -> str:
    return f"{title}{BETWEEN}{translate('actions', description)}" if description else title
