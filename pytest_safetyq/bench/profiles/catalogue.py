"""Which profiles ship, and which of them fits an instrument that says who it is."""

from pytest_safetyq.bench.config.shipped import profile_names, shipped_profile

__all__ = ["match_identity", "profile_names", "shipped_profile"]


def match_identity(idn: str) -> str | None:
    """Return the name of the shipped profile that fits a reply to ``*IDN?``.

    The longest matching text wins: it is the most specific; of equals the first by name. A
    profile that matches any reply (``generic-scpi``) is never returned, because falling back
    is the caller's decision.

    Args:
        idn: The reply, terminator included or not.
    """
    lengths: dict[str, int] = {}
    for name in profile_names():
        identity = shipped_profile(name).identity
        if identity is not None:
            lengths[name] = identity.matched_length(idn)
    best = max(lengths, key=lengths.__getitem__, default=None)
    return best if best is not None and lengths[best] > 0 else None
