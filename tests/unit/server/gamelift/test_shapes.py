"""Our types of requests and answers against AWS's own model, as botocore has it."""

import re
from typing import Any

import boto3
import pytest
from msgspec import inspect

from evenmatch.server.gamelift import shapes

MODEL = boto3.client(
    "gamelift", region_name="eu-west-1", aws_access_key_id="any", aws_secret_access_key="any"
).meta.service_model
OPERATIONS = (
    "StartMatchmaking", "DescribeMatchmaking", "StopMatchmaking", "AcceptMatch",
    "StartMatchBackfill", "CreateMatchmakingRuleSet", "DescribeMatchmakingRuleSets",
    "DeleteMatchmakingRuleSet", "ValidateMatchmakingRuleSet", "CreateMatchmakingConfiguration",
    "UpdateMatchmakingConfiguration", "DescribeMatchmakingConfigurations",
    "DeleteMatchmakingConfiguration", "TagResource", "UntagResource", "ListTagsForResource",
)  # fmt: skip
ANSWERS = {
    "StartMatchmaking": shapes.TicketAnswer,
    "DescribeMatchmaking": shapes.TicketsAnswer,
    "StartMatchBackfill": shapes.TicketAnswer,
    "CreateMatchmakingRuleSet": shapes.RuleSetAnswer,
    "DescribeMatchmakingRuleSets": shapes.RuleSetsAnswer,
    "ValidateMatchmakingRuleSet": shapes.ValidAnswer,
    "CreateMatchmakingConfiguration": shapes.ConfigurationAnswer,
    "UpdateMatchmakingConfiguration": shapes.ConfigurationAnswer,
    "DescribeMatchmakingConfigurations": shapes.ConfigurationsAnswer,
    "ListTagsForResource": shapes.TagsAnswer,
}
TEXTS = (
    "", "a", "a.b-C9", "a b", "a_b", "é", "arn:aws:sns:eu:1:topic", "x.fifo", "a/b", "a\n",
    "arn:aws:gamelift:eu:1:matchmakingruleset/a", "arn:x:matchmakingconfiguration/a.b",
    "arn:x:matchmakingconfiguration/a b", "arn:aws:gamelift:eu:1:matchmakingconfiguration/",
)  # fmt: skip


def plain(info: inspect.Type) -> inspect.Type:
    """Return a type without the None that stands for a field that is left out."""
    if isinstance(info, inspect.UnionType):
        (info,) = [each for each in info.types if not isinstance(each, inspect.NoneType)]
    return info.type if isinstance(info, inspect.Metadata) else info


def faults(info: inspect.Type, shape: Any, at: str, is_answer: bool = False) -> list[str]:
    """Return where a type of ours takes more than the model, or lacks something of it."""
    info, limits, found = plain(info), shape.metadata, []
    kind = shape.type_name
    if kind == "structure":
        assert isinstance(info, inspect.StructType), at
        ours = {field.encode_name: field for field in info.fields}
        known = set(shape.members)
        if set(ours) - known or (not is_answer and known - set(ours)):
            found.append(f"{at}: has {sorted(ours)}, not {sorted(known)}")
        for key in shape.required_members:
            if key in ours and not ours[key].required:
                found.append(f"{at}.{key}: must be required")
        for key in set(ours) & known:
            found += faults(ours[key].type, shape.members[key], f"{at}.{key}", is_answer)
    elif kind == "list":
        assert isinstance(info, inspect.VarTupleType), at
        if not is_answer and "max" in limits and (info.max_length or 10**9) > limits["max"]:
            found.append(f"{at}: at most {limits['max']}")
        if not is_answer and limits.get("min", 0) > (info.min_length or 0):
            found.append(f"{at}: at least {limits['min']}")
        found += faults(info.item_type, shape.member, f"{at}[]", is_answer)
    elif kind == "map":
        assert isinstance(info, inspect.DictType), at
        found += faults(info.key_type, shape.key, f"{at} key", is_answer)
        found += faults(info.value_type, shape.value, f"{at} value", is_answer)
    elif kind == "string" and shape.enum:
        if isinstance(info, inspect.LiteralType):
            if set(info.values) != set(shape.enum):
                found.append(f"{at}: {info.values}")
        elif not is_answer:
            found.append(f"{at}: is no choice")
    elif kind == "string":
        assert isinstance(info, inspect.StrType), at
        if not is_answer:
            found += text_faults(info, limits, at)
    elif kind in ("integer", "double") and not is_answer:
        assert isinstance(info, inspect.IntType | inspect.FloatType), at
        if "min" in limits and (info.ge is None or info.ge < limits["min"]):
            found.append(f"{at}: at least {limits['min']}")
        if "max" in limits and (info.le is None or info.le > limits["max"]):
            found.append(f"{at}: at most {limits['max']}")
    return found


def text_faults(info: inspect.StrType, limits: dict[str, Any], at: str) -> list[str]:
    found = []
    if "max" in limits and info.max_length != limits["max"]:
        found.append(f"{at}: at most {limits['max']} characters, not {info.max_length}")
    if limits.get("min", 0) != (info.min_length or 0):
        found.append(f"{at}: at least {limits.get('min', 0)} characters")
    if "pattern" in limits:
        if info.pattern is None:
            return [*found, f"{at}: has no pattern"]
        theirs = limits["pattern"].removeprefix("^").removesuffix("$")
        for text in TEXTS:
            taken = re.search(info.pattern, text) is not None
            if taken != (re.fullmatch(theirs, text) is not None):
                found.append(f"{at}: {text!r}")
    return found


@pytest.mark.parametrize("operation", OPERATIONS)
def test_requests_have_every_field_and_limit_of_the_model(operation: str) -> None:
    info = inspect.type_info(getattr(shapes, operation))
    shape = MODEL.operation_model(operation).input_shape
    assert faults(info, shape, operation) == []


@pytest.mark.parametrize("operation", ANSWERS)
def test_answers_have_no_field_that_the_model_lacks(operation: str) -> None:
    info = inspect.type_info(ANSWERS[operation])
    shape = MODEL.operation_model(operation).output_shape
    assert faults(info, shape, operation, is_answer=True) == []


def test_faults_are_seen() -> None:
    info = inspect.type_info(shapes.StopMatchmaking)
    shape = MODEL.operation_model("StartMatchmaking").input_shape
    assert len(faults(info, shape, "planted")) == 1
    info = inspect.type_info(shapes.DeleteMatchmakingRuleSet)
    shape = MODEL.operation_model("CreateMatchmakingRuleSet").input_shape.members["Name"]
    name = plain(inspect.type_info(shapes.RuleSetName))
    assert isinstance(name, inspect.StrType)
    assert len(text_faults(name, shape.metadata, "planted")) > 2
