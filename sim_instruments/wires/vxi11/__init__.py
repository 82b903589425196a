"""VXI-11 (VXI-11 rev. 1.0): core and abort channel of one instrument, without a portmapper."""
