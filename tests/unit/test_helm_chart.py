"""The chart for Kubernetes: rendered by a small part of Helm's language, then held to promises.

The renderer knows what the templates use and nothing else: values, `if`, `else`, `with`, and the
functions of `apply`. What it does not know is an error, so that no template is tested half.
"""

import hashlib
import json
import re
import shutil
import subprocess
import tomllib
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import msgspec
import pytest
import yaml

from evenmatch import __version__
from evenmatch.cli.main import main
from evenmatch.config.server import Tokens
from evenmatch.server.cluster.identity import address_of, check_address

ROOT = Path(__file__).resolve().parents[2]
CHART = ROOT / "deploy" / "helm" / "evenmatch"
HOWTO = (ROOT / "docs" / "howto" / "run-several-nodes.md").read_text()
ACTION = re.compile(r"(\n[ \t]*)?\{\{(-)?\s*(.*?)\s*\}\}")
WORD = re.compile(r'"[^"]*"|[^\s|]+|\|')


class Failed(Exception):
    """A template refuses the values with a sentence."""


def values() -> dict[str, Any]:
    found: dict[str, Any] = yaml.safe_load((CHART / "values.yaml").read_text())
    return found


def rendered(given: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """Return what the templates make, by kind; what is not named as the release, by its name."""
    scope = {
        "Values": given,
        "Release": {"Name": "game"},
        "Chart": {"AppVersion": yaml.safe_load((CHART / "Chart.yaml").read_text())["appVersion"]},
    }
    paths = sorted((CHART / "templates").glob("*.yaml"))
    return by_name(yaml.safe_load(text_of(path.read_text(), scope)) for path in paths)


def by_name(objects: Iterable[dict[str, Any]]) -> dict[str, dict[str, Any]]:
    found = {}
    for each in objects:
        name = each["metadata"]["name"]
        found[each["kind"] if name == "game" else name] = each
    return found


def text_of(template: str, scope: dict[str, Any]) -> str:
    """Return a template's text: with each block goes whether it is shown, and what its dot is."""
    parts: list[str] = []
    blocks: list[tuple[bool, Any]] = [(True, scope)]
    halves: list[bool] = []
    at = 0
    for match in ACTION.finditer(template):
        before, trims, inside = match.groups()
        word, _, rest = inside.partition(" ")
        is_shown, dot = blocks[-1]
        if is_shown:
            parts += template[at : match.start()], "" if trims or before is None else before
        at = match.end()
        if word in ("if", "with"):
            value = value_of(rest, dot) if is_shown else None
            # Within a block that is not shown, neither half is.
            halves.append(is_shown and not value)
            blocks.append((bool(value), value if word == "with" else dot))
        elif word == "else":
            blocks[-1] = (halves[-1], blocks[-2][1])
        elif word == "end":
            blocks.pop()
            halves.pop()
        elif is_shown:
            value = value_of(inside, dot)
            parts.append("" if value is None else str(value))
    assert len(blocks) == 1, "each block has an end"
    return "".join(parts) + template[at:]


def value_of(inside: str, scope: Any) -> Any:
    stages: list[list[str]] = [[]]
    for word in WORD.findall(inside):
        if word == "|":
            stages.append([])
        else:
            stages[-1].append(word)
    value: Any = None
    for number, (name, *rest) in enumerate(stages):
        given = [operand(word, scope) for word in rest] + ([value] if number else [])
        value = operand(name, scope) if name.startswith(".") else apply(name, given)
    return value


def operand(word: str, scope: Any) -> Any:
    if word.startswith('"'):
        return json.loads(word)
    if word.isdigit():
        return int(word)
    if not word.startswith("."):
        raise ValueError(f"the renderer does not know {word!r}")
    found: Any = scope
    for name in word[1:].split(".") if word != "." else ():
        found = found[name]
    return found


def apply(name: str, given: list[Any]) -> Any:
    if name == "quote":
        return json.dumps(str(given[0]))
    if name == "printf":
        texts = [json.dumps(each) if isinstance(each, bool) else each for each in given[1:]]
        return given[0].replace("%v", "%s") % tuple(texts)
    if name == "default":
        return given[1] or given[0]
    if name == "eq":
        return given[0] == given[1]
    if name == "gt":
        return given[0] > given[1]
    if name == "sub":
        return int(given[0]) - int(given[1])
    if name == "not":
        return not given[0]
    if name == "kindIs":
        return (given[1] is None) is {"invalid": True}[given[0]]
    if name == "hasKey":
        return given[1] in given[0]
    if name == "fail":
        raise Failed(given[0])
    if name == "sha256sum":
        return hashlib.sha256(given[0].encode()).hexdigest()
    if name == "toYaml":
        return yaml.safe_dump(given[0]).rstrip("\n")
    if name == "nindent":
        blank = " " * given[0]
        return "\n" + "\n".join(blank + line for line in str(given[1]).splitlines())
    raise ValueError(f"the renderer does not know {name!r}")


class Reused(dict[str, Any]):
    """Values of an older chart: what they do not have is nil, as `--reuse-values` leaves it."""

    def __missing__(self, key: str) -> None:
        return None


def pod(objects: dict[str, dict[str, Any]]) -> dict[str, Any]:
    found: dict[str, Any] = objects["Deployment"]["spec"]["template"]["spec"]
    return found


def test_renderer_refuses_what_it_does_not_know() -> None:
    with pytest.raises(ValueError, match="does not know 'range'"):
        value_of("range .Values.x", {"Values": {"x": 1}})
    with pytest.raises(KeyError):
        value_of(".Values.y", {"Values": {"x": 1}})


EXTRAS: dict[str, Any] = {
    "strategy": "Recreate",
    "image": {"repository": "evenmatch", "tag": "mine", "pullPolicy": "Always"},
    "ipv6": True,
    "extraFiles": {"rules.json": "{}\n"},
    "extraVolumes": [{"name": "more", "emptyDir": {}}],
    "extraVolumeMounts": [{"name": "more", "mountPath": "/more"}],
    "extraEnv": [{"name": "MORE", "value": "1"}],
}


@pytest.mark.skipif(shutil.which("helm") is None, reason="there is no helm")
@pytest.mark.parametrize("given", [{}, EXTRAS], ids=["defaults", "extras"])
def test_helm_makes_the_same_of_the_templates(given: dict[str, Any], tmp_path: Path) -> None:
    file = tmp_path / "values.yaml"
    file.write_text(yaml.safe_dump(given))
    command = ["helm", "template", "game", str(CHART), "--values", str(file)]
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=60)
    ours = rendered({**values(), **given})
    for objects in (theirs := by_name(yaml.safe_load_all(done.stdout)), ours):
        # Helm sorts and indents in its own way, so a checksum of YAML differs.
        metadata = objects["Deployment"]["spec"]["template"]["metadata"]
        assert re.fullmatch(r"[0-9a-f]{64}", metadata["annotations"].pop("checksum/files"))
    assert theirs == ours


