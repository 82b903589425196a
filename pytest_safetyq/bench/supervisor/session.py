"""One client's connection: its requests, and what must end with it."""

import asyncio
import contextlib
import math
from collections.abc import Awaitable, Callable, Coroutine
from typing import Any

import msgspec

from pytest_safetyq.bench.reports import EStopReport
from pytest_safetyq.bench.supervisor.explaining import failed
from pytest_safetyq.bench.supervisor.job import RemoteJob
from pytest_safetyq.bench.supervisor.opening import SEARCH_TIMEOUT_S, resources_of
from pytest_safetyq.bench.supervisor.probe import probe
from pytest_safetyq.bench.supervisor.rack import Rack
from pytest_safetyq.bench.supervisor.stream import run_stream
from pytest_safetyq.bench.wire import messages as m
from pytest_safetyq.bench.wire.failures import kind_of, text_of
from pytest_safetyq.dispatcher.reply import Reply
from pytest_safetyq.errors import LinkLost, Preempted, SafetyError
from pytest_safetyq.scheduling import Priority

Send = Callable[[m.Message], None]


class Session:
    """Serves one client that has said who it is.

    Args:
        rack: The instruments.
        send: Sends a message to the client; never blocks.
        who: The client, as others are told who find an instrument in use.
    """

    def __init__(self, rack: Rack, send: Send, who: str) -> None:
        self._rack = rack
        self._send = send
        self._who = who
        self._tasks: dict[int, asyncio.Task[None]] = {}
        self._replies: dict[int, Reply] = {}
        self._jobs: dict[int, RemoteJob] = {}
        self._leaving = False
        self._estops_taken = 0
        self.said_goodbye = False

    def take(self, message: m.ToSupervisor) -> None:
        """Act on one message. Nothing here waits: the next message may be the E-stop."""
        match message:
            case m.Submit():
                self._submit(message)
            case m.Cancel():
                self._cancel(message.id)
            case m.EStop():
                # Begun here and now: it is carried out even if the client is gone by then.
                entering = self._rack.begin_safe_state(message.reason, message.submitted_s)
                self._start(message.id, self._report(message.id, entering))
            case m.Goodbye():
                self._leaving = True
                self._start(message.id, self._answer(message))
            case m.JobTransaction():
                self._job_transaction(message)
            case m.EndJob():
                if (job := self._jobs.get(message.job)) is not None:
                    job.end()
            case m.StopStream():
                self._cancel(message.stream)
                self._send(m.Done(id=message.id))
            case _:
                self._start(message.id, self._answer(message))
        if isinstance(message, m.Request) and type(message) in _BOUNDS:
            bound_s = _BOUNDS[type(message)](self._rack, message)
            within_s = bound_s if math.isfinite(bound_s) else None
            self._send(m.Working(id=message.id, within_s=within_s))

    async def end(self) -> None:
        """End everything that the client has going; its SAFETY commands are sent all the same."""
        for reply in list(self._replies.values()):
            reply.cancel()
        tasks = list(self._tasks.values())
        for task in tasks:
            task.cancel()
        if tasks:
            await asyncio.wait(tasks)

    def _submit(self, request: m.Submit) -> None:
        try:
            reply = self._rack[request.instrument].submit(
                request.cmd_id,
                request.payload,
                request.priority,
                raw=request.raw,
                timeout_s=request.timeout_s,
                expect_reply=request.expect_reply,
                submitted_s=request.submitted_s,
            )
        except Exception as error:  # noqa: BLE001 - every request is answered, whatever happens
            self._fail_command(request, error)
            return
        self._send(m.Admitted(id=request.id))
        self._replies[request.id] = reply
        reply.add_done_callback(lambda _: self._settle(request, reply))

    def _settle(self, request: m.Submit, reply: Reply) -> None:
        del self._replies[request.id]
        if reply.cancelled():
            self._send(m.Failed(id=request.id, kind="CancelledError", message="cancelled"))
        elif (error := reply.exception()) is not None:
            self._fail_command(request, error)
        else:
            self._send(m.Done(id=request.id, value=reply.result()))

    def _fail_command(self, request: m.Submit, error: BaseException) -> None:
        try:
            instrument = self._rack[request.instrument]
        except LinkLost as not_open:
            self._fail(request.id, not_open)
        else:
            self._send(failed(request.id, instrument, request.payload, error))

    def _cancel(self, request: int) -> None:
        if (reply := self._replies.get(request)) is not None:
            reply.cancel()
        elif (task := self._tasks.get(request)) is not None:
            task.cancel()

    def _start(self, request: int, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.create_task(work)
        self._tasks[request] = task
        task.add_done_callback(lambda _: self._tasks.pop(request, None))

    async def _answer(self, request: m.ToSupervisor) -> None:
        assert isinstance(request, m.Request)
        try:
            answer = await _ANSWERS[type(request)](self, request)
        except asyncio.CancelledError:
            self._send(m.Failed(id=request.id, kind="CancelledError", message="cancelled"))
            raise
        except Exception as error:  # noqa: BLE001 - every request is answered, whatever happens
            self._fail(request.id, error)
        else:
            self._send(m.Done(id=request.id, value=msgspec.to_builtins(answer)))

    def _fail(self, request: int, error: BaseException) -> None:
        self._send(m.Failed(id=request, kind=kind_of(error), message=text_of(error)))

    def _job_transaction(self, request: m.JobTransaction) -> None:
        job = self._jobs.get(request.job)
        if job is None:
            self._fail(request.id, Preempted("the job has ended; it has no link any more"))
        else:
            job.transact(request)

    async def _open(self, request: m.Open) -> m.OpenedInstrument:
        return (await self._rack.open(request.spec, self._who)).described()

    async def _abort(self, request: m.Abort) -> int:
        dispatcher = self._rack[request.instrument].dispatcher
        return await dispatcher.abort_low_priority(below=request.below)

    async def _trip(self, request: m.Trip) -> int:
        flushed = await self._rack[request.instrument].dispatcher.trip(request.reason)
        self._rack.tripped = request.reason
        return flushed

    async def _rearm(self, request: m.Rearm) -> None:
        if self._leaving:
            # Another thread of a test: what it switched on, nobody would switch off again.
            raise SafetyError("the bench is not rearmed any more: the run has said goodbye")
        self._rack.rearm(request.reason)

    async def _report(self, request: int, entering: asyncio.Task[EStopReport]) -> None:
        report = await asyncio.shield(entering)
        self._send(m.Done(id=request, value=msgspec.to_builtins(report)))

    async def _state(self, request: m.State) -> m.DispatcherState:
        dispatcher = self._rack[request.instrument].dispatcher
        return m.DispatcherState(
            running_priority=dispatcher.running_priority,
            pending_by_priority={int(p): n for p, n in dispatcher.pending_by_priority.items()},
            dwell_s={int(p): s for p, s in dispatcher.dwell_s.items()},
            latched=dispatcher.latched,
            coalesced=dispatcher.coalesced,
            discarded_replies=dispatcher.discarded_replies,
            worst_case_s={int(p): dispatcher.worst_case_s(p) for p in Priority},
        )

    async def _records(self, request: m.Records) -> object:
        if request.instrument is None:
            await self._rack.safety_settled()
            return self._rack.records
        return list(self._rack[request.instrument].history)

    async def _take_estops(self, request: m.TakeEStops) -> object:
        await self._rack.estops_settled()
        reports, self._estops_taken = self._rack.estops.since(self._estops_taken)
        return reports

    async def _begin_test(self, request: m.BeginTest) -> None:
        self._rack.begin_test()

    async def _stream(self, request: m.StartStream) -> None:
        instrument = self._rack[request.instrument]
        with contextlib.suppress(asyncio.CancelledError):
            await run_stream(instrument, request.id, request.command, request.every_s, self._send)

    async def _job(self, request: m.BeginJob) -> None:
        job = RemoteJob(request, self._rack[request.instrument], self._send)
        self._jobs[request.id] = job
        try:
            await job.run()
        finally:
            del self._jobs[request.id]

    async def _probe(self, request: m.Probe) -> object:
        return await probe(
            self._rack[request.instrument],
            samples=request.samples,
            backlog=request.backlog,
            command=request.command,
        )

    async def _resources(self, request: m.ListResources) -> list[str]:
        return await resources_of(request.library)

    async def _echo(self, request: m.Echo) -> None:
        pass  # that it is answered is the answer

    async def _opened(self, request: m.ListOpened) -> object:
        return self._rack.opened

    async def _goodbye(self, request: m.Goodbye) -> object:
        report = await self._rack.enter_safe_state("end of the run", request.submitted_s)
        self.said_goodbye = True
        return report


_ANSWERS: dict[type[m.Request], Callable[[Session, Any], Awaitable[object]]] = {
    m.Open: Session._open,
    m.Abort: Session._abort,
    m.Trip: Session._trip,
    m.Rearm: Session._rearm,
    m.State: Session._state,
    m.Records: Session._records,
    m.TakeEStops: Session._take_estops,
    m.BeginTest: Session._begin_test,
    m.StartStream: Session._stream,
    m.BeginJob: Session._job,
    m.Probe: Session._probe,
    m.ListResources: Session._resources,
    m.Echo: Session._echo,
    m.ListOpened: Session._opened,
    m.Goodbye: Session._goodbye,
}

_BOUNDS: dict[type[m.Message], Callable[[Rack, Any], float]] = {
    m.Open: lambda rack, request: rack.opening_bound_s(request.spec),
    m.EStop: lambda rack, _: rack.safe_state_bound_s,
    m.Goodbye: lambda rack, _: rack.safe_state_bound_s,
    m.Records: lambda rack, _: rack.safety_bound_s,
    m.TakeEStops: lambda rack, _: rack.safe_state_bound_s,
    m.ListResources: lambda *_: SEARCH_TIMEOUT_S,
    m.StartStream: lambda *_: math.inf,
    m.BeginJob: lambda *_: math.inf,
    m.Probe: lambda *_: math.inf,
}
"""In how many seconds a request is answered that isn't answered at once."""
