"""The lock of one instrument, which every protocol that has locks shares (VPP-4.3, 3.6)."""

from __future__ import annotations

from collections.abc import Callable


class InstrumentLock:
    """Who may operate an instrument.

    A client holds the lock exclusively, or shares it with the clients that named the same key.
    One that shares it may take the exclusive lock on top, which shuts out the others that share.
    Clients are told apart by identity, whatever they are. There is no clock here: who waits for a
    limited time gives up by itself.
    """

    def __init__(self) -> None:
        self._exclusive: object | None = None
        self._shared: dict[object, bytes] = {}
        self._waiting: list[Callable[[], bool]] = []

    @property
    def is_exclusive(self) -> bool:
        """Whether a client holds the exclusive lock."""
        return self._exclusive is not None

    @property
    def holders(self) -> int:
        """How many clients hold a lock."""
        return len({*self._shared, *([self._exclusive] if self.is_exclusive else [])})

    def holds_exclusive(self, client: object) -> bool:
        """Whether this client holds the exclusive lock."""
        return self.is_exclusive and self._exclusive is client

    def holds_shared(self, client: object) -> bool:
        """Whether this client shares the lock."""
        return client in self._shared

    def shuts_out(self, client: object) -> bool:
        """Whether a lock of others forbids this client to operate the instrument."""
        if self._exclusive is not None:
            return self._exclusive is not client
        return bool(self._shared) and client not in self._shared

    def take_exclusive(self, client: object) -> bool:
        """Take the exclusive lock, if nobody else's lock is in the way."""
        if self.shuts_out(client):
            return False
        self._exclusive = client
        return True

    def take_shared(self, client: object, key: bytes) -> bool:
        """Share the lock, if it is free or shared under the same key."""
        if self._exclusive not in (None, client) or any(k != key for k in self._shared.values()):
            return False
        self._shared[client] = key
        return True

    def release_exclusive(self, client: object) -> None:
        """Give the exclusive lock back; a share stays."""
        if self._exclusive is client:
            self._exclusive = None
            self._try_waiting()

    def release_shared(self, client: object) -> None:
        """Share the lock no longer."""
        if self._shared.pop(client, None) is not None:
            self._try_waiting()

    def forget(self, client: object) -> None:
        """Give back whatever this client holds."""
        self.release_shared(client)
        self.release_exclusive(client)

    def wait(self, attempt: Callable[[], bool]) -> Callable[[], None]:
        """Wait for the lock to change hands.

        Args:
            attempt: called after each release, in the order of waiting, until it returns true. It
                may take the lock, but neither release it nor wait.

        Returns:
            What gives up waiting.
        """
        self._waiting.append(attempt)

        return lambda: self._stop_waiting(attempt)

    def _stop_waiting(self, attempt: Callable[[], bool]) -> None:
        if attempt in self._waiting:
            self._waiting.remove(attempt)

    def _try_waiting(self) -> None:
        for attempt in list(self._waiting):
            if attempt():
                self._stop_waiting(attempt)
