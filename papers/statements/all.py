"""The statements of every paper."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from papers.galactron import statements as galactron
from papers.gamedev import statements as gamedev
from papers.schlup import statements as schlup
from papers.statements.saying import Saying
from papers.wu import statements as wu
from papers.xu import statements as xu

SAYINGS: Mapping[str, Sequence[Saying]] = {
    "schlup": schlup.SAYINGS,
    "gamedev": gamedev.SAYINGS,
    "galactron": galactron.SAYINGS,
    "wu": wu.SAYINGS,
    "xu": xu.SAYINGS,
}
