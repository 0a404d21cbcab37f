"""The files that operators start from: they name what there is, and nothing that is dangerous."""

import asyncio
import configparser
import json
import re
import shlex
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
from prometheus_client.parser import text_string_to_metric_families

from evenmatch.journals.memory import MemoryJournal
from evenmatch.model.queue import Queue
from evenmatch.server.cluster import joined_answers
from evenmatch.server.cluster.joined_answers import WholeAnswer
from evenmatch.server.cluster.node_metrics import NodeMetrics
from evenmatch.server.runtime.recovery import ShardPlan
from evenmatch.server.runtime.services import assemble
from tests.certificates import certificate_in
from tests.integration.serving import free_port

ROOT = Path(__file__).resolve().parents[2]
DEPLOY = ROOT / "deploy"
KINDS = re.compile(r"_(bucket|sum|count|total|created)$")
SERVE_OPTIONS = {"--data", "--host", "--port", "--wait"}


def metrics_there_are() -> set[str]:
    """Return the metrics of a game of two shards, by their names."""

    async def look() -> str:
        parts = assemble(ShardPlan((Queue(),)), MemoryJournal())
        await parts.runtime.start()
        page = WholeAnswer(200, (), parts.metrics.text())
        await parts.runtime.stop()
        own = NodeMetrics("eu-1").text()
        return joined_answers.metrics([("s0", page), ("s0.casual", page)], own).body.decode()

    return {family.name for family in text_string_to_metric_families(asyncio.run(look()))}


def dockerfile() -> list[tuple[str, str]]:
    """Return instructions and what follows them."""
    text = (DEPLOY / "Dockerfile").read_text().replace("\\\n", " ")
    lines = [line for line in text.splitlines() if line and not line.startswith("#")]
    return [(line.split()[0], line.partition(" ")[2].strip()) for line in lines]


def of(kind: str) -> list[str]:
    return [rest for name, rest in dockerfile() if name == kind]


def test_every_metric_of_the_grafana_dashboard_is_measured() -> None:
    dashboard: dict[str, Any] = json.loads((DEPLOY / "grafana" / "evenmatch.json").read_text())
    panels = [panel for panel in dashboard["panels"] if panel["type"] != "row"]
    asked = {
        KINDS.sub("", name)
        for panel in panels
        for target in panel["targets"]
        for name in re.findall(r"evenmatch_\w+", target["expr"])
    }
    asked |= set(re.findall(r"evenmatch_\w+", json.dumps(dashboard["templating"])))
    assert len(asked) > 15
    assert asked <= metrics_there_are()
    assert {"evenmatch_shard_up", "evenmatch_ready"} <= asked
    assert all(panel["title"] and panel["description"] for panel in panels)
    ids = [panel["id"] for panel in dashboard["panels"]]
    assert len(set(ids)) == len(ids)
    places = [(panel["gridPos"]["x"], panel["gridPos"]["y"]) for panel in dashboard["panels"]]
    assert len(set(places)) == len(places), "no panel hides another"


def test_grafana_dashboard_offers_servers_that_answer_though_their_journal_is_away() -> None:
    dashboard: dict[str, Any] = json.loads((DEPLOY / "grafana" / "evenmatch.json").read_text())
    (servers,) = [each for each in dashboard["templating"]["list"] if each["name"] == "instance"]
    # All that nodes show then; see `joined_answers.metrics`.
    away = joined_answers.metrics([("s0", WholeAnswer(503, (), b""))], "").body.decode()
    there = {family.name for family in text_string_to_metric_families(away)}
    assert set(re.findall(r"evenmatch_\w+", servers["query"]["query"])) <= there


def test_image_copies_files_that_there_are() -> None:
    copied = [shlex.split(rest) for rest in of("COPY")]
    sources = [each for words in copied if not words[0].startswith("--from") for each in words[:-1]]
    assert {"pyproject.toml", "src"} <= set(sources)
    allowed = (ROOT / ".dockerignore").read_text().splitlines()
    for each in sources:
        assert (ROOT / each).exists(), each
        assert f"!{each}" in allowed, f".dockerignore keeps {each} out of the build"


def test_image_has_a_pinned_base_a_user_without_rights_and_a_health_check() -> None:
    for base in of("FROM"):
        assert re.match(r"python:\d+\.\d+\.\d+-slim-\w+( AS \w+)?$", base)
    assert of("USER") == ["evenmatch"]
    names = [name for name, _ in dockerfile()]
    assert names.index("USER") < names.index("ENTRYPOINT")
    (check,) = of("HEALTHCHECK")
    assert "/healthz" in check
    compile(json.loads(check[check.index("CMD [") + 4 :])[2], "health check", "exec")
    # A password in a layer stays there for ever.
    assert not [rest for _, rest in dockerfile() if re.search(r"(?i)password|secret|token", rest)]


