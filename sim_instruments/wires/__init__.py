"""The wires on which instruments are reached: one module for each, and what they share."""
