"""The example that kills its client does what it says."""

from examples.killed_client import main


def test_the_output_goes_off_soon_after_the_kill() -> None:
    assert 0 < main() < 2.0
