"""The main window: bars, menus, tabs, session and dialogs around the views."""