def test_chart_has_no_disks_and_no_election() -> None:
    objects = rendered(values())
    kinds = [each["kind"] for each in objects.values()]
    assert sorted(kinds) == [
        "ConfigMap", "Deployment", "PodDisruptionBudget", "Service", "Service",
    ]  # fmt: skip
    volumes = {next(key for key in each if key != "name") for each in pod(objects)["volumes"]}
    assert volumes == {"configMap", "secret", "emptyDir"}
    assert pod(objects)["automountServiceAccountToken"] is False


def test_every_value_is_used_and_every_part_of_the_templates_is_a_value() -> None:
    text = "".join(path.read_text() for path in (CHART / "templates").glob("*.yaml"))
    used = set(re.findall(r"\.Values\.([\w.]+)", text))
    for name, value in values().items():
        names = {f"{name}.{key}" for key in value} if isinstance(value, dict) else {name}
        assert name in used or names <= used, f"{names - used} do nothing"


def test_nodes_serve_with_options_that_the_command_has(capsys: pytest.CaptureFixture[str]) -> None:
    (container,) = pod(rendered(values()))["containers"]
    args = container["args"]
    assert args[0] == "serve"
    assert all(isinstance(each, str) for each in args)
    assert main(["serve", "--help"]) in (0, None)
    told = capsys.readouterr().out
    assert {each for each in args if each.startswith("--")} <= set(re.findall(r"--[\w-]+", told))
    names = set(re.findall(r"\$\((\w+)\)", " ".join(args)))
    assert names == {each["name"] for each in container["env"]}
    # A variable may use only those that stand before it; args may use all.
    assert float(args[args.index("--lease-seconds") + 1]) == values()["cluster"]["leaseSeconds"]


