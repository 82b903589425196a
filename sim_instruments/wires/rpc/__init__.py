"""ONC remote procedure calls over TCP (RFC 5531), as far as VXI-11 needs them: no I/O here."""
