"""What is on screen: the workspace, jobs, models for views, tabs and actions."""