@pytest.mark.parametrize(
    ("ipv6", "host", "address"),
    [
        (False, "0.0.0.0", "10.1.2.3"),
        ("false", "0.0.0.0", "10.1.2.3"),
        (True, "::", "fd00::12"),
        ("true", "::", "fd00::12"),
    ],
)
def test_nodes_listen_and_are_reached_by_the_addresses_of_pods(
    ipv6: bool | str, host: str, address: str
) -> None:
    (container,) = pod(rendered({**values(), "ipv6": ipv6}))["containers"]
    args = container["args"]
    assert args[args.index("--host") + 1] == host
    place = args[args.index("--node-address") + 1].replace("$(POD_IP)", address)
    check_address(place)
    assert address_of(f"game-1@{place}") == (address, 8080)


def test_values_of_a_chart_that_had_fewer_are_taken() -> None:
    given = Reused(values())
    del given["ipv6"]
    assert rendered(given) == rendered(values())


def test_secrets_are_referred_to_and_never_written() -> None:
    objects = rendered(values())
    (container,) = pod(objects)["containers"]
    (journal,) = [each for each in container["env"] if each["name"] == "EVENMATCH_JOURNAL"]
    assert journal["valueFrom"]["secretKeyRef"] == {"name": "evenmatch-journal", "key": "url"}
    secrets = {each["secret"]["secretName"] for each in pod(objects)["volumes"] if "secret" in each}
    assert secrets == {"evenmatch-cluster"}
    assert "Secret" not in objects


def test_keys_are_with_the_journal_where_every_node_sees_them_change() -> None:
    (container,) = pod(rendered(values()))["containers"]
    # In a directory of its own a node would keep keys and the secret of guests from the others.
    assert not {"--data", "--keys"} & set(container["args"])
    # Kubernetes never refreshes a file that is mounted with subPath.
    assert not [each for each in container["volumeMounts"] if "subPath" in each]
    assert "keys add backend --journal" in HOWTO[HOWTO.index("## On Kubernetes") :]


def test_node_hands_over_before_it_is_killed() -> None:
    given = values()
    objects = rendered(given)
    (container,) = pod(objects)["containers"]
    handover = given["handover"]
    assert container["lifecycle"]["preStop"]["exec"]["command"][-1] == "import time; time.sleep(5)"
    assert pod(objects)["terminationGracePeriodSeconds"] == 60
    assert handover["graceSeconds"] >= handover["preStopSeconds"] + 30
    assert objects["Deployment"]["spec"]["strategy"] == {
        "type": "RollingUpdate",
        "rollingUpdate": {"maxUnavailable": 0, "maxSurge": 1},
    }


@pytest.mark.parametrize("handover", [(60, 60), (90, 60), (41.0, 60.0), (5, 24)])
def test_node_that_would_be_killed_while_it_hands_over_is_refused(
    handover: tuple[float, float],
) -> None:
    given = dict(zip(("preStopSeconds", "graceSeconds"), handover, strict=True))
    with pytest.raises(Failed, match="at least 20 more than"):
        rendered({**values(), "handover": given})
    assert rendered({**values(), "handover": {**given, "graceSeconds": handover[0] + 20}})


def test_time_that_is_left_to_kubernetes_is_left_to_it() -> None:
    handover = {"preStopSeconds": 5, "graceSeconds": None}
    objects = rendered({**values(), "handover": handover})
    assert pod(objects)["terminationGracePeriodSeconds"] is None


def test_all_nodes_may_stop_before_new_ones_start() -> None:
    # Kubernetes refuses `rollingUpdate` beside any other type.
    deployment = rendered({**values(), "strategy": "Recreate"})["Deployment"]
    assert deployment["spec"]["strategy"] == {"type": "Recreate"}


