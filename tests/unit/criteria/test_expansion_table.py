"""The inverse of a tolerance for whole columns is that for one gap, bit by bit."""

import math

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from evenmatch.criteria.expansion import inverse, inverse_table
from evenmatch.model.queue import Expansion

numbers = st.floats(0.0, 1e6, allow_nan=False)
caps = st.none() | st.floats(1e6, 2e6)
waits = st.lists(st.floats(1e-3, 1e4), min_size=1, max_size=5, unique=True).map(sorted)


@st.composite
def points(draw: st.DrawFn) -> tuple[tuple[float, float], ...]:
    times = draw(waits)
    rises = draw(st.lists(numbers, min_size=len(times), max_size=len(times)).map(sorted))
    return tuple(zip(times, rises, strict=True))


expansions = (
    st.none()
    | st.builds(lambda rate, top: Expansion(rate=rate, max=top), numbers, caps)
    | st.builds(lambda some, top: Expansion(steps=some, max=top), points(), caps)
    | st.builds(lambda some, top: Expansion(curve=some, max=top), points(), caps)
    | st.builds(lambda high: Expansion(curve=((0.0, high),)), numbers)
)


@given(numbers, expansions, st.lists(numbers | st.just(math.inf), min_size=1, max_size=20))
def test_table_is_the_reference(limit: float, expand: Expansion | None, gaps: list[float]) -> None:
    edges = [*gaps, limit]
    if expand is not None:
        edges += [high for _, high in (*expand.steps, *expand.curve)]
        edges += [] if expand.max is None else [expand.max]
    when = inverse(limit, expand)
    expected = [when(gap) for gap in edges]
    assert inverse_table(limit, expand)(np.array(edges)).tolist() == expected
