"""The report dialog: options, preview and the written file."""
