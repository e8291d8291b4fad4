"""Numbers to pyqtgraph plot items, for the window and for paper alike."""
