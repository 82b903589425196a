"""What a run leaves as evidence, and the files it is written to."""
