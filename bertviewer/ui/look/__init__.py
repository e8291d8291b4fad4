"""How the window looks: its palette, and the style sheet of its controls."""
