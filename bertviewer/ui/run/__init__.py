"""What is seen of a run below the sentence: its tokens and its views."""
