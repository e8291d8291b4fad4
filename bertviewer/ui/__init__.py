"""What is on screen: the workspace, jobs, models for views, tabs and actions."""

from bertviewer.plots import restore_import as restore_import
