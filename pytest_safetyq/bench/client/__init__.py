"""The client: what a test process holds of a bench that another process owns."""
