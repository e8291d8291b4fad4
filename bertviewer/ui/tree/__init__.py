"""The module tree: its rows and columns, its filter, and how they are drawn."""
