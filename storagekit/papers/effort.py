"""Number and length of the simulated runs of an exhibit."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TypeVar

from storagekit.core.validation import one_of


@dataclass(frozen=True, kw_only=True)
class Effort:
    """Number and length of the simulated runs of an exhibit.

    Parameters
    ----------
    seeds : int
        Number of independent runs of each setting, by default 16.
    requests : int
        Number of requests of each run, by default 4000.
    first_seed : int
        The first of the runs' seeds, by default 0.
    """

    seeds: int = 16
    requests: int = 4_000
    first_seed: int = 0

    @property
    def seed_list(self) -> list[int]:
        """Return one seed for each run."""
        return self.successive(self.seeds)

    @property
    def few(self) -> int:
        """Return the number of runs for an exhibit on which no verdict depends.

        The number is a quarter of `seeds`, but at least four. If `seeds` is less than four, the number is `seeds`.
        """
        return max(min(4, self.seeds), self.seeds // 4)

    def successive(self, count: int) -> list[int]:
        """Return `count` consecutive seeds that begin with `first_seed`."""
        return list(range(self.first_seed, self.first_seed + count))


AnEffort = TypeVar("AnEffort", bound=Effort)


def of_profile(profile: str, known: Mapping[str, AnEffort], first_seed: int = 0) -> AnEffort:
    """Return the number and length of the runs for a profile, with a given first seed.

    Parameters
    ----------
    profile : str
        A key of `known`: "quick" for a preview, "full" for the recorded results.
    known : mapping of str to Effort
        Number and length of the runs for each profile.
    first_seed : int
        The first of the runs' seeds, by default 0.

    Returns
    -------
    Effort
        Number and length of the runs for the profile, with `first_seed`.

    Raises
    ------
    InputError
        If the profile is not in `known`.
    """
    one_of(*known)("profile", profile)
    return replace(known[profile], first_seed=first_seed)
