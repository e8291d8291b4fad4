"""What one sentence gave, as plain data: tokens, statistics, checks."""
