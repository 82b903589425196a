"""The server: a bench of instruments in a process of its own."""
