"""A GPIB controller on TCP in the manner of Prologix GPIB-ETHERNET (its manual of May 14, 2013)."""
