"""What a learner asks, where it is asked, and the known answer with its source: plain data."""
