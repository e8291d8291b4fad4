"""A tensor's singular values, and what they tell of its rank."""

from typing import Any

from PySide6.QtWidgets import QVBoxLayout, QWidget

from bertviewer.core.tensors.matrix import Matrix
from bertviewer.core.tensors.spectrum import SHARE, Spectrum, cost
from bertviewer.plots.spectrum_plot import SpectrumPlot
from bertviewer.plots.tensor_charts import spectrum_chart
from bertviewer.plots.theme import PlotTheme
from bertviewer.ui import tasks
from bertviewer.ui.facts import plain_label
from bertviewer.ui.run.chart_panel import ChartPanel
from bertviewer.ui.tensors.asking import ModelTask
from bertviewer.ui.tensors.page import Page
from bertviewer.ui.tensors.subject import Subject
from bertviewer.ui.workspace import Workspace

MOST_COST = 20_000_000_000
"""Multiplications that take a second or two: what takes more is not begun unasked."""

NO_BREAK = "\u00a0"


class SpectrumPage(Page):
    """Singular values on a logarithmic axis, and a line of figures above them."""

    def __init__(self, workspace: Workspace, parent: QWidget | None = None) -> None:
        super().__init__(workspace, parent)
        self._agreed: Matrix | None = None
        self._panel = ChartPanel(workspace, self.tr("Singular values"), SpectrumPlot)
        self._panel.plot.setObjectName("spectrumPlot")
        self._facts = plain_label("")
        self._facts.setObjectName("spectrumFacts")
        self._facts.setToolTip(
            self.tr(
                "The rank counts what is more than rounding; the effective rank is exp of the "
                "entropy of the values' shares; the stable rank is the sum of the squares by the "
                "largest square."
            )
        )
        content = QWidget()
        layout = QVBoxLayout(content)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(2)
        layout.addWidget(self._panel, 1)
        layout.addWidget(self._facts)
        self.set_content(content)

    def task(self, subject: Subject) -> ModelTask:
        """Return the decomposition."""
        return lambda model, progress: tasks.singular_values(subject.matrix, model, progress)

    def draw(self, subject: Subject, result: Any) -> None:
        """Show the values and what they tell."""
        assert isinstance(result, Spectrum)
        self._panel.show_charts(spectrum_chart(result))
        self._facts.setText(self._text(result))

    def why_not(self, subject: Subject) -> str:
        """Say that a vector has but its norm, or that it would take long."""
        matrix = subject.matrix
        if subject.is_vector and min(matrix.shape):
            return self.tr("A vector has one singular value: its norm.")
        if matrix != self._agreed and cost(matrix.shape) > MOST_COST:
            return self.tr(
                "The singular values of {0} × {1} elements take about {2} billion multiplications: "
                "from some seconds to minutes."
            ).format(*(f"{size:,}" for size in (*matrix.shape, cost(matrix.shape) // 10**9)))
        return super().why_not(subject)

    def way_out(self, subject: Subject) -> str:
        """Offer to compute what takes long."""
        is_long = not subject.is_vector and cost(subject.matrix.shape) > MOST_COST
        return self.tr("Compute all the same") if is_long else ""

    def insist(self) -> None:
        """Compute what takes long."""
        self._agreed = None if self.subject is None else self.subject.matrix

    def forget(self) -> None:
        """Keep nothing: the model is another one."""
        super().forget()
        self._agreed = None

    def set_theme(self, theme: PlotTheme) -> None:
        """Draw in other colours."""
        self._panel.set_theme(theme)

    def _text(self, found: Spectrum) -> str:
        parts = [
            self.tr("largest {0}").format(f"{found.largest:.7g}"),
            self.tr("Frobenius norm {0}").format(f"{found.norm:.7g}"),
        ]
        if found.effective_rank is not None and found.stable_rank is not None:
            parts += [
                self.tr("rank {0} of {1}").format(found.rank, len(found.values)),
                self.tr("effective rank {0}").format(f"{found.effective_rank:.2f}"),
                self.tr("stable rank {0}").format(f"{found.stable_rank:.2f}"),
                self.tr("{0} values hold {1} of the squares").format(
                    found.needed(), f"{SHARE:.0%}"
                ),
            ]
        if found.condition is not None:
            parts.append(self.tr("condition number {0}").format(f"{found.condition:.4g}"))
        # A line ends between two figures, and not in one of them.
        return " · ".join(part.replace(" ", NO_BREAK) for part in parts)
