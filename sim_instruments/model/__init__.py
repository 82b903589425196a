"""A simulated instrument, whatever the wire: messages in, replies and a new state out."""
