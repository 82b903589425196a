"""HiSLIP (IVI-6.1, versions 1.0 to 2.0 without encryption): one instrument on one TCP port."""
