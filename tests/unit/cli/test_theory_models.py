"""The models of sides, zones, graphs and stability answer on the command line."""

import json

import pytest

from evenmatch.cli.theory import compute, theory
from evenmatch.errors import ConfigError

PROMISED = [
    (
        ["sides", "a=0.3", "b=0.3", "flexible=0.4"],
        "stable kind growth mean mean_a mean_b mean_flexible p0 improvement_a improvement_b",
    ),
    (
        ["zones", "junior=0.5", "expert=0.3", "flexible=0.2"],
        "mean mean_junior mean_expert mean_flexible improvement",
    ),
    (["team_stability", "k=5", "rates=0.4,0.1,0.05,0.025,0.03"], "stable margins"),
    (["zone_cuts", "shares=1,2,3,4", "rate=1"], "first_levels shares waits worst gap"),
]


@pytest.mark.parametrize(("settings", "names"), PROMISED)
def test_json_has_the_promised_names(settings, names, capsys) -> None:
    theory(*settings, as_json=True)
    found = json.loads(capsys.readouterr().out)
    assert set(names.split()) <= found.keys()


def test_unstable_sides_are_an_answer() -> None:
    found = compute("sides", ["a=0.5", "b=0.3", "flexible=0.1"])
    assert (found["stable"], found["kind"], found["growth"]) == (False, "transient", 0.1)
    assert (found["mean"], found["starved"]) == (None, ["a"])


def test_graph_is_read_from_a_file(tmp_path) -> None:
    path = tmp_path / "G.json"
    path.write_text('{"rates": {"x": 0.5, "y": 0.25}, "edges": [["x", "y"], ["x", "x"]]}')
    found = compute("graph", [f"file={path}"])
    assert {"stable", "mean", "means", "p_no_wait", "margins"} <= found.keys()
    assert found["margins"] == [
        {"set": ["y"], "margin": 0.25, "text": "y may grow by 0.25/s before they outnumber x"}
    ]
    assert compute("graph", [f"file={path}", "exact=false"])["exact"] == {}
    gains = compute("flexibility", [f"file={path}", "share=0.5"])["classes"]
    assert gains["y"]["mean_flexible"] == found["means"]["x"]


def test_graph_that_cannot_be_used_names_what_is_wrong(tmp_path) -> None:
    path = tmp_path / "G.json"
    for text, sentence in [
        ('{"rates": {"x": 1}, "edges": [["x", "z"]]}', "must join classes that have rates"),
        ('{"rates": {"x": 1}, "edges": [], "loops": []}', "key loops is unknown"),
        ('{"rates": {"x": 1}}', "edges must be given"),
        ('{"rates": {"x": 1, "x": 2}, "edges": []}', "key 'x' is given twice"),
        ('{"rates": {"x": NaN}, "edges": []}', "NaN is not a JSON number"),
        ('{"rates": [1], "edges": []}', "rates must give the rates of 1 to 60 classes by name"),
    ]:
        path.write_text(text)
        with pytest.raises(ConfigError, match=sentence) as raised:
            compute("graph", [f"file={path}"])
        assert "\n" not in str(raised.value)


def test_roles_are_read_from_a_file_in_either_form(tmp_path) -> None:
    path = tmp_path / "R.json"
    path.write_text(
        '{"slots": {"tank": 2, "dps": 3}, "players": [{"roles": ["dps"], "rate": 0.65},'
        ' {"roles": ["tank", "dps"], "rate": 0.35}]}'
    )
    found = compute("role_stability", [f"file={path}"])
    assert (found["stable"], found["margins"][0]["set"]) == (False, ["dps"])
    path.write_text(
        '{"slots": {"tank": 2, "dps": 3}, "role_sets": [["dps"], ["tank", "dps"]],'
        ' "rates": [0.65, 0.35]}'
    )
    assert compute("role_stability", [f"file={path}"]) == found
    with pytest.raises(ConfigError, match=r"slots must be given, as keys of file=F\.json"):
        compute("role_stability", [])
