"""What is on screen: the workspace, jobs, models for views, tabs and actions."""

from bertviewer.plots import plain_import as plain_import
