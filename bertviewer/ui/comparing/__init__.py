"""The window in which two models stand side by side."""
