"""The E-stops that the plugin asks for, and what has become of each."""

from collections.abc import Iterable

from pytest_safetyq.bench import Bench, EStopReport
from pytest_safetyq.bench.reports import unreported
from pytest_safetyq.errors import LinkLost
from pytest_safetyq.plugin.evidence.model import RunEvidence
from pytest_safetyq.plugin.failures import UnconfirmedFailure


class SafeStates:
    """Drives a bench to its safe state, and keeps what came of it as evidence.

    Args:
        evidence: Where that which was not confirmed is kept.

    Attributes:
        unreported: Those of the current test of which nothing came back.
        lost: Why the supervisor was asked for an E-stop in vain; else empty.
        given_up: Why the supervisor is asked nothing more before the end of the run: a test
            before has waited for it in vain, and each further one would, too. Else empty.
        finishing: Whether the session ends. A finalizer of a run that was cut short is torn
            down by pytest's last hook: raised there, a failure would cost the reports.
    """

    def __init__(self, evidence: RunEvidence) -> None:
        self._evidence = evidence
        self._entered_for: tuple[str, str] | None = None
        self.lost = ""
        self.unreported: list[EStopReport] = []
        self.given_up = ""
        self.finishing = False

    def begin_test(self) -> None:
        """Forget the test before."""
        self.unreported = []
        self.given_up = self.lost
        self._entered_for = None

    def fail(self, bench: Bench | None, nodeid: str, phase: str, why: str) -> None:
        """Send the E-stop because something has failed, and wait until it is confirmed.

        One failure trips once, however many hooks notice it.
        """
        if self._entered_for == (nodeid, phase) and (self.lost or _still_tripped(bench)):
            return
        self._entered_for = (nodeid, phase)
        self._enter(bench, why)

    def end_scope(self, bench: Bench | None, scope: str) -> None:
        """Send and confirm the safe state at the end of a scope.

        Raises:
            UnconfirmedFailure: "off" could not be read back.
        """
        report = self._enter(bench, f"end of the {scope}")
        if report is None or report.confirmed or self.finishing:
            return
        raise UnconfirmedFailure("; ".join(str(one) for one in report.each if not one.confirmed))

    def end_run(self, bench: Bench) -> None:
        """Drive everything to its safe state a last time, and end the supervisor."""
        reports: list[EStopReport] = []
        try:
            try:
                # Those after the last test, asked for by a fixture of the session maybe.
                reports += [] if self.lost else bench.take_estops()
            finally:
                reports.append(bench.close())
        except LinkLost as error:
            self.unconfirmed(f"the bench at the end of the run: {error}")
        self._evidence.endings += reports
        self.note(reports)

    def note(self, reports: Iterable[EStopReport]) -> None:
        """Keep what is unconfirmed in ``reports``, whoever asked for the E-stops."""
        for one in (one for report in reports for one in report.each):
            if not one.confirmed:
                self.unconfirmed(str(one))

    def unconfirmed(self, what: str) -> None:
        """Keep in words what isn't known to be off: the run fails."""
        if what not in self._evidence.unconfirmed:
            self._evidence.unconfirmed.append(what)

    def _enter(self, bench: Bench | None, why: str) -> EStopReport | None:
        if bench is None or not bench.opened or not bench.is_ours or self.given_up:
            return None
        try:
            report = bench.estop(why)
        except LinkLost as error:
            names = ", ".join(bench.opened)
            self.unconfirmed(f"{names}: {error}")
            self.lost = str(error)
            report = unreported(names, why)
            self.unreported.append(report)
        else:
            self.note([report])
        return report


def _still_tripped(bench: Bench | None) -> bool:
    try:
        return bench is None or bench.latched
    except LinkLost:
        return False  # then the E-stop finds out
