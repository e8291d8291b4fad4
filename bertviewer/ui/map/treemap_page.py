"""The treemap with what it is of: which module, and what its areas are."""

from functools import partial

from PySide6.QtCore import QObject, Signal
from PySide6.QtGui import QAction

from bertviewer.charts.graph.draw_items import NodeColor
from bertviewer.charts.map.coloring import MapColoring
from bertviewer.charts.map.part_graphs import PartGraphs
from bertviewer.charts.map.treemap import AREA_KINDS, Area, AreaKind, areas_of
from bertviewer.charts.map.values import MapData
from bertviewer.charts.parts import parts_of
from bertviewer.charts.theme import Part as Hue
from bertviewer.core.util.numbers import short_count
from bertviewer.ui.map.measure_choice import capitalised
from bertviewer.ui.map.treemap_view import TreemapView
from bertviewer.ui.settings.translation import QT_TRANSLATE_NOOP, translate
from bertviewer.ui.widgets.buttons import MenuButton

_TITLES: dict[AreaKind, str] = {
    "parameters": QT_TRANSLATE_NOOP("map", "parameters"),
    "macs": QT_TRANSLATE_NOOP("map", "multiply-adds"),
    "memory": QT_TRANSLATE_NOOP("map", "weight memory"),
}

_UNITS: dict[AreaKind, str] = {**_TITLES, "memory": QT_TRANSLATE_NOOP("map", "bytes")}


class TreemapPage(QObject):
    """Shows a model or a module of it as a treemap; ``changed`` says that another one is shown."""

    changed = Signal()

    def __init__(self) -> None:
        super().__init__()
        self.view = TreemapView()
        self.choice = MenuButton("mapArea", self.tr("Choose what areas show"))
        self._actions: dict[AreaKind, QAction] = {
            kind: self.choice.add(kind, capitalised(translate("map", _TITLES[kind])))
            for kind in AREA_KINDS
        }
        self.path = ""
        self._kind: AreaKind = "parameters"
        self._atlas: PartGraphs | None = None
        self._known = MapData()
        self._coloring: MapColoring | None = None
        self._hues: dict[str, Hue] = {}
        self._total = 0.0
        self._figures: dict[str, float] = {}
        self.choice.chosen.connect(self._on_chosen)
        self._name_choice()
        self.view.opened.connect(self.open)
        self.view.left.connect(self.up)

    @property
    def facts(self) -> str:
        """What is shown in a line."""
        share = self._figures.get(self.path, 0.0)
        text = f"{share:,.0f} {translate('map', _UNITS[self._kind])}"
        if not self.path or not self._total:
            return text
        of = translate("map", "{0}, {1} of the model")
        return of.format(text, f"{share / self._total:.1%}")

    def set_model(self, atlas: PartGraphs, known: MapData, coloring: MapColoring) -> None:
        """Show another model, or the same one in other colours."""
        if self._atlas is None or self._atlas.architecture is not atlas.architecture:
            self.path = "" if atlas.module(self.path) is None else self.path
            self._hues = parts_of(atlas.architecture.modules)
        self._atlas, self._known, self._coloring = atlas, known, coloring
        if self.view.isVisible():
            self.show_areas()

    def show_areas(self) -> None:
        """Work the areas out anew."""
        if self._atlas is None or self._coloring is None:
            return
        architecture, run = self._atlas.architecture, self._known.run
        whole = areas_of(architecture, self._kind, run)
        self._total = whole.value
        self._figures = {}
        self._note(whole)
        self.view.tint = partial(self.tint, self._coloring)
        self.view.tip = self._tip
        self.view.show_area(areas_of(architecture, self._kind, run, self.path))
        self.changed.emit()

    def open(self, path: str) -> None:
        """Show a module alone, with all the room for what is in it."""
        if self._atlas is not None and self._atlas.architecture.children(path):
            self.path = path
            self.show_areas()

    def up(self) -> None:
        """Show what is around the module that is shown."""
        if self.path:
            self.open(self.path.rpartition(".")[0])

    def _note(self, area: Area) -> None:
        if area.name:
            self._figures[area.path] = area.value
        for part in area.parts:
            self._note(part)

    def tint(self, coloring: MapColoring, path: str) -> NodeColor:
        """Return a module's colour and figure."""
        figure = self._figure(self._figures.get(path, 0.0))
        return coloring.module(path, self._hues.get(path, "plain"), figure)

    def _figure(self, value: float) -> str:
        text = short_count(round(value))
        return f"{text}B" if self._kind == "memory" and text[-1:].isalpha() else text

    def _tip(self, area: Area) -> str:
        module = None if self._atlas is None else self._atlas.module(area.path)
        unit = translate("map", _UNITS[self._kind])
        share = area.value / self._total if self._total else 0.0
        name = area.path or area.name
        if not area.name:
            name = translate("map", "{0} itself, excluding its parts").format(area.path)
        lines = [name, "" if module is None else module.class_name]
        lines.append(f"{area.value:,.0f} {unit} · {share:.2%}")
        return "\n".join(line for line in lines if line)

    def _name_choice(self) -> None:
        text = self.tr("Area: {0}").format(translate("map", _TITLES[self._kind]))
        self.choice.show_choice(self._actions[self._kind], text)

    def _on_chosen(self, kind: AreaKind) -> None:
        self._kind = kind
        self._name_choice()
        self.show_areas()