def test_image_has_the_packages_of_every_journal() -> None:
    (installed,) = [rest for rest in of("RUN") if "pip install" in rest]
    assert '".[server,postgres,nats]"' in installed
    assert "evenmatch[server,postgres,nats]" in (DEPLOY / "systemd/evenmatch.service").read_text()


def test_image_holds_compiled_solvers_for_any_processor_where_the_server_reads_them() -> None:
    ran = [rest for rest in of("RUN") if "evenmatch warm" in rest]
    assert len(ran) == 1
    assert "XDG_CACHE_HOME=/cache " in ran[0]
    assert "--from=build --chown=evenmatch:evenmatch /cache /cache" in of("COPY")
    built, run = of("ENV")
    assert "XDG_CACHE_HOME=/cache" in run
    # Code for another processor has another key: the server would not find it.
    for setting in ("NUMBA_CPU_NAME=generic", 'NUMBA_CPU_FEATURES=""'):
        assert setting in built
        assert setting in run
    assert "/cache" not in of("VOLUME")[0]


def test_image_and_unit_start_a_command_that_there_is() -> None:
    (words,) = of("CMD")
    commands = [json.loads(words), shlex.split(unit()["Service"]["ExecStart"])[1:]]
    for command in commands:
        assert command[0] == "serve"
        options = {word for word in command if word.startswith("--")}
        assert {"--data"} <= options <= SERVE_OPTIONS


def test_compose_file_builds_our_image_and_drops_rights() -> None:
    # No YAML reader is among our dependencies; the lines that matter are plain.
    text = (DEPLOY / "compose.yaml").read_text()
    for line in (
        "dockerfile: deploy/Dockerfile",
        "context: ..",
        "read_only: true",
        "cap_drop: [ALL]",
        'security_opt: ["no-new-privileges:true"]',
        '- "127.0.0.1:8080:8080"',
    ):
        assert f" {line}\n" in text
    (mounted,) = re.findall(r"- (\.\./[\w/.]+):/etc/evenmatch/config\.toml:ro", text)
    assert (DEPLOY / mounted).resolve().is_file()


class _CaseKept(configparser.RawConfigParser):
    def optionxform(self, optionstr: str) -> str:
        return optionstr


def unit() -> configparser.RawConfigParser:
    parser = _CaseKept(strict=False)
    parser.read_string((DEPLOY / "systemd" / "evenmatch.service").read_text())
    return parser


def test_unit_is_hardened_and_lets_the_server_keep_its_data() -> None:
    service = unit()["Service"]
    for key in ("NoNewPrivileges", "ProtectHome", "PrivateDevices", "DynamicUser", "PrivateTmp"):
        assert service[key] == "yes"
    assert service["ProtectSystem"] == "strict"
    assert f"/var/lib/{service['StateDirectory']}" in service["ExecStart"]
    assert f"/var/cache/{service['CacheDirectory']}" in service["Environment"]
    assert "-HUP" in service["ExecReload"]


@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="there is no systemd-analyze")
def test_systemd_understands_the_unit(tmp_path: Path) -> None:
    # It looks for the program, which is not installed here.
    text, copy = (DEPLOY / "systemd" / "evenmatch.service").read_text(), tmp_path / "a.service"
    copy.write_text(text.replace("/opt/evenmatch/bin/evenmatch", "/bin/true"))
    command = ["systemd-analyze", "verify", str(copy)]
    told = subprocess.run(command, capture_output=True, text=True, timeout=240, check=False)
    assert (told.returncode, told.stderr) == (0, "")


@pytest.mark.skipif(shutil.which("nginx") is None, reason="there is no nginx")
def test_nginx_understands_the_page(tmp_path: Path) -> None:
    page = (ROOT / "docs" / "howto" / "behind-a-proxy.md").read_text()
    proxy, cluster = re.findall(r"```nginx\n(.*?)```", page, re.DOTALL)
    cert, key = certificate_in(tmp_path)
    proxy = proxy.replace("/etc/ssl/match.pem", cert).replace("/etc/ssl/match.key", key)
    proxy = proxy.replace("listen 443", f"listen 127.0.0.1:{free_port()}")
    proxy = proxy.replace("    location /", f"    {cluster}    location /")
    config = tmp_path / "nginx.conf"
    config.write_text(f"pid {tmp_path}/pid;\nevents {{}}\nhttp {{ access_log off;\n{proxy}}}\n")
    command = ["nginx", "-t", "-e", str(tmp_path / "log"), "-c", str(config)]
    told = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert told.returncode == 0, told.stderr
