"""Actions: one record per command, for menus, palette, shortcuts and tooltips."""
