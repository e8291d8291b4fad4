"""The window's actions, as one table: what stands in its menus, and in the palette."""

from collections.abc import Iterator, Sequence

from bertviewer.core.schema.statistics import STATISTIC_NAMES
from bertviewer.core.sources.model_source import TASKS
from bertviewer.core.sources.presets import preset_names
from bertviewer.ui.actions import module_actions
from bertviewer.ui.actions.action import (
    BUSY,
    IDLE,
    MODEL,
    RAN,
    Action,
    Choice,
    Commands,
    Condition,
    Entry,
    Option,
)
from bertviewer.ui.actions.action import COMMANDS as FIND_COMMANDS
from bertviewer.ui.actions.action import SETTINGS as FIND_SETTINGS
from bertviewer.ui.docks.dock import PaneName
from bertviewer.ui.settings.translation import QT_TRANSLATE_NOOP, translate
from bertviewer.ui.shell.tabs import TABS
from bertviewer.ui.theme.appearance import DARK_NAME, LIGHT_NAME, SYSTEM, stored_appearance

FILE = QT_TRANSLATE_NOOP("actions", "&File")
GO = QT_TRANSLATE_NOOP("actions", "&Go")
MODULE = QT_TRANSLATE_NOOP("actions", "&Module")
VIEW = QT_TRANSLATE_NOOP("actions", "&View")
RUN = QT_TRANSLATE_NOOP("actions", "&Run")
HELP = QT_TRANSLATE_NOOP("actions", "&Help")
MENUS = (FILE, GO, MODULE, VIEW, RUN, HELP)

BACK = Condition(
    lambda w: w.history.can_go_back, QT_TRANSLATE_NOOP("actions", "No earlier selection")
)
FORWARD = Condition(
    lambda w: w.history.can_go_forward, QT_TRANSLATE_NOOP("actions", "Nothing to go forward to")
)
CALLED = Condition(
    module_actions.was_called,
    QT_TRANSLATE_NOOP("actions", "The last run did not call this module"),
)

_RANDOM_HEAD = QT_TRANSLATE_NOOP("actions", "{0} (random: not in this checkpoint)")
_WITHOUT_WEIGHTS = QT_TRANSLATE_NOOP("actions", "{0} (no weights)")
_GONE = QT_TRANSLATE_NOOP("actions", "{0} (not found)")
_APPEARANCES = (
    Option(SYSTEM, QT_TRANSLATE_NOOP("actions", "Follow system")),
    Option(LIGHT_NAME, QT_TRANSLATE_NOOP("actions", "Light")),
    Option(DARK_NAME, QT_TRANSLATE_NOOP("actions", "Dark")),
)
_TAB_KEYS = {"Map": ("Ctrl+Return", "Ctrl+D"), "Tensors": ("Ctrl+I",)}
"""Netron's keys: for a node's properties and attributes, and for weights.

Ctrl with a number opens a recent model there, and Alt with a number brings a tab elsewhere.
"""


def _models(_: Commands) -> Sequence[Option]:
    return [Option("demo", "demo"), *map(_preset, preset_names())]


def _preset(name: str) -> Option:
    return Option(name, translate("actions", _WITHOUT_WEIGHTS).format(name))


def _recent(commands: Commands) -> Sequence[Option]:
    gone = translate("actions", _GONE)
    presets = preset_names()
    return [
        _preset(name) if name in presets else Option(name, name if is_there else gone.format(name))
        for name, is_there in commands.opening.recent
    ]


def _compared(commands: Commands) -> Sequence[Option]:
    """Return what the open model can be compared with, without a dialog."""
    return (*_models(commands), *_recent(commands))


def _heads(commands: Commands) -> Sequence[Option]:
    random = translate("actions", _RANDOM_HEAD)
    has_random_head = commands.workspace.has_random_head
    titles = {task.name: translate("actions", task.title) for task in TASKS}
    return [
        Option(name, random.format(title) if has_random_head(name) else title)
        for name, title in titles.items()
    ]


def _head(commands: Commands) -> str:
    architecture = commands.workspace.architecture
    return "" if architecture is None else architecture.source.task


def _appearances(_: Commands) -> Sequence[Option]:
    return [Option(each.name, translate("actions", each.title)) for each in _APPEARANCES]


def _devices(commands: Commands) -> Sequence[Option]:
    return [Option(device.name, device.title) for device in commands.workspace.devices]


def _statistics(_: Commands) -> Sequence[Option]:
    return [Option(name, name) for name in STATISTIC_NAMES]


