"""The statements of every paper."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from evenmatch.lab.reproduce.statements import galactron, gamedev, schlup, wu, xu
from evenmatch.lab.reproduce.statements.saying import Saying

SAYINGS: Mapping[str, Sequence[Saying]] = {
    "schlup": schlup.SAYINGS,
    "gamedev": gamedev.SAYINGS,
    "galactron": galactron.SAYINGS,
    "wu": wu.SAYINGS,
    "xu": xu.SAYINGS,
}
