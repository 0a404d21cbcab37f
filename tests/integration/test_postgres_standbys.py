"""What PostgreSQL loses when a standby takes over; settings that must lose prove that it shows."""

import pytest

from tests.bench.losses import ANY_1, ANY_2, APPENDS, Promotion, promoted
from tests.journal_servers import WHY_NO_POSTGRES, postgres_folder

pytestmark = [
    pytest.mark.long,
    pytest.mark.skipif(postgres_folder() is None, reason=WHY_NO_POSTGRES),
]


@pytest.mark.parametrize(
    ("synchronous", "promotion", "lost", "refused"),
    [
        ("", "lagging", APPENDS, False),
        ("", "beside", APPENDS, False),
        (ANY_1, "advanced", 0, False),
        (ANY_1, "lagging", APPENDS, False),
        (ANY_1, "beside", APPENDS, False),
        (ANY_2, "lagging", 0, True),
        (ANY_2, "beside", 0, True),
    ],
)
def test_promotion_loses_just_what_the_heir_has_not(
    synchronous: str, promotion: Promotion, lost: int, refused: bool
) -> None:
    loss = promoted(synchronous, promotion)
    assert (loss.lost, loss.refused) == (lost, refused)
    assert loss.acknowledged == APPENDS * (1 if refused else 2)
