"""The list of findings: order, lines and limits."""

from evenmatch.rules.findings import FINDINGS_MAX, FindingList


def test_line_of_a_missing_key_is_that_of_what_would_hold_it() -> None:
    findings = FindingList()
    findings.lines.update({"$": 1, "$.rules": 3, "$.rules[0]": 4})
    findings.error("$.rules[0].name", "is missing")
    findings.warning("$.teams[2].name", "is odd")
    assert [(each.path, each.line) for each in findings.sorted()] == [
        ("$.teams[2].name", 1),
        ("$.rules[0].name", 4),
    ]
    assert str(findings.sorted()[1]) == "error: $.rules[0].name (line 4) is missing"


def test_errors_are_kept_before_warnings() -> None:
    findings = FindingList()
    for _ in range(FINDINGS_MAX):
        findings.warning("$", "is odd")
    findings.error("$", "is wrong")
    kept = findings.sorted()
    assert len(kept) == FINDINGS_MAX
    assert kept[0].level == "error"


def test_hint_is_given_up_after_many_findings() -> None:
    findings = FindingList()
    assert findings.hint("maxdistance", ["maxDistance"]) == "; did you mean maxDistance?"
    for _ in range(60):
        findings.warning("$", "is odd")
    assert findings.hint("maxdistance", ["maxDistance"]) == ""
