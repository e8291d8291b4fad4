"""The few places where the record asks the program: what is renamed there is changed here."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import bertviewer

Facts = Mapping[str, Any]
"""What is recorded of one thing, by name; plain values, lists and mappings of them."""


def open_model(source: str, task: str) -> "bertviewer.Model":
    """Open a model as the commands do, and derive all that can be derived."""
    import bertviewer

    model = bertviewer.open(source, task)
    model.to_json()
    return model


def summary(model: "bertviewer.Model") -> dict[str, Any]:
    """Return what ``summary --format json`` prints."""
    return model.to_json()


def module_formulas(model: "bertviewer.Model") -> Iterator[tuple[str, Facts]]:
    """Yield each module with its formula as the window shows it."""
    from bertviewer.core.formulas.catalogue import formula_of

    architecture = model.architecture
    for node in architecture.modules:
        name = f"{node.path or '(model)'}: {node.class_name}"
        formula, count = formula_of(node, architecture), model.formula(node.path)
        facts: dict[str, Any] = {
            "count": count.text,
            "count in numbers": count.numbers,
            "parameters": count.result,
            "valid if": count.domain,
            "formula from": node.formula_from,
        }
        if formula is not None:
            facts |= {
                "title": formula.title,
                "summary": formula.summary,
                "maths": list(formula.maths),
                "term": [f"{t.symbol} | {t.meaning} | {t.value}" for t in formula.terms],
                "note": list(formula.notes),
                "reference": formula.source,
                "configuration keys": ", ".join(formula.config_keys),
            }
        yield name, facts


def walkthrough(model: "bertviewer.Model") -> Iterator[tuple[str, Facts]]:
    """Yield the parts of the walkthrough with their steps, and the groups of the count."""
    from bertviewer.core.walkthrough.build import build_walkthrough
    from bertviewer.core.walkthrough.counts import (
        count_components,
        relations_text,
        subtotal,
        usual_relations,
    )

    architecture = model.architecture
    found = build_walkthrough(architecture)
    formulas = {node.path: node.forward_formula for node in architecture.modules}
    for section in found.sections:
        yield (
            f"part {section.title}",
            {
                "kind": section.kind,
                "times": section.times,
                "letters": section.symbols,
                "parameters": section.parameters,
                "expected": section.expected,
                "in order of execution": section.is_executed,
            },
        )
        for step in section.steps:
            is_part = not step.is_layers and step.paths != (step.path,) and step.path is not None
            count, input_shape, output_shape = step.count, step.input_shape, step.output_shape
            facts = {
                "input": input_shape and f"{input_shape.text} = {input_shape.numbers}",
                "output": output_shape and f"{output_shape.text} = {output_shape.numbers}",
                "count": count.symbols,
                "count in numbers": count.numbers,
                "parameters": count.parameters,
                "trainable": count.trainable,
                "text": step.note,
                "others": ", ".join(step.paths if step.is_layers else ()),
                "modules": ", ".join(step.locations if is_part else ()),
                "formula": None if step.path is None else formulas.get(step.path),
            }
            yield f"{section.title} / {step.name} [{step.path}]", facts
    counts = count_components(found, architecture, usual_relations(architecture.symbols))
    below = subtotal(found, architecture)
    yield (
        "count",
        {
            "group": [f"{each.title}: {each.text}" for each in counts.components],
            "relations": relations_text(counts.relations),
            "total": counts.total,
            "tensors": counts.tensors,
            "subtotal": below and f"{below.parameters} without {below.difference}",
            "reconciles": found.reconciles,
        },
    )


def what_if(model: "bertviewer.Model") -> Iterator[tuple[str, Facts]]:
    """Yield scenarios, each letter doubled and one more, with the figures of the model."""
    from bertviewer.core.what_if.scenario import Scenario, evaluate_scenario
    from bertviewer.core.what_if.sheet import ScenarioError, Sheet
    from bertviewer.ui.what_if.texts import problem_text

    sheet = Sheet.of(model.architecture)
    top = [node.path for node in model.architecture.modules if node.depth <= 1]
    for symbol in sheet.symbols:
        if symbol.name not in sheet.free:
            continue
        for value in (2 * symbol.value, symbol.value + 1):
            facts: dict[str, Any]
            try:
                outcome = evaluate_scenario(Scenario(sheet, {symbol.name: value}))
            except ScenarioError as error:
                facts = {"problem": sorted(map(problem_text, error.problems))}
            else:
                peak = outcome.peak()
                facts = {"peak": peak and peak.value}
                facts["warning"] = sorted(map(problem_text, outcome.warnings))
                for path in top:
                    macs = outcome.macs(path)
                    facts[f"parameters of {path or 'the model'}"] = outcome.parameters(path).value
                    facts[f"multiply-adds of {path or 'the model'}"] = macs and macs.value
            yield f"{symbol.name} = {value}", facts


def flow(model: "bertviewer.Model", path: str) -> dict[str, Any]:
    """Return what ``flow MODEL PATH --format json`` prints."""
    return model.flow(path)


def modules(model: "bertviewer.Model") -> Iterator[tuple[str, str]]:
    """Yield the path and the class of every module."""
    for node in model.architecture.modules:
        yield node.path, node.class_name


def run(model: "bertviewer.Model", sentence: str, pair: str | None) -> "bertviewer.Run":
    """Run a sentence as ``run --check --random-weights`` does."""
    return model.run(sentence, pair, random_weights=True, check=True)


def report(model: "bertviewer.Model", run: "bertviewer.Run | None", folder: Path) -> str:
    """Return the report in Markdown."""
    from bertviewer.api.drawing import drawing_here

    with drawing_here():
        return model.report(folder / "report.md", run).read_text("utf-8")


def compare(left: str, right: str) -> dict[str, Any]:
    """Return what ``compare LEFT RIGHT --format json`` prints."""
    import bertviewer

    return bertviewer.compare(left, right).to_json()