def test_page_says_how_a_split_changes_where_drained_nodes_are_started_again() -> None:
    section = HOWTO[HOWTO.index("## On Kubernetes") :]
    steps = [
        "/v1/drain?limit=",
        "--set replicas=0",
        "kubectl wait --for=delete pod",
        "--against",
        "--set replicas=3",
    ]
    places = [section.index(each) for each in steps]
    assert places == sorted(places)
    labels = rendered(values())["Deployment"]["spec"]["selector"]["matchLabels"]
    (selector,) = re.findall(r"--for=delete pod -l (\S+)", section)
    assert dict(each.split("=") for each in selector.split(",")).items() <= labels.items()


def test_node_that_is_not_ready_is_not_killed_for_it() -> None:
    (container,) = pod(rendered(values()))["containers"]
    assert container["readinessProbe"]["httpGet"] == {"path": "/readyz", "port": "http"}
    assert container["livenessProbe"]["httpGet"] == {"path": "/healthz", "port": "health"}
    ports = {each["name"]: each["containerPort"] for each in container["ports"]}
    args = container["args"]
    assert str(ports["http"]) == args[args.index("--port") + 1]
    assert str(ports["health"]) == args[args.index("--health-port") + 1]
    assert rendered(values())["Service"]["spec"]["ports"][0]["targetPort"] == "http"


def test_node_has_time_to_start_and_is_watched_from_then_on() -> None:
    (container,) = pod(rendered(values()))["containers"]
    startup, liveness = container["startupProbe"], container["livenessProbe"]
    # Loading the modules on a busy machine, and a journal that lets a node wait for its answer.
    assert startup["httpGet"] == liveness["httpGet"]
    assert startup["periodSeconds"] * startup["failureThreshold"] >= 120
    # The startup probe holds the others back, so no delay is to be guessed.
    assert "initialDelaySeconds" not in {*startup, *liveness, *container["readinessProbe"]}
    section = (ROOT / "docs" / "runbook.md").read_text().partition("\n## EvenmatchGone\n")[2]
    assert "kubectl rollout restart deployment/game" in section.partition("\n## ")[0]


def test_prometheus_reaches_nodes_that_are_not_ready_where_the_page_says() -> None:
    objects = rendered(values())
    service = objects["game-metrics"]
    spec = service["spec"]
    # Where no node is ready, the Service for players has no address.
    assert (spec["clusterIP"], spec["publishNotReadyAddresses"]) == ("None", True)
    assert spec["selector"] == objects["Service"]["spec"]["selector"]
    assert "publishNotReadyAddresses" not in objects["Service"]["spec"]
    (port,) = spec["ports"]
    ports = {each["name"]: each["containerPort"] for each in pod(objects)["containers"][0]["ports"]}
    assert port["port"] == ports[port["targetPort"]]
    # A monitor that chooses the Service for players by these would scrape each node twice.
    assert service["metadata"]["labels"] != objects["Service"]["metadata"]["labels"]
    page = (ROOT / "docs" / "howto" / "read-the-metrics.md").read_text()
    (shown,) = re.findall(r"```yaml\n(.*?)```", page, re.S)
    (job,) = yaml.safe_load(shown)["scrape_configs"]
    (target,) = job["static_configs"][0]["targets"]
    assert target == f"{service['metadata']['name']}.default.svc:{port['port']}"


def test_nodes_are_spread_and_few_go_at_once() -> None:
    objects = rendered(values())
    labels = objects["Deployment"]["spec"]["template"]["metadata"]["labels"]
    spread = pod(objects)["topologySpreadConstraints"]
    assert [each["topologyKey"] for each in spread] == [
        "topology.kubernetes.io/zone",
        "kubernetes.io/hostname",
    ]
    selectors = [each["labelSelector"]["matchLabels"] for each in spread]
    selectors += [objects[kind]["spec"]["selector"] for kind in ("Service",)]
    budget = objects["PodDisruptionBudget"]["spec"]
    selectors += [budget["selector"]["matchLabels"]]
    selectors += [objects["Deployment"]["spec"]["selector"]["matchLabels"]]
    assert all(each == labels for each in selectors)
    assert budget["maxUnavailable"] == 1 < objects["Deployment"]["spec"]["replicas"]


