"""What a person left is there again."""
