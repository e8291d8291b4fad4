"""Numbers to pyqtgraph plot items, for the window and for paper alike."""

from bertviewer.plots import plain_import as plain_import
