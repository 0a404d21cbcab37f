"""The settings of accounts in a server's file, and the file that names several games."""

from pathlib import Path

import pytest

from evenmatch.config.files import load_scenario, load_server, load_tenants, parse_server
from evenmatch.config.server import Tenant, Tokens
from evenmatch.errors import ConfigError

TOKENS = 'tokens = {algorithm = "EdDSA", key_files = ["login.pem"], audience = "my-game"}'


def test_reads_who_may_come_in(tmp_path: Path) -> None:
    text = f"""
    [[queue]]
    [server]
    keys_file = "keys.json"
    guests = true
    trusted_proxies = ["10.0.0.0/8", "::1"]
    player_attributes = ["latency"]
    {TOKENS}
    limits = {{player_requests_max = 3, guests_max = 7}}
    """
    _, settings, _ = parse_server(text, tmp_path)
    assert settings.keys_file == str(tmp_path / "keys.json")
    assert settings.guests
    assert settings.trusted_proxies == ("10.0.0.0/8", "::1")
    assert settings.player_attributes == ("latency",)
    assert settings.tokens == Tokens("EdDSA", (str(tmp_path / "login.pem"),), "my-game")
    assert (settings.limits.player_requests_max, settings.limits.guests_max) == (3, 7)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ('trusted_proxies = ["everywhere"]', 'server.trusted_proxies[0] must be a network such as'),
        ('trusted_proxies = ["10.0.0.1/8"]', "server.trusted_proxies[0] must be a network"),
        *(
            (f'{kind}.fleet = {{{more}url = "{url}"}}', f"server.{kind}.fleet.url must be an addre")
            for kind, more in (("allocation", 'kind = "webhook", '), ("notifications", ""))
            for url in ("http://[::1/x", "http://a]b/", "http://h:99999/", "http://h:abc", "http://:80")
        ),
        ('keys_file = ""', "server.keys_file must be the name of a file"),
        (TOKENS.replace("EdDSA", "none"), "server.tokens.algorithm must be one of HS256"),
        (TOKENS.replace('"login.pem"', ""), "tokens.key_files must have 1 to 8 entries, got 0"),
        (TOKENS.replace("my-game", ""), "server.tokens.audience must be a text of 1 to 256 char"),
        (TOKENS.replace("}", ", lifetime_max = 0.0}"), "tokens.lifetime_max must be between"),
        (TOKENS.replace("}", ", leeway = 3600.0}"), "server.tokens.leeway must be between"),
        ('tokens = {algorithm = "HS256"}', "server.tokens.key_files is missing"),
        ("port = 9000", "server.port is not a known key; set it with evenmatch serve --port"),
        ("tls_key = 1", "server.tls_key is not a known key; set it with evenmatch serve --tls-key"),
        (TOKENS.replace("}", ", secret = 'x'}"), "server.tokens.secret is not a known key"),
    ],
)  # fmt: skip
def test_refuses_settings_that_let_the_wrong_ones_in(text: str, words: str) -> None:
    with pytest.raises(ConfigError) as caught:
        parse_server(f"[[queue]]\n[server]\n{text}")
    assert words in str(caught.value)


def test_one_game_names_no_others() -> None:
    path = Path("scenarios/duel.toml")
    assert load_tenants(path) == ()


def test_several_games_are_named_with_their_files(tmp_path: Path) -> None:
    file = tmp_path / "games.toml"
    file.write_text('[[tenant]]\nname = "chess"\nconfig = "chess.toml"\n'
                    '[[tenant]]\nname = "go"\nconfig = "go/go.toml"\n')  # fmt: skip
    assert load_tenants(file) == (
        Tenant("chess", str(tmp_path / "chess.toml")), Tenant("go", str(tmp_path / "go/go.toml")),
    )  # fmt: skip
    for load in (load_server, load_scenario):
        with pytest.raises(ConfigError, match="tenant is for evenmatch serve"):
            load(file)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ('[[tenant]]\nname = "../up"\nconfig = "a"', "must be 1 to 32 of a-z"),
        ('[[tenant]]\nname = "a"\nconfig = ""', "must be the name of a file"),
        ('[[tenant]]\nname = "a"\nconfig = "x"\n[[tenant]]\nname = "a"\nconfig = "y"', "is taken"),
        ('[[tenant]]\nname = "a"\nconfig = "x"\n[[queue]]', "tenant must stand alone"),
        (
            '[[tenant]]\nname = "a"\nconfig = "x"\n[server]\nguests = true',
            "tenant must stand alone",
        ),
        ('[[tenant]]\nname = "a"', "is missing"),
    ],
)
def test_refuses_games_that_cannot_be_told_apart(tmp_path: Path, text: str, words: str) -> None:
    file = tmp_path / "games.toml"
    file.write_text(text)
    with pytest.raises(ConfigError) as caught:
        load_tenants(file)
    assert words in str(caught.value)
