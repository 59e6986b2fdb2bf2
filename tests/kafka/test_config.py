"""Configuration in librdkafka's words, secrets kept out of sight, and logs that do not flood."""

import logging

import pytest

from runlane.kafka import KafkaConfig, Sasl, Tls
from runlane.kafka.config import LOG

USER = Sasl("SCRAM-SHA-256", "worker", "s3cret")


def test_a_plain_cluster_has_no_security_settings() -> None:
    options = KafkaConfig("broker:9092", client_id="owner-1").options()
    assert (options["bootstrap.servers"], options["client.id"]) == ("broker:9092", "owner-1")
    assert options["security.protocol"] == "plaintext"
    assert not [name for name in options if name.startswith(("sasl", "ssl"))]


def test_a_user_over_tls() -> None:
    tls = Tls(ca_file="ca.pem", certificate_file="c.pem", key_file="k.pem", key_password="s3cret")
    options = KafkaConfig("b:1", security_protocol="sasl_ssl", sasl=USER, tls=tls).options()
    security = {
        name: value for name, value in options.items() if name.startswith(("sasl", "ssl", "security"))
    }
    assert security == {
        "security.protocol": "sasl_ssl",
        "sasl.mechanism": "SCRAM-SHA-256",
        "sasl.username": "worker",
        "sasl.password": "s3cret",
        "ssl.ca.location": "ca.pem",
        "ssl.certificate.location": "c.pem",
        "ssl.key.location": "k.pem",
        "ssl.key.password": "s3cret",
    }


@pytest.mark.parametrize(
    "config",
    [KafkaConfig("b:1", security_protocol="sasl_ssl"), KafkaConfig("b:1", sasl=USER)],
    ids=["no user", "no protocol"],
)
def test_a_sasl_protocol_and_a_user_belong_together(config: KafkaConfig) -> None:
    with pytest.raises(ValueError, match="belong together"):
        config.options()


def test_passwords_are_not_shown() -> None:
    config = KafkaConfig("b:1", security_protocol="sasl_ssl", sasl=USER, tls=Tls(key_password="s3cret"))
    assert "s3cret" not in repr(config)


def test_a_broker_that_stays_away_is_logged_once_in_a_while(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.ERROR, logger=LOG.name):
        for attempt in range(50):
            LOG.error("FAIL [test#producer-1] [thrd:10.0.0.1:9]: connect failed after %d ms", attempt)
        LOG.error("FAIL [test#producer-1] [thrd:10.0.0.2:9]: connect failed")
    assert [record.getMessage().partition("]:")[0][-10:] for record in caplog.records] == [
        "10.0.0.1:9",
        "10.0.0.2:9",
    ]
