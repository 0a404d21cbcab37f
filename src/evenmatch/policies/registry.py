"""Names of policies, and the SPEC `name:key=value,key=value` that chooses one.

A list is joined by `+`, a pair by `-`: `window:limit=150,steps=60-250+120-350`. A name with a dot
is imported: `my_package.policies.fast:theta=2` is `fast` of module `my_package.policies`.
"""

from __future__ import annotations

import importlib
import math
import sys
import traceback
from functools import cache
from types import FrameType, ModuleType
from typing import TYPE_CHECKING, Any

import msgspec

from evenmatch.errors import ConfigError, MatchmakingError, NotSupported, nearest_name
from evenmatch.model.checks import range_of, words_of
from evenmatch.policies.base import FunctionPolicy, Policy
from evenmatch.solvers import kernel

if TYPE_CHECKING:
    from evenmatch.model.queue import Queue

POLICIES: dict[str, str] = {
    "adaptive_brackets": "AdaptiveBrackets",
    "adaptive_sides": "AdaptiveSides",
    "by_rules": "ByRules",
    "closest_random": "ClosestRandom",
    "delay_greedy": "DelayGreedy",
    "difference_wait": "DifferenceWait",
    "first_come": "FirstCome",
    "gap_value": "GapValue",
    "greedy": "Greedy",
    "group_price": "GroupPrice",
    "imbalance_threshold": "ImbalanceThreshold",
    "lookahead": "Lookahead",
    "multi_queue": "MultiQueue",
    "patient": "Patient",
    "periodic": "Periodic",
    "price": "Price",
    "rolling": "Rolling",
    "rounds": "Rounds",
    "sweep": "Sweep",
    "threshold": "Threshold",
    "virtual_rating": "VirtualRating",
    "weighted": "Weighted",
    "window": "Window",
}
"""Names and classes; the module of the same name is imported when the policy is chosen."""

NEED_KERNELS = frozenset({"lookahead", "rolling", "rounds", "threshold"})
"""Policies whose searches take seconds where kernels are not compiled."""

UNBOUNDED: dict[str, tuple[str, ...]] = {"lookahead": ("horizon",)}
"""Parameters that may be `inf`."""

SPEC_MAX = 1_000
"""Longest SPEC in characters."""


def parse_policy(spec: str) -> Policy:
    """Return the policy that a SPEC names.

    Raises:
        ConfigError: The name, a key or a value is not known; the sentence lists what is.

    >>> parse_policy("window:limit=150,steps=60-250+120-350").steps
    ((60.0, 250.0), (120.0, 350.0))
    """
    if len(spec) > SPEC_MAX:
        raise ConfigError(f"a policy SPEC may have {SPEC_MAX} characters, got {len(spec)}")
    name, _, rest = spec.strip().partition(":")
    texts = _parameters(spec, rest)
    if "." in name:
        return _imported(name, texts)
    if name not in POLICIES:
        raise ConfigError(f"no policy is called {name!r}{_nearest(name, list(POLICIES))}")
    kind = policy_class(name)
    fields = _fields_of(name)
    values: dict[str, Any] = {}
    for key, text in texts.items():
        if key not in fields:
            raise ConfigError(
                f"policy {name} has no parameter {key!r}{_nearest(key, list(fields))}"
            )
        if text == "inf" and key in UNBOUNDED.get(name, ()):
            values[key] = math.inf
            continue
        values[key] = _convert(f"{name}:{key}", text, fields[key].type)
    policy: Policy = kind(**values)
    return policy


def policies_of(queue: Queue) -> list[str]:
    """Return the SPECs of a queue: its own, those in a trial, and the one in shadow."""
    others = () if queue.switchback is None else queue.switchback.policies
    return [spec for spec in (queue.policy, *others, queue.shadow) if spec is not None]


def check_kernels(spec: str, queue: str) -> None:
    """Refuse a policy that searches with kernels where they are not compiled.

    Args:
        spec: The policy's.
        queue: Name of the queue that has it.

    Raises:
        NotSupported: numba is missing; the sentence says how to get it.
    """
    name = spec.strip().partition(":")[0]
    if name in NEED_KERNELS and not kernel.HAS_NUMBA:
        raise NotSupported(
            f"queue {queue}: policy {name} searches with solvers that numba compiles, and numba "
            f"is not installed: {kernel.INSTALL}; without it, greedy needs no solvers"
        )


@cache
def _fields_of(name: str) -> dict[str, msgspec.structs.FieldInfo]:
    """Return the parameters of a built-in policy; their types are costly to read."""
    return {field.name: field for field in msgspec.structs.fields(policy_class(name))}


def policy_class(name: str) -> type[Any]:
    """Return the class of a built-in policy; kernels are loaded only where it needs them."""
    module = importlib.import_module(f"evenmatch.policies.{name}")
    found: type[Any] = getattr(module, POLICIES[name])
    return found


