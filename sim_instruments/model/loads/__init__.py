"""What can be wired to an instrument's terminals."""

from sim_instruments.model.loads.capacitor import Capacitor
from sim_instruments.model.loads.diode import Diode
from sim_instruments.model.loads.load import Load
from sim_instruments.model.loads.resistor import Resistor

__all__ = ["Capacitor", "Diode", "Load", "Resistor"]
