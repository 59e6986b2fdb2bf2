"""Where settings come from, and what a wrong one says."""

from pathlib import Path

import pytest

from runlane.service.settings import SettingsError, load_settings, parse_listen

LONG = "0123456789abcdef"


@pytest.fixture(autouse=True)
def clean_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("KAFKA", "CLICKHOUSE", "CONFIG", "OWNER_KEY", "HOST_KEY", "WORKER_TOKEN", "LISTEN"):
        monkeypatch.delenv(f"RUNLANE_{name}", raising=False)


def test_a_variable_wins_over_the_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "runlane.toml"
    file.write_text('kafka = "from-file:9092"\npartitions = 3\n')
    monkeypatch.setenv("RUNLANE_CONFIG", str(file))
    monkeypatch.setenv("RUNLANE_KAFKA", "from-variable:9092")

    settings = load_settings()

    assert (settings.kafka, settings.partitions) == ("from-variable:9092", 3)


def test_lists_are_commas_in_a_variable_and_lists_in_the_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "runlane.toml"
    file.write_text(
        f'worker_token = ["{LONG}1", "{LONG}2"]\n'
        f'[[viewers]]\ntoken = "{LONG}3"\nsessions = ["a"]\nprefixes = ["team-"]\n'
    )
    monkeypatch.setenv("RUNLANE_CONFIG", str(file))
    monkeypatch.setenv("RUNLANE_HOST_TOKEN", f"{LONG}4, {LONG}5")

    settings = load_settings()

    assert [token.get_secret_value() for token in settings.worker_token] == [f"{LONG}1", f"{LONG}2"]
    assert [token.get_secret_value() for token in settings.host_token] == [f"{LONG}4", f"{LONG}5"]
    assert settings.viewers[0].prefixes == ("team-",)


def test_the_first_key_signs_and_all_verify(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RUNLANE_HOST_KEY", f"old:{LONG}")
    old = load_settings().keyring("host_key")
    monkeypatch.setenv("RUNLANE_HOST_KEY", f"new:{LONG}2,old:{LONG}")
    ring = load_settings().keyring("host_key")

    assert ring.sign_host(b"s/a", b"body").startswith("new:")
    assert ring.verify_host(b"s/a", b"body", old.sign_host(b"s/a", b"body"))


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("WORKER_TOKEN", "short-secret"),
        ("OWNER_KEY", "a:short-secret"),
        ("OWNER_KEY", f"bad id:{LONG}short-secret"),
        ("HOST_KEY", f"{LONG}short-secret,{LONG}"),
        ("LISTEN", "short-secret"),
        ("LISTEN", "127.0.0.1:99999"),
        ("PARTITIONS", "short-secret"),
        ("PARTITIONS", "0"),
        ("LOG_LEVEL", "short-secret"),
        ("VIEWERS", '[{"token": "short-secret"}]'),
        ("VIEWERS", "short-secret"),
    ],
)
def test_a_wrong_setting_is_named_and_not_quoted(
    monkeypatch: pytest.MonkeyPatch, name: str, value: str
) -> None:
    monkeypatch.setenv(f"RUNLANE_{name}", value)

    with pytest.raises(SettingsError) as caught:
        load_settings()

    assert name.lower() in str(caught.value).lower()
    assert "short-secret" not in str(caught.value)


@pytest.mark.parametrize("text", ["kafak = 'short-secret'", "kafka = short-secret", "kafka = ["])
def test_a_wrong_file_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    file = tmp_path / "runlane.toml"
    file.write_text(text)
    monkeypatch.setenv("RUNLANE_CONFIG", str(file))

    with pytest.raises(SettingsError) as caught:
        load_settings()

    assert "short-secret" not in str(caught.value)


def test_a_missing_file_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RUNLANE_CONFIG", str(tmp_path / "none.toml"))

    with pytest.raises(SettingsError, match="RUNLANE_CONFIG"):
        load_settings()


def test_a_role_names_what_it_lacks() -> None:
    with pytest.raises(SettingsError, match=r"RUNLANE_KAFKA, RUNLANE_OWNER_KEY$"):
        load_settings(clickhouse="chdb:///x").need("kafka", "clickhouse", "owner_key")


def test_secrets_are_in_no_representation(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RUNLANE_WORKER_TOKEN", LONG)
    monkeypatch.setenv("RUNLANE_OWNER_KEY", LONG)
    monkeypatch.setenv("RUNLANE_CLICKHOUSE", f"http://user:{LONG}@host:8123/db")

    settings = load_settings()

    assert LONG not in repr(settings) + str(settings) + settings.model_dump_json()


@pytest.mark.parametrize(
    ("text", "pair"),
    [("127.0.0.1:80", ("127.0.0.1", 80)), ("[::1]:80", ("::1", 80)), ("0.0.0.0:0", ("0.0.0.0", 0))],
)
def test_where_to_listen(text: str, pair: tuple[str, int]) -> None:
    assert parse_listen(text) == pair