def _choose_statistic(commands: Commands, name: str) -> None:
    commands.workspace.page_wanted.emit("Layers")
    commands.workspace.statistic_wanted.emit(name)


def _save_map(commands: Commands) -> None:
    commands.workspace.page_wanted.emit("Map")
    commands.workspace.map_picture_wanted.emit()


def _show_tabs() -> Iterator[Action]:
    for number, kind in enumerate(TABS):

        def show(commands: Commands, title: str = kind.title) -> None:
            commands.workspace.page_wanted.emit(title)

        yield Action(
            f"show{kind.title.title().replace(' ', '')}",
            MODULE,
            QT_TRANSLATE_NOOP("actions", "Show {0}"),
            show,
            (f"Alt+{number + 1}", *_TAB_KEYS.get(kind.title, ())),
            needs=(MODEL,),
            begins_group=number == 0,
            tab=kind.title,
        )


def _panes() -> Iterator[Action]:
    """Yield what can be done to each pane."""
    yield Action(
        "toggleStructure",
        VIEW,
        QT_TRANSLATE_NOOP("actions", "S&tructure panel"),
        lambda c: c.panes.toggle("structure"),
        ("F6",),
        _OPENS,
        (MODEL,),
    )
    yield Action(
        "toggleModule",
        VIEW,
        QT_TRANSLATE_NOOP("actions", "&Module panel"),
        lambda c: c.panes.toggle("module"),
        ("F7",),
        _OPENS,
        (MODEL,),
    )
    yield Action(
        "maximiseMiddle",
        VIEW,
        QT_TRANSLATE_NOOP("actions", "&Focus mode"),
        lambda c: c.panes.maximise(None),
        ("F11",),
        QT_TRANSLATE_NOOP("actions", "Show only the middle panel, or all panels again"),
        (MODEL,),
    )
    for name, title in _TORN_OFF:

        def tear_off(commands: Commands, name: PaneName = name) -> None:
            commands.panes.tear_off(name)

        yield Action(
            f"tearOff{name.title()}",
            VIEW,
            title,
            tear_off,
            tip=QT_TRANSLATE_NOOP("actions", "Choose again to put it back"),
            needs=(MODEL,),
            begins_group=name == "structure",
        )
    yield Action("resetPanes", VIEW, QT_TRANSLATE_NOOP("actions", "&Reset layout"),
                 lambda c: c.panes.reset(), needs=(MODEL,))  # fmt: skip


_OPENS = QT_TRANSLATE_NOOP("actions", "Show or hide this panel")
_TORN_OFF: tuple[tuple[PaneName, str], ...] = (
    ("structure", QT_TRANSLATE_NOOP("actions", "Open Structure in its own window")),
    ("module", QT_TRANSLATE_NOOP("actions", "Open Module in its own window")),
    ("run", QT_TRANSLATE_NOOP("actions", "Open Run in its own window")),
)


