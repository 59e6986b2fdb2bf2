"""Request bodies: read by length or in chunks, decompressed by Content-Encoding, never past a limit."""

from __future__ import annotations

import zlib
from importlib import import_module
from typing import Any, BinaryIO, Final, Protocol, cast

_LINE: Final = 1024
_READ: Final = 64 * 1024


class BodyRefused(Exception):
    """A body that is not taken; ``status`` is the HTTP status that says why."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status
        self.message = message


class _Decompressor(Protocol):
    @property
    def eof(self) -> bool: ...

    def decompress(self, data: bytes, max_length: int, /) -> bytes: ...


def read_body(stream: BinaryIO, length: str | None, transfer_encoding: str, limit: int) -> bytes:
    """Return a body's bytes as they were sent; raises ``BodyRefused`` for a wrong length or a long body."""
    if transfer_encoding.strip().lower() == "chunked":
        return _read_chunks(stream, limit)
    if transfer_encoding:
        raise BodyRefused(501, "unknown Transfer-Encoding")
    if length is None:
        return b""
    if not (length.isascii() and length.isdigit()):
        raise BodyRefused(400, "wrong Content-Length")
    size = int(length)
    if size > limit:
        raise BodyRefused(413, "the body is too large")
    return _exactly(stream, size)


def decode_body(data: bytes, encoding: str, limit: int) -> bytes:
    """Return ``data`` without its Content-Encoding; raises ``BodyRefused`` for an unknown or damaged one."""
    name = encoding.strip().lower()
    if name in ("", "identity"):
        return data
    try:
        decoded, complete = _inflate(_decompressor(name), data, limit)
    except (OSError, RuntimeError, ValueError, zlib.error, EOFError) as error:
        raise BodyRefused(400, f"the body is no {name} ({type(error).__name__})") from None
    if not complete:
        raise BodyRefused(400, f"the body ends in the middle of its {name}")
    return decoded


def _read_chunks(stream: BinaryIO, limit: int) -> bytes:
    body = bytearray()
    while True:
        line = stream.readline(_LINE)
        try:
            size = int(line.split(b";", 1)[0].strip(), 16)
        except ValueError:
            raise BodyRefused(400, "wrong chunk size") from None
        if size < 0 or len(body) + size > limit:
            raise BodyRefused(413, "the body is too large")
        if size == 0:
            break
        body += _exactly(stream, size)
        if stream.readline(_LINE).strip():
            raise BodyRefused(400, "a chunk is longer than it says")
    while stream.readline(_LINE).strip():
        pass
    return bytes(body)


def _exactly(stream: BinaryIO, size: int) -> bytes:
    data = stream.read(size)
    if len(data) != size:
        raise BodyRefused(400, "the body ends early")
    return data


def _decompressor(name: str) -> _Decompressor:
    match name:
        case "gzip":
            return _Zlib(16 + zlib.MAX_WBITS)
        case "deflate":
            return _Zlib(zlib.MAX_WBITS)
        case "lz4":
            frame: Any = import_module("lz4.frame")
            return cast("_Decompressor", frame.LZ4FrameDecompressor())
        case "zstd":
            from backports import zstd

            return zstd.ZstdDecompressor()
        case _:
            raise BodyRefused(501, "unknown Content-Encoding")


class _Zlib:
    def __init__(self, window: int) -> None:
        self._inner = zlib.decompressobj(window)

    @property
    def eof(self) -> bool:
        return self._inner.eof

    def decompress(self, data: bytes, max_length: int, /) -> bytes:
        return self._inner.decompress(self._inner.unconsumed_tail + data, max_length)


def _inflate(inner: _Decompressor, data: bytes, limit: int) -> tuple[bytes, bool]:
    out = bytearray(inner.decompress(data, _READ))
    while not inner.eof:
        more = inner.decompress(b"", _READ)
        if not more:
            return bytes(out), False
        out += more
        if len(out) > limit:
            raise BodyRefused(413, "the body is too large")
    return bytes(out), True
