"""What the user asked to open: its name, its configuration, its head."""
