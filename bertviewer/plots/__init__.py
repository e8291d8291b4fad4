"""Plots: charts painted with Qt, for the window, reports and files.

``canvas_plot`` has the base class; ``heatmap``, ``token_matrix``, ``head_grid``, ``arc_plot``,
``line_plot`` and ``histogram_plot`` have the plots; ``export`` has the file formats.
"""

from bertviewer.plots import restore_import as restore_import
