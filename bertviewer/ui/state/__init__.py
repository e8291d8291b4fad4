"""State of the window: the workspace with model, selection and runs."""
