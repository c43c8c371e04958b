"""How much an exhibit simulates."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TypeVar

from storagekit.core.errors import InputError


@dataclass(frozen=True, kw_only=True)
class Effort:
    """How much to simulate: independent runs of each setting, requests in each, and the first of the runs' seeds."""

    seeds: int = 16
    requests: int = 4_000
    first_seed: int = 0

    @property
    def seed_list(self) -> list[int]:
        """One seed for each run."""
        return self.successive(self.seeds)

    @property
    def few(self) -> int:
        """The number of runs where no claim is judged by them: a quarter of `seeds`, at least four if there are four."""
        return max(min(4, self.seeds), self.seeds // 4)

    def successive(self, count: int) -> list[int]:
        """`count` seeds from the first on."""
        return list(range(self.first_seed, self.first_seed + count))


AnEffort = TypeVar("AnEffort", bound=Effort)


def of_profile(profile: str, known: Mapping[str, AnEffort], first_seed: int = 0) -> AnEffort:
    """The effort of a profile: "quick" for a look, "full" for the record. Raises InputError for any that is not `known`."""
    if profile not in known:
        raise InputError(f"profile {profile!r}: unknown; it is one of {', '.join(known)}")
    return replace(known[profile], first_seed=first_seed)