def test_configuration_is_the_one_that_was_given_and_rolls_the_nodes() -> None:
    given = values()
    objects = rendered(given)
    assert tomllib.loads(objects["ConfigMap"]["data"]["config.toml"]) == tomllib.loads(
        given["config"]
    )
    template = objects["Deployment"]["spec"]["template"]
    other = rendered({**given, "config": given["config"] + "wait_max = 60.0\n"})["Deployment"]
    sums = [
        each["metadata"]["annotations"]["checksum/config"]
        for each in (template, other["spec"]["template"])
    ]
    assert len(set(sums)) == 2
    mounts = {
        each["name"]: each["mountPath"] for each in pod(objects)["containers"][0]["volumeMounts"]
    }
    assert mounts["config"] + "/config.toml" in pod(objects)["containers"][0]["args"]


@pytest.mark.parametrize("before", ["", "  # My game\n", "\n", "\n    # My game\n\n", "\t# Mine\n"])
def test_configuration_may_begin_with_any_line(before: str) -> None:
    config = before + values()["config"]
    objects = rendered({**values(), "config": config, "extraFiles": {"rules.json": "{}\n"}})
    assert objects["ConfigMap"]["data"] == {"config.toml": config, "rules.json": "{}\n"}


def test_file_in_the_place_of_the_configuration_is_refused() -> None:
    with pytest.raises(Failed, match="must not name"):
        rendered({**values(), "extraFiles": {"config.toml": "other"}})


def test_image_is_that_of_this_version_unless_a_tag_is_given() -> None:
    given = values()
    image = f"registry.example/evenmatch:{__version__}"
    given["image"]["repository"] = "registry.example/evenmatch"
    assert pod(rendered(given))["containers"][0]["image"] == image
    built = set(re.findall(r"registry\.example/evenmatch:\S+", HOWTO))
    assert built == {image}, "the page builds the image that the chart takes"
    given["image"]["tag"] = "mine"
    assert pod(rendered(given))["containers"][0]["image"] == "registry.example/evenmatch:mine"


def test_files_are_beside_the_configuration_that_names_them_and_roll_the_nodes() -> None:
    given = {**values(), "extraFiles": {"login-public.pem": "-----BEGIN\n-----END\n"}}
    objects = rendered(given)
    assert objects["ConfigMap"]["data"].keys() == {"config.toml", "login-public.pem"}
    assert objects["ConfigMap"]["data"]["login-public.pem"] == "-----BEGIN\n-----END\n"
    before, after = (
        each["Deployment"]["spec"]["template"]["metadata"]["annotations"]
        for each in (rendered(values()), objects)
    )
    assert {key for key in before if before[key] != after[key]} == {"checksum/files"}


def test_secrets_of_tokens_are_mounted_as_the_page_shows() -> None:
    section = HOWTO[HOWTO.index("### Mount keys of player tokens") :].partition("\n### ")[0]
    (shown,) = re.findall(r"```yaml\n(.*?)```", section, re.S)
    extra = yaml.safe_load(shown)
    assert extra.keys() == {"extraVolumes", "extraVolumeMounts", "extraEnv"} <= values().keys()
    plain, more = pod(rendered(values())), pod(rendered({**values(), **extra}))
    assert more["volumes"] == plain["volumes"] + extra["extraVolumes"]
    for name, key in (("volumeMounts", "extraVolumeMounts"), ("env", "extraEnv")):
        assert more["containers"][0][name] == plain["containers"][0][name] + extra[key]
    mounts = [each["mountPath"] for each in more["containers"][0]["volumeMounts"]]
    # Nothing can be mounted below a volume that is read-only.
    assert not [each for each in mounts if each.startswith("/etc/evenmatch/")]
    (file,) = re.findall(r'key_files = \["(/[^"]+)"\]', section)
    assert str(Path(file).parent) in mounts
    (config,) = re.findall(r"```toml\n(.*?)```", section, re.S)
    tables = tomllib.loads(config)
    assert msgspec.convert(tables["server"]["tokens"], Tokens).key_files


def test_container_has_no_more_rights_than_it_needs() -> None:
    objects = rendered(values())
    (container,) = pod(objects)["containers"]
    assert container["securityContext"] == {
        "allowPrivilegeEscalation": False,
        "readOnlyRootFilesystem": True,
        "capabilities": {"drop": ["ALL"]},
    }
    assert pod(objects)["securityContext"]["runAsNonRoot"] is True
    assert container["resources"] == values()["resources"]
