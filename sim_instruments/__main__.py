"""``python -m sim_instruments``: serve simulated instruments on real wires."""

import sys

from sim_instruments.server.running import main

if __name__ == "__main__":
    sys.exit(main())
