"""Keys that go over the network in the clear are warned of."""

from pathlib import Path
from unittest.mock import Mock

import pytest

from evenmatch.server.runtime import serve as server_process
from evenmatch.server.runtime.serve import ListenOptions, warn_of_clear_keys

PEM = Path("server.pem")


@pytest.mark.parametrize(
    ("host", "certificate", "is_warned"),
    [
        ("0.0.0.0", None, True),
        ("::", None, True),
        ("192.0.2.7", None, True),
        ("match.example", None, True),
        ("0.0.0.0", PEM, False),
        ("127.0.0.1", None, False),
        ("::1", None, False),
        ("localhost", None, False),
    ],
)
def test_keys_in_the_clear_are_warned_of(
    host: str, certificate: Path | None, is_warned: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    log = Mock()
    monkeypatch.setattr(server_process, "log", log)
    warn_of_clear_keys(ListenOptions(host, 8080, None, False, certificate, certificate))
    assert log.warning.called == is_warned
    if is_warned:
        assert log.warning.call_args.args == ("keys_in_the_clear",)
        assert "TLS" in log.warning.call_args.kwargs["remedy"]
