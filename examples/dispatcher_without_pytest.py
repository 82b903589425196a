"""The dispatcher in an asyncio program of one's own, without pytest and without PyVISA.

Run it with ``python -m examples.dispatcher_without_pytest``.
"""

import asyncio

from pytest_safetyq import Priority, SafetyAwareDispatcher


class SlowMeter:
    """Stands for whatever speaks with your instrument: it takes 12 ms to answer."""

    def __init__(self) -> None:
        self.received: list[bytes] = []

    async def write(self, payload: bytes) -> None:
        self.received.append(payload)

    async def read(self) -> bytes:
        await asyncio.sleep(0.012)
        return b"+1.000000E+00"


async def main() -> float:
    """Submit 200 polls and one E-stop; return how long the E-stop waited, in seconds."""
    meter = SlowMeter()
    async with SafetyAwareDispatcher(meter.read, meter.write, name="meter") as dispatcher:
        for number in range(200):
            await dispatcher.submit(f"poll {number}", b"MEAS:VOLT?", Priority.POLL)
        await asyncio.sleep(0.03)

        off = await dispatcher.submit("off", b"OUTP OFF", Priority.SAFETY)
        await off

        record = next(r for r in dispatcher.records if r.cmd_id == "off")
        waiting = dispatcher.pending
        aborted = await dispatcher.abort_low_priority()
    latency_s = record.dispatch_latency_s
    assert latency_s is not None
    print(f"OUTP OFF was on the wire after {latency_s * 1000:.2f} ms, its bound was")
    print(f"{record.bound_s * 1000:.0f} ms; {waiting} polls still waited, {aborted} were aborted")
    return latency_s


if __name__ == "__main__":
    asyncio.run(main())