ENTRIES: tuple[Entry, ...] = (
    Choice("openModel", FILE, QT_TRANSLATE_NOOP("actions", "Open &model"), _models,
           lambda c, name: c.opening.open_named(name), opens=True),
    Action("openFolder", FILE, QT_TRANSLATE_NOOP("actions", "&Open folder…"),
           lambda c: c.opening.choose_folder(), ("Ctrl+O",)),
    Action("openFile", FILE, QT_TRANSLATE_NOOP("actions", "Open f&ile…"),
           lambda c: c.opening.choose_file(), ("Ctrl+Alt+O",)),
    Action("openHub", FILE, QT_TRANSLATE_NOOP("actions", "Open from &Hugging Face…"),
           lambda c: c.opening.choose_hub(), ("Ctrl+Shift+O",)),
    Choice("openRecent", FILE, QT_TRANSLATE_NOOP("actions", "Open &recent"), _recent,
           lambda c, name: c.opening.open_recent(name), opens=True, is_slow=True, keys="Ctrl"),
    Action("openAgain", FILE, QT_TRANSLATE_NOOP("actions", "Re&load"),
           lambda c: c.opening.open_again(), ("F5",),
           QT_TRANSLATE_NOOP("actions", "Read the open model’s files again"), (MODEL,)),
    Choice("head", FILE, QT_TRANSLATE_NOOP("actions", "Task hea&d"), _heads,
           lambda c, name: c.workspace.open_head(name), _head, (MODEL,), begins_group=True),
    Choice("compareWith", FILE, QT_TRANSLATE_NOOP("actions", "Compare &with"), _compared,
           lambda c, name: c.comparing.compare_with(name), needs=(MODEL, IDLE), compares=True,
           is_slow=True, begins_group=True),
    Action("compareFolder", FILE, QT_TRANSLATE_NOOP("actions", "&Compare with a model folder…"),
           lambda c: c.comparing.choose_folder(), ("Ctrl+Shift+D",), needs=(MODEL, IDLE)),
    Action("compareFile", FILE, QT_TRANSLATE_NOOP("actions", "Com&pare with a model file…"),
           lambda c: c.comparing.choose_file(), needs=(MODEL, IDLE)),
    Action("compareHub", FILE, QT_TRANSLATE_NOOP("actions", "Compare with a H&ugging Face model…"),
           lambda c: c.opening.choose_hub(c.comparing.compare_with), needs=(MODEL, IDLE)),
    # A report of a run that is still going on would be one without it.
    Action("exportPdf", FILE, QT_TRANSLATE_NOOP("actions", "&Export report…"),
           lambda c: c.exporting.choose_report(), ("Ctrl+E", "Ctrl+Shift+E"), needs=(MODEL, IDLE),
           begins_group=True),
    Action("exportModules", FILE, QT_TRANSLATE_NOOP("actions", "Export modules as CS&V…"),
           lambda c: c.exporting.choose_modules(), needs=(MODEL, IDLE)),
    Action("saveMapPicture", FILE, QT_TRANSLATE_NOOP("actions", "Export map as image…"),
           _save_map, needs=(MODEL,)),
    Action("saveRuns", FILE, QT_TRANSLATE_NOOP("actions", "&Save run as…"),
           lambda c: c.exporting.choose_runs(), ("Ctrl+S",),
           QT_TRANSLATE_NOOP("actions", "Save to a file that bertviewer can "
"open without the model"),
           (RAN, IDLE)),
    Action("showWelcome", FILE, QT_TRANSLATE_NOOP("actions", "S&tart page"),
           lambda c: c.show_welcome(), ("Alt+Home",),
           QT_TRANSLATE_NOOP("actions", "Models to open and questions to start with"),
           begins_group=True),
    Action("quit", FILE, QT_TRANSLATE_NOOP("actions", "&Quit"),
           lambda c: c.close(), ("Ctrl+Q",), begins_group=True),

    Action("palette", GO, QT_TRANSLATE_NOOP("actions", "&Search…"),
           lambda c: c.finder.open(), ("Ctrl+K", "Ctrl+P"),
           QT_TRANSLATE_NOOP("actions", "Find modules, heads, tensors, tokens, formula symbols, "
                             "questions, commands and settings")),
    Action("findCommand", GO, QT_TRANSLATE_NOOP("actions", "Search co&mmands…"),
           lambda c: c.finder.open(FIND_COMMANDS), ("Ctrl+Shift+P",)),
    Action("findSetting", GO, QT_TRANSLATE_NOOP("actions", "Search se&ttings…"),
           lambda c: c.finder.open(FIND_SETTINGS), ("Ctrl+,",)),
    Action("goBack", GO, QT_TRANSLATE_NOOP("actions", "&Back"),
           lambda c: c.workspace.history.back(), ("Alt+Left",), needs=(BACK,),
           begins_group=True),
    Action("goForward", GO, QT_TRANSLATE_NOOP("actions", "&Forward"),
           lambda c: c.workspace.history.forward(), ("Alt+Right",), needs=(FORWARD,)),
    Action("focusFilter", GO, QT_TRANSLATE_NOOP("actions", "F&ilter modules"),
           lambda c: c.focus("treeFilter"), ("Ctrl+F",), needs=(MODEL,), begins_group=True),
    Action("focusSentence", GO, QT_TRANSLATE_NOOP("actions", "&Edit the sentence"),
           lambda c: c.focus("sentenceEdit"), ("Ctrl+L",), needs=(MODEL,)),

    Action("copyPath", MODULE, QT_TRANSLATE_NOOP("actions", "&Copy path"),
           lambda c: module_actions.copy_path(c.workspace), ("Ctrl+Alt+C",), needs=(MODEL,)),
    Action("copyPython", MODULE, QT_TRANSLATE_NOOP("actions", "Copy as &Python"),
           lambda c: module_actions.copy_python(c.workspace),
           tip=QT_TRANSLATE_NOOP("actions", "Python expression for this module, "
"such as model.layer[3]"),
           needs=(MODEL,)),
    Action("copyRowCsv", MODULE, QT_TRANSLATE_NOOP("actions", "Copy row as CS&V"),
           lambda c: module_actions.copy_csv(c.workspace), needs=(MODEL,)),
    Action("copyRowMarkdown", MODULE, QT_TRANSLATE_NOOP("actions", "Copy row as &Markdown"),
           lambda c: module_actions.copy_markdown(c.workspace), needs=(MODEL,)),
    *_show_tabs(),
    Action("showValues", MODULE, QT_TRANSLATE_NOOP("actions", "Show activ&ations"),
           lambda c: module_actions.show_values(c.workspace),
           tip=QT_TRANSLATE_NOOP("actions", "All values of its inputs and output in the last run"),
           needs=(MODEL, RAN, CALLED), begins_group=True),
    Action("checkModule", MODULE, QT_TRANSLATE_NOOP("actions", "Verif&y"),
           lambda c: module_actions.check(c.workspace),
           tip=QT_TRANSLATE_NOOP("actions", "Recompute its output of the last run and compare"),
           needs=(MODEL, IDLE, RAN, CALLED)),

    Action("enlargeViews", VIEW, QT_TRANSLATE_NOOP("actions", "Maximi&ze run panel"),
           lambda c: c.panes.maximise("run"), ("Ctrl+M",), needs=(RAN,)),
    *_panes(),
    Choice("statistic", VIEW, QT_TRANSLATE_NOOP("actions", "&Statistic"), _statistics,
           _choose_statistic, needs=(RAN,), begins_group=True),
    Action("largerText", VIEW, QT_TRANSLATE_NOOP("actions", "&Larger text"),
           lambda c: c.step_text_size(1), ("Ctrl++", "Ctrl+="), begins_group=True),
    Action("smallerText", VIEW, QT_TRANSLATE_NOOP("actions", "Smaller te&xt"),
           lambda c: c.step_text_size(-1), ("Ctrl+-",)),
    Action("usualText", VIEW, QT_TRANSLATE_NOOP("actions", "R&eset text size"),
           lambda c: c.step_text_size(0), ("Ctrl+0",)),
    Choice("appearance", VIEW, QT_TRANSLATE_NOOP("actions", "&Appearance"), _appearances,
           lambda c, name: c.set_appearance(name), lambda _: stored_appearance(),
           begins_group=True),

    Action("runSentence", RUN, QT_TRANSLATE_NOOP("actions", "&Run the sentence"),
           lambda c: c.run(), ("Ctrl+R",), needs=(MODEL, IDLE)),
    Action("runCorpus", RUN, QT_TRANSLATE_NOOP("actions", "Run a c&orpus…"),
           lambda c: c.corpora.open_dialog(),
           tip=QT_TRANSLATE_NOOP("actions", "Collect statistics over text files; can "
"be resumed if stopped"),
           needs=(MODEL, IDLE)),
    Action("cancel", RUN, QT_TRANSLATE_NOOP("actions", "&Cancel"),
           lambda c: c.workspace.scheduler.cancel(), ("Ctrl+.",), needs=(BUSY,)),
    Action("keepAsA", RUN, QT_TRANSLATE_NOOP("actions", "&Pin as baseline (A)"),
           lambda c: c.workspace.runs.keep(), ("Ctrl+Shift+K",),
           QT_TRANSLATE_NOOP("actions", "Compare later runs (B) with this run"), (RAN,)),
    Choice("device", RUN, QT_TRANSLATE_NOOP("actions", "&Device"), _devices,
           lambda c, name: c.set_device(name), lambda c: c.workspace.device, begins_group=True),

    Action("userGuide", HELP, QT_TRANSLATE_NOOP("actions", "&User guide"),
           lambda c: c.show_guide(), ("F1",),
           QT_TRANSLATE_NOOP("actions", "Read and search the user guide")),
    Action("keys", HELP, QT_TRANSLATE_NOOP("actions", "&Keyboard shortcuts"),
           lambda c: c.show_guide("shortcuts.md"), ("Ctrl+F1",),
           QT_TRANSLATE_NOOP("actions", "All keyboard shortcuts, by menu and by pane")),
    Action("whatIsWhat", HELP, QT_TRANSLATE_NOOP("actions", "&Glossary"),
           lambda c: c.show_guide("glossary.md"), ("Shift+F1",),
           QT_TRANSLATE_NOOP("actions", "What the terms in the window mean")),
    Action("about", HELP, QT_TRANSLATE_NOOP("actions", "&About bertviewer"),
           lambda c: c.show_about(), begins_group=True),
)  # fmt: skip


def action_of(name: str) -> Action:
    """Return the action of that name."""
    return next(each for each in ENTRIES if isinstance(each, Action) and each.name == name)
