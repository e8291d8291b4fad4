"""What the selected module is, beside everything else that shows it."""
