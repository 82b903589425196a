"""The supervisor: the process that owns every link, and outlives the test process."""
