"""Messages and parts as JSON (contract 6.1, 6.2, section 0; cases C298 to C308)."""

from __future__ import annotations

import dataclasses
import pickle
import tracemalloc
from collections.abc import Callable
from typing import Any

import pytest

from runlane.transcript import (
    CacheCheckpointPart,
    DocumentPart,
    ImagePart,
    Message,
    MessageError,
    Part,
    TextPart,
    ThinkingPart,
    ToolResultPart,
    ToolUsePart,
    decode_message,
    decode_messages,
    decode_metadata,
    encode_message,
    encode_messages,
    validate_payload,
)


def refusal(decode: Callable[[], object]) -> tuple[str, str]:
    with pytest.raises(MessageError) as caught:
        decode()
    return caught.value.code, caught.value.where


def part_refusal(part: str) -> tuple[str, str]:
    return refusal(lambda: decode_message(f'{{"parts":[{part}]}}'.encode()))


def encode_refusal(part: Part) -> tuple[str, str]:
    return refusal(lambda: encode_message(Message("user", (part,))))


def only_part(part: str) -> Part:
    (decoded,) = decode_message(f'{{"parts":[{part}]}}'.encode()).parts
    return decoded


@pytest.mark.case("C298")
@pytest.mark.parametrize("key", ["Role", "ROLE", "Parts", "Meta", "name"])
def test_an_unknown_or_wrongly_cased_key_of_a_message_is_refused(key: str) -> None:
    data = f'{{"{key}":null}}'.encode()
    assert refusal(lambda: decode_message(data)) == ("transcript.unknown_field", "")


@pytest.mark.case("C298")
@pytest.mark.parametrize("data", [b"null", b"[]", b"[{}]", b"1", b'"user"', b"true"])
def test_only_an_object_is_a_message(data: bytes) -> None:
    assert refusal(lambda: decode_message(data)) == ("transcript.wrong_type", "")


@pytest.mark.case("C298")
def test_an_empty_object_is_an_empty_message() -> None:
    assert decode_message(b"{}") == Message()
    assert encode_message(Message()) == b'{"role":"","parts":null,"meta":null}'


@pytest.mark.case("C299")
@pytest.mark.parametrize(
    ("part", "code"),
    [
        ("{}", "transcript.missing_field"),
        ('{"text":"x"}', "transcript.missing_field"),
        ('{"kind":""}', "transcript.missing_field"),
        ('{"kind":null}', "transcript.missing_field"),
        ('{"kind":"Text","text":"x"}', "transcript.unknown_kind"),
        ('{"kind":"tool"}', "transcript.unknown_kind"),
        ('{"kind":1}', "transcript.wrong_type"),
    ],
)
def test_a_part_needs_a_known_kind(part: str, code: str) -> None:
    assert part_refusal(part) == (code, "parts[0].kind")


@pytest.mark.parametrize("part", ["null", "1", '"text"', "[]"])
def test_only_an_object_is_a_part(part: str) -> None:
    assert part_refusal(part) == ("transcript.wrong_type", "parts[0]")


@pytest.mark.case("C301")
@pytest.mark.parametrize("value", ["[]", "null", '"{}"', "1"])
def test_the_input_of_a_tool_use_is_an_object(value: str) -> None:
    part = f'{{"kind":"tool_use","id":"i","name":"n","input":{value}}}'
    assert part_refusal(part) == ("transcript.wrong_type", "parts[0].input")
    assert encode_refusal(ToolUsePart("i", "n", value.encode())) == (
        "transcript.wrong_type",
        "parts[0].input",
    )


def test_a_tool_use_without_input_or_with_args_is_refused() -> None:
    assert part_refusal('{"kind":"tool_use","id":"i","name":"n"}') == (
        "transcript.missing_field",
        "parts[0].input",
    )
    assert part_refusal('{"kind":"tool_use","id":"i","name":"n","args":{}}') == (
        "transcript.unknown_field",
        "parts[0]",
    )


def test_an_input_can_t_smuggle_json_past_its_place() -> None:
    for raw in (b'{},"x":1', b'{}},{"kind":"cache_checkpoint"', b"", b"{", b'{"a":1,"a":2}', b"\xff"):
        code, where = encode_refusal(ToolUsePart("i", "n", raw))
        assert code.startswith("json.")
        assert where == "parts[0].input"


@pytest.mark.case("C302")
def test_a_tool_result_needs_the_id_of_its_use() -> None:
    expected = ("transcript.missing_field", "parts[0].tool_use_id")
    assert part_refusal('{"kind":"tool_result","content":1}') == expected
    assert part_refusal('{"kind":"tool_result","tool_use_id":"","content":1}') == expected
    assert encode_refusal(ToolResultPart("", 1)) == expected