def is_built_in(policy: object, name: str) -> bool:
    """Return whether a policy is the built-in one of a name, without loading that one's module.

    >>> is_built_in(parse_policy("greedy"), "greedy"), is_built_in(parse_policy("greedy"), "price")
    (True, False)
    """
    module = sys.modules.get(f"evenmatch.policies.{name}")
    return module is not None and isinstance(policy, getattr(module, POLICIES[name]))


def _parameters(spec: str, rest: str) -> dict[str, str]:
    texts: dict[str, str] = {}
    for part in rest.split(",") if rest else ():
        key, equals, text = part.partition("=")
        if not equals or not key.strip() or key.strip() in texts:
            raise ConfigError(
                f"policy SPEC {spec!r}: write name:key=value,key=value with each key once, "
                f"got {part!r}"
            )
        texts[key.strip()] = text.strip()
    return texts


def _nearest(word: str, allowed: list[str]) -> str:
    near = nearest_name(word, allowed)
    hint = f"; did you mean {near}?" if near else ";"
    return f"{hint} allowed: {', '.join(allowed) or 'none'}"


def _convert(where: str, text: str, kind: Any) -> Any:
    """Return the text as a value of the parameter's type."""
    raw: Any = text
    if text in ("true", "false") and kind is bool:
        raw = text == "true"
    elif "tuple" in str(kind):
        raw = [item.split("-") if "tuple[tuple" in str(kind) else item for item in text.split("+")]
    try:
        value = msgspec.convert(raw, kind, strict=False)
    except msgspec.ValidationError:
        # A number out of bounds is refused by the policy, like one that Python code gives it.
        number = _number(text) if range_of(kind) else None
        is_other = isinstance(number, float) and "whole" in words_of(kind)
        if number is None or is_other:
            raise ConfigError(f"{where} must be {words_of(kind)}, got {text!r}") from None
        value = number
    if isinstance(value, float) and not math.isfinite(value):
        raise ConfigError(f"{where} must be a finite number, got {text!r}")
    return value


def _number(text: str) -> float | None:
    try:
        return float(text) if set(text) - set("+-0123456789") else int(text)
    except ValueError:
        return None


def _imported(name: str, texts: dict[str, str]) -> Policy:
    """Return the policy that a dotted name stands for: an instance, or a class to be made."""
    module_name, _, attribute = name.rpartition(".")
    if not all(name.split(".")):
        raise ConfigError(f"cannot import policy {name}: write package.module.name")
    module = _module(module_name, name)
    found = getattr(module, attribute, None)
    if found is None:
        raise ConfigError(f"module {module_name} has no policy {attribute}")
    parameters = {key: _guess(text) for key, text in texts.items()}
    if isinstance(found, type) or (isinstance(found, FunctionPolicy) and parameters):
        try:
            found = found(**parameters)
        except TypeError as error:
            given = ", ".join(texts) or "no parameters"
            raise ConfigError(f"policy {name} does not take {given}: {error}") from None
        except MatchmakingError:
            raise
        except Exception as error:  # noqa: BLE001
            # As below: this is a user's code, and it may raise anything.
            raise ConfigError(f"policy {name} cannot be made: {_described(error)}") from None
    elif parameters:
        raise ConfigError(f"policy {name} is an instance and takes no parameters")
    if not isinstance(found, Policy):
        raise ConfigError(
            f"{name} is not a policy: it has no method matcher; put @policy() on a function"
        )
    return found


def _module(module_name: str, name: str) -> ModuleType:
    """Return a user's module; whatever it raises while it is imported becomes one sentence."""
    try:
        return importlib.import_module(module_name)
    except Exception as error:  # noqa: BLE001
        # A user's code may raise anything, and its author needs the place, not our traceback.
        missing = error.name if isinstance(error, ModuleNotFoundError) else None
        if missing and f"{module_name}.".startswith(f"{missing}."):
            sentence = f"{error}; is it on PYTHONPATH?"
        else:
            sentence = _described(error)
        raise ConfigError(f"cannot import {module_name} for policy {name}: {sentence}") from None


def _described(error: Exception) -> str:
    """Return an error's type, message, file and line on one line.

    The line is the last of the user's own, if there is one: that of evenmatch, which found the
    mistake, would not help.
    """
    if isinstance(error, SyntaxError):
        message, file, line = error.msg, error.filename, error.lineno
    else:
        places = list(traceback.walk_tb(error.__traceback__))
        own = [place for place in places if _is_users(place[0])]
        frame, line = (own or places)[-1]  # this module's own is there in any case
        message, file = str(error), frame.f_code.co_filename
    what = " ".join(f"{type(error).__name__}: {message}".split())
    return f"{what:.500} ({file}, line {line})"


def _is_users(frame: FrameType) -> bool:
    """Return whether a frame runs neither our code nor Python's machinery of imports."""
    package = str(frame.f_globals.get("__name__", "")).partition(".")[0]
    return package not in ("evenmatch", "importlib") and "<frozen " not in frame.f_code.co_filename


def _guess(text: str) -> bool | int | float | str:
    """Return a value for a parameter of unknown type."""
    if text in ("true", "false"):
        return text == "true"
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text
