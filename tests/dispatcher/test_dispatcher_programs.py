"""The dispatcher in somebody's own asyncio program, without pytest: it works, and it exits."""

import subprocess
import sys
from pathlib import Path

import pytest

import pytest_safetyq

ROOT = str(Path(pytest_safetyq.__file__).parents[1])

CALLBACKS = """
import asyncio, sys
sys.path.insert(0, sys.argv[1])
from pytest_safetyq import Priority, SafetyAwareDispatcher

replies = asyncio.Queue()
sent = []

async def write(payload):
    sent.append(payload)
    await asyncio.wait_for(asyncio.sleep(0.001), 1.0)
    if payload == b"*IDN?":
        replies.put_nowait(b"ACME")

async def read():
    return await asyncio.wait_for(replies.get(), 60.0)
"""

WORKS = """
async def main():
    async with SafetyAwareDispatcher(read, write) as smu:
        polls = [await smu.submit(f"p{n}", b"*IDN?", Priority.POLL) for n in range(3)]
        off = await smu.submit("estop", b"OUTP OFF", Priority.SAFETY)
        assert await off == b""
        assert await asyncio.gather(*polls) == [b"ACME"] * 3
    assert sent == [b"OUTP OFF"] + [b"*IDN?"] * 3, sent
    assert not {"pytest", "_pytest", "pyvisa", "serial"} & set(sys.modules)

asyncio.run(main())
print("fine")
"""

LEFT_RUNNING = """
async def main():
    smu = SafetyAwareDispatcher(read, write)
    await smu.start()
    await (await smu.submit("off", b"OUTP OFF", Priority.SAFETY))
    await (await smu.submit("idn", b"*IDN?", Priority.QUERY))

asyncio.run(main())
print("fine")
"""

LEFT_IN_FLIGHT = """
async def main():
    smu = SafetyAwareDispatcher(read, write)
    await smu.start()
    await smu.submit("silent", b"SILENT?", Priority.QUERY, timeout=60.0)
    await smu.submit("waiting", b"*IDN?", Priority.QUERY)
    await asyncio.sleep(0.05)
    assert sent == [b"SILENT?"], sent

asyncio.run(main())
print("fine")
"""

WORKER_CANCELLED = """
async def main():
    smu = SafetyAwareDispatcher(read, write, name="smu")
    await smu.start()
    future = await smu.submit("silent", b"SILENT?", Priority.QUERY, timeout=60.0)
    await asyncio.sleep(0.05)
    (worker,) = [t for t in asyncio.all_tasks() if t.get_name() == "safetyq smu"]
    worker.cancel()
    await asyncio.wait({worker}, timeout=5.0)
    assert worker.cancelled()
    await asyncio.sleep(0)
    assert future.done()

asyncio.run(main())
print("fine")
"""

JOB_LEFT_RUNNING = """
async def job(txn):
    await txn(b"*IDN?")
    await asyncio.sleep(60.0)

async def main():
    smu = SafetyAwareDispatcher(read, write)
    await smu.start()
    task = asyncio.create_task(smu.run_job(job, Priority.CONTROL))
    await asyncio.sleep(0.05)
    assert sent == [b"*IDN?"], sent

asyncio.run(main())
print("fine")
"""

PROGRAMS = {
    "works": WORKS,
    "left running": LEFT_RUNNING,
    "left in flight": LEFT_IN_FLIGHT,
    "worker cancelled": WORKER_CANCELLED,
    "job left running": JOB_LEFT_RUNNING,
}


@pytest.mark.parametrize("program", PROGRAMS.values(), ids=PROGRAMS.keys())
def test_a_program_of_ones_own_does_its_work_and_exits(program: str) -> None:
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", CALLBACKS + program, ROOT],
        capture_output=True,
        text=True,
        timeout=20,
        check=False,
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "fine\n", "")