@pytest.mark.case("C302")
@pytest.mark.parametrize(
    ("given", "written"),
    [
        ("null", "null"),
        ("true", "true"),
        ('"\\u0041\\/"', '"A/"'),
        ("1.50", "1.50"),
        ("-0", "-0"),
        ("1E+5", "1E+5"),
        ("[ 1 , {} ]", "[1,{}]"),
        ('{"b":1,"\u00e9":2,"a":{"d":1,"c":2}}', '{"a":{"c":2,"d":1},"b":1,"\u00e9":2}'),
        ('{"\U0001f642":1,"\ufffd":2}', '{"\ufffd":2,"\U0001f642":1}'),
    ],
)
def test_content_of_any_type_comes_back_canonical(given: str, written: str) -> None:
    part = only_part(f'{{"kind":"tool_result","tool_use_id":"i","content":{given}}}')
    data = encode_message(Message("user", (part,)))
    assert f'"content":{written},"is_error"'.encode() in data


@pytest.mark.case("C304")
@pytest.mark.parametrize("image_format", ["png", "jpeg", "gif", "webp", "bmp"])
def test_an_image_of_any_named_format_passes(image_format: str) -> None:
    data = (
        f'{{"role":"user","parts":[{{"kind":"image","format":"{image_format}","bytes":"AQ=="}}],"meta":null}}'
    )
    message = decode_message(data.encode())
    assert message.parts == (ImagePart(image_format, b"\x01"),)
    assert encode_message(message) == data.encode()


@pytest.mark.case("C304")
def test_an_image_needs_format_and_bytes_in_both_directions() -> None:
    no_format = ("transcript.missing_field", "parts[0].format")
    no_source = ("transcript.one_source", "parts[0]")
    assert part_refusal('{"kind":"image","bytes":"AQ=="}') == no_format
    assert encode_refusal(ImagePart("", b"\x01")) == no_format
    for source in ("", ',"bytes":""', ',"bytes":null', ',"bytes":"","uri":""'):
        assert part_refusal(f'{{"kind":"image","format":"png"{source}}}') == no_source
    assert encode_refusal(ImagePart("png")) == no_source
    assert encode_refusal(ImagePart("png", b"")) == no_source


def test_an_image_by_uri_is_written_without_bytes() -> None:
    data = b'{"role":"user","parts":[{"kind":"image","format":"png","uri":"s3://b/k"}],"meta":null}'
    message = decode_message(data)
    assert message.parts == (ImagePart("png", uri="s3://b/k"),)
    assert encode_message(message) == data
    assert part_refusal('{"kind":"image","format":"png","bytes":"AQ==","uri":"u"}') == (
        "transcript.one_source",
        "parts[0]",
    )
    assert encode_refusal(ImagePart("png", b"\x01", "u")) == ("transcript.one_source", "parts[0]")
    spelled = only_part('{"kind":"image","format":"png","bytes":"","uri":"u"}')
    assert spelled == ImagePart("png", uri="u")


DOCUMENTS: dict[str, tuple[str, DocumentPart, tuple[str, str]]] = {
    "no source": ('"name":"d"', DocumentPart("d"), ("transcript.one_source", "parts[0]")),
    "two sources": (
        '"name":"d","text":"x","uri":"u"',
        DocumentPart("d", text="x", uri="u"),
        ("transcript.one_source", "parts[0]"),
    ),
    "an empty chunk": (
        '"name":"d","chunks":["a",""]',
        DocumentPart("d", chunks=("a", "")),
        ("transcript.empty_chunk", "parts[0].chunks[1]"),
    ),
    "no name": ('"text":"x"', DocumentPart("", text="x"), ("transcript.missing_field", "parts[0].name")),
}


@pytest.mark.case("C305")
@pytest.mark.parametrize("name", DOCUMENTS)
def test_a_document_is_refused_with(name: str) -> None:
    fields, part, expected = DOCUMENTS[name]
    assert part_refusal(f'{{"kind":"document",{fields}}}') == expected
    assert encode_refusal(part) == expected


@pytest.mark.case("C307")
def test_a_cache_checkpoint_has_no_other_field() -> None:
    assert only_part('{"kind":"cache_checkpoint"}') == CacheCheckpointPart()
    assert part_refusal('{"kind":"cache_checkpoint","ttl":null}') == ("transcript.unknown_field", "parts[0]")


