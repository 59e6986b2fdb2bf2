"""Signatures prove who wrote a host command or a claim, under keys that can be replaced."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runlane.contract.commands import ClaimReceipt
from runlane.contract.signing import Key, Keyring, parse_key
from tests.wire.samples import receipts

OLD = Key("old", b"o" * 32)
NEW = Key("new", b"n" * 32)
RING = Keyring([NEW, OLD])
UNSIGNED = ClaimReceipt("run-1", "s/session-1", 3, 9, "", b"")


def test_a_host_signature_names_its_key_and_is_hex() -> None:
    signature = RING.sign_host(b"s/1", b"body")
    key_id, _, mac = signature.partition(":")
    assert key_id == "new"
    assert len(bytes.fromhex(mac)) == 32


def test_a_host_signature_is_the_hmac_of_sized_key_and_body() -> None:
    import hashlib
    import hmac

    expected = hmac.new(b"n" * 32, b"\x00\x00\x00\x03s/1body", hashlib.sha256).hexdigest()
    assert RING.sign_host(b"s/1", b"body") == f"new:{expected}"


@given(st.binary(max_size=20), st.binary(max_size=40))
def test_a_true_host_signature_is_taken(key: bytes, body: bytes) -> None:
    assert RING.verify_host(key, body, RING.sign_host(key, body))


@given(st.binary(max_size=8), st.binary(max_size=8), st.binary(max_size=8), st.binary(max_size=8))
def test_a_signature_holds_for_one_key_and_body_only(k1: bytes, b1: bytes, k2: bytes, b2: bytes) -> None:
    assert RING.verify_host(k2, b2, RING.sign_host(k1, b1)) == ((k1, b1) == (k2, b2))


@pytest.mark.parametrize(
    "signature",
    [None, "", ":", "new", "new:", "new:00", "none:" + "0" * 64, "new:" + "ü" * 64, "new:" + "0" * 64],
)
def test_a_false_host_signature_is_refused(signature: str | None) -> None:
    assert not RING.verify_host(b"s/1", b"body", signature)


def test_the_first_key_signs_and_every_key_verifies() -> None:
    before = Keyring([OLD]).sign_host(b"s/1", b"body")
    assert RING.verify_host(b"s/1", b"body", before)
    assert RING.sign_host(b"s/1", b"body").startswith("new:")
    assert not Keyring([OLD]).verify_host(b"s/1", b"body", RING.sign_host(b"s/1", b"body"))


def test_a_receipt_is_signed_for_exactly_its_claim() -> None:
    signed = RING.sign_receipt(UNSIGNED)
    assert RING.verify_receipt(signed)
    assert (signed.key_id, signed.run_id, signed.block) == ("new", "run-1", 9)
    for other in (
        replace(signed, run_id="run-2"),
        replace(signed, lane="s/session-2"),
        replace(signed, partition=4),
        replace(signed, block=10),
        replace(signed, key_id="old"),
        replace(signed, mac=b""),
    ):
        assert not RING.verify_receipt(other)


def test_no_receipt_and_an_unknown_key_prove_nothing() -> None:
    assert not RING.verify_receipt(None)
    assert not RING.verify_receipt(Keyring([Key("foreign", b"f" * 32)]).sign_receipt(UNSIGNED))


@given(receipts, receipts)
def test_no_two_claims_share_a_signature(first: ClaimReceipt, second: ClaimReceipt) -> None:
    def claim(receipt: ClaimReceipt) -> tuple[str, str, int, int]:
        return receipt.run_id, receipt.lane, receipt.partition, receipt.block

    same = RING.sign_receipt(first).mac == RING.sign_receipt(second).mac
    assert same == (claim(first) == claim(second))


def test_fields_of_a_receipt_do_not_run_into_each_other() -> None:
    one = RING.sign_receipt(replace(UNSIGNED, run_id="ab", lane="c", partition=1, block=23))
    two = RING.sign_receipt(replace(UNSIGNED, run_id="a", lane="bc", partition=12, block=3))
    assert one.mac != two.mac


@pytest.mark.parametrize("key_id", ["", "a:b", "a b", "ü", "x" * 65])
def test_a_key_id_fits_a_header(key_id: str) -> None:
    with pytest.raises(ValueError, match="key id"):
        Key(key_id, b"x" * 32)


def test_a_short_secret_is_refused_and_never_shown() -> None:
    with pytest.raises(ValueError, match="fewer than 16 bytes"):
        Key("k", b"short")
    assert "nnnn" not in repr(NEW)


@pytest.mark.parametrize("keys", [[], [OLD, Key("old", b"x" * 32)]])
def test_a_keyring_holds_keys_with_different_ids(keys: list[Key]) -> None:
    with pytest.raises(ValueError, match="keyring"):
        Keyring(keys)


def test_a_key_is_written_in_settings_with_or_without_its_id() -> None:
    assert parse_key("blue:0123456789abcdef") == Key("blue", b"0123456789abcdef")
    assert parse_key("0123456789abcdef") == Key("main", b"0123456789abcdef")
    assert parse_key("blue:0123456789:abcdef") == Key("blue", b"0123456789:abcdef")


@pytest.mark.parametrize(
    "text", ["", "s3cret", "blue:s3cret", "s3cret s3cret s3cret:x", ":s3crets3crets3crets3cret"]
)
def test_a_broken_key_setting_is_refused_without_its_secret(text: str) -> None:
    with pytest.raises(ValueError, match="key") as caught:
        parse_key(text)
    assert "s3cret" not in str(caught.value)
