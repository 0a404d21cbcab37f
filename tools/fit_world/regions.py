"""The regions of the world: which measured ones and which countries each stands for.

The regions are those of the measured matches, joined where their servers stand in one place.
Nothing is split that was measured as one: how many of EUROPE's players were in Spain or in Poland
the counts do not say. South Asia and Africa south of the Sahara have no server among the measured
ones, so that their cities belong to no region.
"""

from __future__ import annotations

import msgspec

from evenmatch.sim.world_measured import Cities

AMERICA_SPLIT = -100.0
"""Degrees east; North America's cities west of it belong to us_west."""


class Found(msgspec.Struct, frozen=True):
    """What a region is made from.

    Args:
        sources: The measured regions.
        server: The city nearest to its servers.
        countries: Where its players live.
        west: For North America: whether it is the western part, else the eastern.
    """

    sources: tuple[str, ...]
    server: str
    countries: tuple[str, ...]
    west: bool | None = None


NORTH_AMERICA = (
    "United States", "Canada", "Mexico", "Costa Rica", "Honduras", "Panama", "Puerto Rico",
)  # fmt: skip
REGIONS: dict[str, Found] = {
    "europe_west": Found(
        ("EUROPE",),
        "Luxembourg",
        ("Algeria", "Belgium", "France", "Germany", "Ireland", "Italy", "Luxembourg", "Morocco",
         "Netherlands", "Portugal", "Spain", "Switzerland", "Tunisia", "United Kingdom"),
    ),
    "europe_east": Found(
        ("AUSTRIA",),
        "Vienna",
        ("Albania", "Austria", "Bulgaria", "Czech Republic", "Greece", "Hungary", "Moldova",
         "Poland", "Romania", "Slovakia", "Slovenia", "Turkey"),
    ),
    "europe_north": Found(
        ("STOCKHOLM",),
        "Stockholm",
        ("Denmark", "Finland", "Latvia", "Lithuania", "Norway", "Russia", "Sweden", "Ukraine"),
    ),
    "us_east": Found(("US_EAST",), "Richmond", NORTH_AMERICA, west=False),
    "us_west": Found(("US_WEST",), "Vancouver", NORTH_AMERICA, west=True),
    "south_america": Found(
        ("BRAZIL", "CHILE"),
        "Sao Paulo",
        ("Brazil", "Chile", "Ecuador", "Peru", "Suriname", "Uruguay", "Venezuela"),
    ),
    "middle_east": Found(
        ("DUBAI",), "Dubai", ("Georgia", "Israel", "Saudi Arabia", "United Arab Emirates")
    ),
    "southeast_asia": Found(
        ("SINGAPORE",),
        "Singapore",
        ("Cambodia", "Indonesia", "Malaysia", "Philippines", "Singapore", "Taiwan", "Vietnam"),
    ),
    "china": Found(
        ("PW_TELECOM_SHANGHAI", "PW_TELECOM_ZHEJIANG", "PW_TELECOM_GUANGDONG", "PW_UNICOM"),
        "Hangzhou",
        ("China",),
    ),
    "japan": Found(("JAPAN",), "Tokyo", ("Japan",)),
    "oceania": Found(("AUSTRALIA",), "Sydney", ("Australia", "New Zealand")),
}  # fmt: skip


def is_of(found: Found, cities: Cities, at: int) -> bool:
    """Return whether the city at a place of the list belongs to a region."""
    if cities.countries[at] not in found.countries:
        return False
    return found.west is None or found.west == (cities.spots[at, 1] < AMERICA_SPLIT)