@pytest.mark.case("C308")
def test_the_order_of_parts_survives() -> None:
    parts = (
        CacheCheckpointPart(),
        ToolUsePart("i", "n", b"{}"),
        TextPart("b"),
        ThinkingPart("t"),
        TextPart("a"),
        CacheCheckpointPart(),
    )
    data = encode_messages([Message("assistant", parts)])
    (message,) = decode_messages(data)
    assert message is not None
    assert message.parts == parts


@pytest.mark.parametrize(
    "value", ['"AQ"', '"AR=="', '"AQ==\\n"', '"A Q=="', '"AQ==="', '"-_=="', '"="', '"===="', '"AQ==AQ=="']
)
def test_base64_is_strict(value: str) -> None:
    assert part_refusal(f'{{"kind":"thinking","redacted":{value}}}') == (
        "transcript.invalid_base64",
        "parts[0].redacted",
    )


@pytest.mark.parametrize("value", ["[1,2]", "1", "{}"])
def test_bytes_are_a_string(value: str) -> None:
    assert part_refusal(f'{{"kind":"thinking","redacted":{value}}}') == (
        "transcript.wrong_type",
        "parts[0].redacted",
    )


@pytest.mark.parametrize(
    ("value", "code"),
    [
        ("1.0", "transcript.wrong_type"),
        ("1e2", "transcript.wrong_type"),
        ("true", "transcript.wrong_type"),
        ('"1"', "transcript.wrong_type"),
        ("-0.0", "transcript.wrong_type"),
        (str(2**63), "transcript.integer_range"),
        (str(-(2**63) - 1), "transcript.integer_range"),
    ],
)
def test_a_typed_integer_is_refused_as(value: str, code: str) -> None:
    assert part_refusal(f'{{"kind":"thinking","index":{value}}}') == (code, "parts[0].index")


@pytest.mark.parametrize(
    ("value", "number"), [("-0", 0), ("null", 0), ("-1", -1), (str(2**63 - 1), 2**63 - 1)]
)
def test_a_typed_integer_is_read_as(value: str, number: int) -> None:
    assert only_part(f'{{"kind":"thinking","index":{value}}}') == ThinkingPart(index=number)


def test_empty_but_not_null_values_survive() -> None:
    data = (
        b'{"role":"","parts":[{"kind":"thinking","text":"","signature":"","redacted":"","index":0,"final":false}'
        b',{"kind":"document","name":"d","format":"","bytes":"","text":"x","chunks":[],"uri":"","context":""'
        b',"cite":false},{"kind":"citations","text":"","citations":[]},{"kind":"citations","text":"","citations":'
        b'[{"title":"","source":"","location":{"document_char":null,"document_chunk":null,"document_page":null}'
        b',"source_content":[]}]}],"meta":{}}'
    )
    assert encode_message(decode_message(data)) == data


@pytest.mark.parametrize(
    ("citation", "where"),
    [
        ("null", "citations[0]"),
        ('{"title":"t"}', "citations[0].location"),
        ('{"location":null}', "citations[0].location"),
        ('{"location":[]}', "citations[0].location"),
        ('{"location":{"document":{}}}', "citations[0].location"),
        ('{"location":{"document_char":1}}', "citations[0].location.document_char"),
        ('{"location":{"document_char":{"End":1}}}', "citations[0].location.document_char"),
        ('{"location":{"document_char":{"end":1.5}}}', "citations[0].location.document_char.end"),
        ('{"location":{},"source_content":["a",null]}', "citations[0].source_content[1]"),
    ],
)
def test_a_malformed_citation_is_refused_at_its_place(citation: str, where: str) -> None:
    _, place = part_refusal(f'{{"kind":"citations","citations":[{citation}]}}')
    assert place == f"parts[0].{where}"


def test_an_error_names_message_and_part_and_quotes_nothing() -> None:
    with pytest.raises(MessageError) as caught:
        decode_messages(b'[null,{"parts":[{"kind":"text"},{"kind":"text","SECRET":"SECRET"}]}]')
    assert caught.value.where == "messages[1].parts[1]"
    assert "SECRET" not in repr(caught.value) + str(caught.value)
    copy = pickle.loads(pickle.dumps(caught.value))
    assert (copy.code, copy.where, str(copy)) == (caught.value.code, caught.value.where, str(caught.value))


@pytest.mark.parametrize(("data", "messages"), [(b"null", ()), (b"[]", ()), (b"[null]", (None,))])
def test_a_payload_may_be_null_and_hold_nulls(data: bytes, messages: tuple[None, ...]) -> None:
    assert decode_messages(data) == messages
    validate_payload(data)


