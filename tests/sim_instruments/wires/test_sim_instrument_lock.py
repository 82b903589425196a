"""The instrument's lock, against the rules of VPP-4.3 written down as one condition each."""

from __future__ import annotations

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from sim_instruments.wires.instrument_lock import InstrumentLock

clients = st.sampled_from(["a", "b", "c"])
keys = st.sampled_from([b"k", b"l"])


class LockModel(RuleBasedStateMachine):
    """Who holds what, as a dictionary."""

    def __init__(self) -> None:
        super().__init__()
        self.lock = InstrumentLock()
        self.shares: dict[str, bytes] = {}
        self.owner: str | None = None

    @rule(client=clients)
    def take_exclusive(self, client: str) -> None:
        is_free = self.owner in (None, client) and (not self.shares or client in self.shares)
        assert self.lock.take_exclusive(client) == is_free
        if is_free:
            self.owner = client

    @rule(client=clients, key=keys)
    def take_shared(self, client: str, key: bytes) -> None:
        is_free = self.owner in (None, client) and set(self.shares.values()) <= {key}
        assert self.lock.take_shared(client, key) == is_free
        if is_free:
            self.shares[client] = key

    @rule(client=clients)
    def release_exclusive(self, client: str) -> None:
        self.lock.release_exclusive(client)
        if self.owner == client:
            self.owner = None

    @rule(client=clients)
    def release_shared(self, client: str) -> None:
        self.lock.release_shared(client)
        self.shares.pop(client, None)

    @rule(client=clients)
    def forget(self, client: str) -> None:
        self.lock.forget(client)
        self.release_shared(client)
        self.release_exclusive(client)

    @invariant()
    def shuts_out_the_others(self) -> None:
        for client in ("a", "b", "c"):
            if self.owner is not None:
                is_out = client != self.owner
            else:
                is_out = bool(self.shares) and client not in self.shares
            assert self.lock.shuts_out(client) == is_out
        assert self.lock.holders == len(set(self.shares) | {self.owner} - {None})


TestLockModel = LockModel.TestCase
TestLockModel.settings = settings(max_examples=100, stateful_step_count=30)


def test_those_who_wait_get_the_lock_in_the_order_of_waiting() -> None:
    lock = InstrumentLock()
    lock.take_exclusive("first")
    got: list[str] = []

    def attempt(client: str) -> bool:
        if not lock.take_exclusive(client):
            return False
        got.append(client)
        return True

    for client in ("second", "third", "gave up", "fourth"):
        give_up = lock.wait(lambda client=client: attempt(client))
        if client == "gave up":
            give_up()
    for client in ("first", "second", "third", "fourth"):
        lock.release_exclusive(client)
    assert got == ["second", "third", "fourth"]
    assert not lock.is_exclusive


def test_a_release_by_somebody_else_changes_nothing() -> None:
    lock = InstrumentLock()
    lock.take_exclusive("owner")
    lock.release_exclusive("other")
    assert lock.holds_exclusive("owner")
