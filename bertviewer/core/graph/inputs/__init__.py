"""What models of every kind are called with, from their forward's names and their configuration."""
