"""Table of the window's actions, for menus, palette, shortcuts and tooltips."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Protocol

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
    Condition,
    Entry,
    Option,
)
from bertviewer.ui.palette.matching import COMMANDS, SETTINGS
from bertviewer.ui.settings.translation import QT_TRANSLATE_NOOP, translate
from bertviewer.ui.state.pages import MODULE_PAGES, Page
from bertviewer.ui.theme.appearance import DARK_NAME, LIGHT_NAME, SYSTEM, stored_appearance

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from bertviewer.ui.compare.controller import ComparisonController
    from bertviewer.ui.corpus.controller import CorpusController
    from bertviewer.ui.docks.dock import PaneName
    from bertviewer.ui.docks.panes import Panes
    from bertviewer.ui.palette.palette import Palette
    from bertviewer.ui.shell.exporting import Exporting
    from bertviewer.ui.shell.opening import Opening
    from bertviewer.ui.state.workspace import Workspace

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

_PAGE_KEYS = {Page.MAP: ("Ctrl+Return", "Ctrl+D"), Page.TENSORS: ("Ctrl+I",)}
"""Netron's keys: for a node's properties and attributes, and for weights.

Ctrl with a number opens a recent model there, and Alt with a number shows a tab elsewhere.
"""


class Window(Protocol):
    """The main window, as far as actions use it."""

    workspace: Workspace
    opening: Opening
    comparing: ComparisonController
    corpora: CorpusController
    exporting: Exporting
    panes: Panes
    finder: Palette

    def show_welcome(self) -> None: ...  # noqa: D102
    def run(self) -> None: ...  # noqa: D102
    def export_map(self) -> None: ...  # noqa: D102
    def focus(self, name: str) -> None: ...  # noqa: D102
    def step_text_size(self, step: int) -> None: ...  # noqa: D102
    def set_appearance(self, name: str) -> None: ...  # noqa: D102
    def set_device(self, name: str) -> None: ...  # noqa: D102
    def show_guide(self, address: str = "") -> None: ...  # noqa: D102
    def show_about(self) -> None: ...  # noqa: D102
    def close(self) -> bool: ...  # noqa: D102


def menu_titles() -> tuple[str, ...]:
    """Return the titles of the menus in the menu bar."""
    return (
        translate("actions", "&File"),
        translate("actions", "&Go"),
        translate("actions", "&Module"),
        translate("actions", "&View"),
        translate("actions", "&Run"),
        translate("actions", "&Help"),
    )


def action_table(window: Window) -> tuple[Entry, ...]:
    """Return the actions of a window, in the order of its menus."""
    file, go, module, view, run, guide = menu_titles()
    workspace, panes = window.workspace, window.panes
    opening, comparing = window.opening, window.comparing
    exporting, corpora = window.exporting, window.corpora
    lists = _Lists(window)
    return (
        Choice("openModel", file, translate("actions", "Open &model"), lists.models,
               opening.open_named, opens=True),
        Action("openFolder", file, translate("actions", "&Open folder…"),
               opening.choose_folder, ("Ctrl+O",)),
        Action("openFile", file, translate("actions", "Open f&ile…"),
               opening.choose_file, ("Ctrl+Alt+O",)),
        Action("openHub", file, translate("actions", "Open from &Hugging Face…"),
               opening.choose_hub, ("Ctrl+Shift+O",)),
        Choice("openRecent", file, translate("actions", "Open &recent"), lists.recent,
               opening.open_recent, opens=True, is_slow=True, keys="Ctrl"),
        Action("openAgain", file, translate("actions", "Re&load"),
               opening.open_again, ("F5",),
               translate("actions", "Read the open model’s files again"), (MODEL,)),
        Choice("head", file, translate("actions", "Task hea&d"), lists.heads,
               workspace.open_head, lists.head, (MODEL,), begins_group=True),
        Choice("compareWith", file, translate("actions", "Compare &with"), lists.compared,
               comparing.compare_with, needs=(MODEL, IDLE), compares=True,
               is_slow=True, begins_group=True),
        Action("compareFolder", file, translate("actions", "&Compare with a model folder…"),
               comparing.choose_folder, ("Ctrl+Shift+D",), needs=(MODEL, IDLE)),
        Action("compareFile", file, translate("actions", "Com&pare with a model file…"),
               comparing.choose_file, needs=(MODEL, IDLE)),
        Action("compareHub", file, translate("actions", "Compare with a H&ugging Face model…"),
               lambda: opening.choose_hub(comparing.compare_with), needs=(MODEL, IDLE)),
        # A report of a run that is still going on would be one without it.
        Action("exportPdf", file, translate("actions", "&Export report…"),
               exporting.choose_report, ("Ctrl+E", "Ctrl+Shift+E"), needs=(MODEL, IDLE),
               begins_group=True),
        Action("exportModules", file, translate("actions", "Export modules as CS&V…"),
               exporting.choose_modules, needs=(MODEL, IDLE)),
        Action("saveMapPicture", file, translate("actions", "Export map as image…"),
               window.export_map, needs=(MODEL,)),
        Action("saveRuns", file, translate("actions", "&Save run as…"),
               exporting.choose_runs, ("Ctrl+S",),
               translate("actions", "Save to a file that bertviewer can "
                         "open without the model"),
               (RAN, IDLE)),
        Action("showWelcome", file, translate("actions", "S&tart page"),
               window.show_welcome, ("Alt+Home",),
               translate("actions", "Models to open and questions to start with"),
               begins_group=True),
        Action("quit", file, translate("actions", "&Quit"),
               window.close, ("Ctrl+Q",), begins_group=True),

        Action("palette", go, translate("actions", "&Search…"),
               window.finder.open, ("Ctrl+K", "Ctrl+P"),
               translate("actions", "Find modules, heads, tensors, tokens, formula symbols, "
                                 "questions, commands and settings")),
        Action("findCommand", go, translate("actions", "Search co&mmands…"),
               lambda: window.finder.open(COMMANDS), ("Ctrl+Shift+P",)),
        Action("findSetting", go, translate("actions", "Search se&ttings…"),
               lambda: window.finder.open(SETTINGS), ("Ctrl+,",)),
        Action("goBack", go, translate("actions", "&Back"),
               workspace.history.back, ("Alt+Left",), needs=(BACK,),
               begins_group=True),
        Action("goForward", go, translate("actions", "&Forward"),
               workspace.history.forward, ("Alt+Right",), needs=(FORWARD,)),
        Action("focusFilter", go, translate("actions", "F&ilter modules"),
               lambda: window.focus("treeFilter"), ("Ctrl+F",), needs=(MODEL,), begins_group=True),
        Action("focusSentence", go, translate("actions", "&Edit the sentence"),
               lambda: window.focus("sentenceEdit"), ("Ctrl+L",), needs=(MODEL,)),

        Action("copyPath", module, translate("actions", "&Copy path"),
               partial(module_actions.copy_path, workspace), ("Ctrl+Alt+C",), needs=(MODEL,)),
        Action("copyPython", module, translate("actions", "Copy as &Python"),
               partial(module_actions.copy_python, workspace),
               tip=translate("actions", "Python expression for this module, "
                             "such as model.layer[3]"),
               needs=(MODEL,)),
        Action("copyRowCsv", module, translate("actions", "Copy row as CS&V"),
               partial(module_actions.copy_csv, workspace), needs=(MODEL,)),
        Action("copyRowMarkdown", module, translate("actions", "Copy row as &Markdown"),
               partial(module_actions.copy_markdown, workspace), needs=(MODEL,)),
        *_show_pages(workspace, module),
        Action("showValues", module, translate("actions", "Show activ&ations"),
               partial(module_actions.show_values, workspace),
               tip=translate("actions", "All values of its inputs and output in the last run"),
               needs=(MODEL, RAN, CALLED), begins_group=True),
        Action("checkModule", module, translate("actions", "Verif&y"),
               partial(module_actions.check, workspace),
               tip=translate("actions", "Recompute its output of the last run and compare"),
               needs=(MODEL, IDLE, RAN, CALLED)),

        Action("enlargeViews", view, translate("actions", "Maximi&ze run panel"),
               partial(panes.maximize, "run"), ("Ctrl+M",), needs=(RAN,)),
        Action("toggleStructure", view, translate("actions", "S&tructure panel"),
               partial(panes.toggle, "structure"), ("F6",),
               translate("actions", "Show or hide this panel"), (MODEL,)),
        Action("toggleModule", view, translate("actions", "&Module panel"),
               partial(panes.toggle, "module"), ("F7",),
               translate("actions", "Show or hide this panel"), (MODEL,)),
        Action("maximiseMiddle", view, translate("actions", "&Focus mode"),
               partial(panes.maximize, None), ("F11",),
               translate("actions", "Show only the middle panel, or all panels again"), (MODEL,)),
        *_undock_actions(panes, view),
        Action("resetPanes", view, translate("actions", "&Reset layout"),
               panes.reset, needs=(MODEL,)),
        Choice("statistic", view, translate("actions", "&Statistic"), _statistics,
               partial(workspace.show_page, Page.LAYERS), needs=(RAN,), begins_group=True),
        Action("largerText", view, translate("actions", "&Larger text"),
               lambda: window.step_text_size(1), ("Ctrl++", "Ctrl+="), begins_group=True),
        Action("smallerText", view, translate("actions", "Smaller te&xt"),
               lambda: window.step_text_size(-1), ("Ctrl+-",)),
        Action("usualText", view, translate("actions", "R&eset text size"),
               lambda: window.step_text_size(0), ("Ctrl+0",)),
        Choice("appearance", view, translate("actions", "&Appearance"), _appearances,
               window.set_appearance, stored_appearance,
               begins_group=True),

        Action("runSentence", run, translate("actions", "&Run the sentence"),
               window.run, ("Ctrl+R",), needs=(MODEL, IDLE)),
        Action("runCorpus", run, translate("actions", "Run a c&orpus…"),
               corpora.open_dialog,
               tip=translate("actions", "Collect statistics over text files; can "
                             "be resumed if stopped"),
               needs=(MODEL, IDLE)),
        Action("cancel", run, translate("actions", "&Cancel"),
               workspace.jobs.cancel, ("Ctrl+.",), needs=(BUSY,)),
        Action("keepAsA", run, translate("actions", "&Set as baseline (A)"),
               workspace.runs.keep, ("Ctrl+Shift+K",),
               translate("actions", "Compare later runs (B) with this run"), (RAN,)),
        Choice("device", run, translate("actions", "&Device"), lists.devices,
               window.set_device, lambda: workspace.device, begins_group=True),

        Action("userGuide", guide, translate("actions", "&User guide"),
               window.show_guide, ("F1",),
               translate("actions", "Read and search the user guide")),
        Action("keys", guide, translate("actions", "&Keyboard shortcuts"),
               lambda: window.show_guide("shortcuts.md"), ("Ctrl+F1",),
               translate("actions", "All keyboard shortcuts, by menu and by pane")),
        Action("whatIsWhat", guide, translate("actions", "&Glossary"),
               lambda: window.show_guide("glossary.md"), ("Shift+F1",),
               translate("actions", "What the terms in the window mean")),
        Action("about", guide, translate("actions", "&About bertviewer"),
               window.show_about, begins_group=True),
    )  # fmt: skip


class _Lists:
    """The options of choices, and which of them is chosen."""

    def __init__(self, window: Window) -> None:
        self._workspace, self._opening = window.workspace, window.opening

    def models(self) -> Sequence[Option]:
        return [Option("demo", "demo"), *map(_preset, preset_names())]

    def recent(self) -> Sequence[Option]:
        gone = translate("actions", "{0} (not found)")
        presets = preset_names()
        return [
            _preset(name)
            if name in presets
            else Option(name, name if exists else gone.format(name))
            for name, exists in self._opening.recent
        ]

    def compared(self) -> Sequence[Option]:
        return (*self.models(), *self.recent())

    def heads(self) -> Sequence[Option]:
        random = translate("actions", "{0} (random: not in this checkpoint)")
        is_random = self._workspace.has_random_head
        titles = {task.name: translate("actions", task.title) for task in TASKS}
        return [
            Option(name, random.format(title) if is_random(name) else title)
            for name, title in titles.items()
        ]

    def head(self) -> str:
        architecture = self._workspace.architecture
        return "" if architecture is None else architecture.source.task

    def devices(self) -> Sequence[Option]:
        return [Option(device.name, device.title) for device in self._workspace.devices]


def _preset(name: str) -> Option:
    return Option(name, translate("actions", "{0} (no weights)").format(name))


def _appearances() -> Sequence[Option]:
    return (
        Option(SYSTEM, translate("actions", "Follow system")),
        Option(LIGHT_NAME, translate("actions", "Light")),
        Option(DARK_NAME, translate("actions", "Dark")),
    )


def _statistics() -> Sequence[Option]:
    return [Option(name, name) for name in STATISTIC_NAMES]


def _show_pages(workspace: Workspace, menu: str) -> Iterator[Action]:
    show = translate("actions", "Show {0}")
    for number, page in enumerate(MODULE_PAGES):
        yield Action(
            f"show{page.title().replace(' ', '')}",
            menu,
            show.format(translate("tabs", page)),
            partial(workspace.show_page, page),
            (f"Alt+{number + 1}", *_PAGE_KEYS.get(page, ())),
            needs=(MODEL,),
            begins_group=number == 0,
        )


def _undock_actions(panes: Panes, menu: str) -> Iterator[Action]:
    titles: tuple[tuple[PaneName, str], ...] = (
        ("structure", translate("actions", "Open Structure in its own window")),
        ("module", translate("actions", "Open Module in its own window")),
        ("run", translate("actions", "Open Run in its own window")),
    )
    for name, title in titles:
        yield Action(
            f"tearOff{name.title()}",
            menu,
            title,
            partial(panes.undock, name),
            tip=translate("actions", "Choose again to put it back"),
            needs=(MODEL,),
            begins_group=name == "structure",
        )