@pytest.mark.parametrize("data", [b"{}", b"1", b'"[]"', b"[[]]", b"[1]", b'[{"role":1}]', b"[]x", b""])
def test_a_payload_is_validated_like_it_is_decoded(data: bytes) -> None:
    assert refusal(lambda: validate_payload(data)) == refusal(lambda: decode_messages(data))


@pytest.mark.parametrize(
    ("data", "code"),
    [
        (b'{"role":"a","rol\\u0065":"b"}', "json.duplicate_key"),
        (b'{"role":"\\ud800"}', "json.unpaired_surrogate"),
        (b'{"meta":{"a":NaN}}', "json.not_finite"),
        (b'{"meta":{"a":1e400}}', "json.number_overflow"),
        (b'{"meta":{"a":' + b"[" * 5_000 + b"]" * 5_000 + b"}}", "json.too_deep"),
    ],
)
def test_what_the_gate_refuses_is_refused_with_its_rule(data: bytes, code: str) -> None:
    assert refusal(lambda: decode_message(data)) == (code, "")
    assert refusal(lambda: validate_payload(b"[" + data + b"]")) == (code, "")


UNREPRESENTABLE: list[tuple[Any, str]] = [
    (float("nan"), "json.not_finite"),
    (float("-inf"), "json.not_finite"),
    (10**4_300, "json.integer_too_long"),
    (10**100_000, "json.integer_too_long"),
    ("\ud800", "json.unpaired_surrogate"),
    ({"\udc00": 1}, "json.unpaired_surrogate"),
    ({1: 2}, "transcript.wrong_type"),
    (b"raw", "transcript.wrong_type"),
    ({"a", "b"}, "transcript.wrong_type"),
]


@pytest.mark.parametrize(("content", "code"), UNREPRESENTABLE, ids=[code for _, code in UNREPRESENTABLE])
def test_content_that_is_no_json_is_refused_on_encode(content: Any, code: str) -> None:
    assert encode_refusal(ToolResultPart("i", content))[0] == code


def test_content_that_holds_itself_or_is_too_deep_is_refused_on_encode() -> None:
    endless: list[Any] = []
    endless.append(endless)
    assert encode_refusal(ToolResultPart("i", endless))[0] == "json.too_deep"
    deep: Any = []
    for _ in range(61):
        deep = [deep]
    assert encode_refusal(ToolResultPart("i", deep))[0] == "json.too_deep"
    encode_message(Message("user", (ToolResultPart("i", deep[0]),)))


def test_integers_of_4300_digits_and_2_to_the_70_survive_byte_for_byte() -> None:
    digits = str(2**70) + "," + "9" * 4_300
    data = (
        f'{{"role":"","parts":[{{"kind":"tool_use","id":"i","name":"n","input":{{"a":[{digits}]}}'
        f',"thought_signature":""}},{{"kind":"tool_result","tool_use_id":"i","content":[{digits}]'
        f',"is_error":false}}],"meta":{{"m":[{digits}]}}}}'
    ).encode()
    assert encode_message(decode_message(data)) == data


def peak_of(call: Callable[[], object], code: str) -> int:
    tracemalloc.start()
    try:
        assert refusal(call)[0] == code
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def test_a_60_mb_image_is_refused_in_little_memory() -> None:
    payload = b'[{"parts":[{"kind":"image","format":"png","bytes":"' + b"A" * 60_000_000 + b'"}]}]'
    assert peak_of(lambda: decode_messages(payload), "json.too_large") < 1_000_000
    assert peak_of(lambda: validate_payload(payload), "json.too_large") < 1_000_000
    image = Message("user", (ImagePart("png", b"\0" * 60_000_000),))
    assert peak_of(lambda: encode_message(image), "json.too_large") < 1_000_000


def test_metadata_alone_is_one_object_or_absent() -> None:
    assert decode_metadata(None) is None
    assert decode_metadata(b" {} ") is None
    assert decode_metadata(b'{"a":18446744073709551616}') == {"a": 2**64}
    for data in (b"", b"null", b"[]", b'{"a":1}{}', b'{"a":1,"a":1}'):
        with pytest.raises(MessageError):
            decode_metadata(data)


def test_values_are_frozen() -> None:
    message = Message("user", (TextPart("a"),))
    with pytest.raises(dataclasses.FrozenInstanceError):
        message.role = "system"  # type: ignore[misc]
    assert message == Message("user", (TextPart("a"),))
