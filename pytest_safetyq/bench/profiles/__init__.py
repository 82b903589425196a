"""The model profiles that ship with the package."""

from pytest_safetyq.bench.profiles.catalogue import match_identity, profile_names, shipped_profile

__all__ = ["match_identity", "profile_names", "shipped_profile"]
