"""The web page: static files under a name made of their content, one document for every address of the page.

Plain ES modules are served as they stand but for comments and indentation, so there is no build step.
"""

from __future__ import annotations

import gzip
import hashlib
import re
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Final

from fastapi import APIRouter, Request
from starlette.responses import Response

STATIC: Final = Path(__file__).parent / "static"
CONTENT_SECURITY_POLICY: Final = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
    "base-uri 'none'; form-action 'self'; frame-ancestors 'none'; require-trusted-types-for 'script'; "
    "trusted-types lit-html"
)
PAGE_PATHS: Final = ("/", "/sessions", "/agents", "/runs/{run_id}")
"""Addresses that a reader may open or reload; the page's own script tells them apart."""
_TYPES: Final = {
    ".css": "text/css; charset=utf-8",
    ".html": "text/html; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".svg": "image/svg+xml",
}
_DOCUMENT: Final = "index.html"
_IMMUTABLE: Final = "public, max-age=31536000, immutable"
_COMMENT: Final = re.compile(r"/\*\*(?:[^*]|\*(?!/))*\*/ ?|^\s*//.*$", re.MULTILINE)
_BLANK: Final = re.compile(r"^\s+", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Asset:
    """One file as it is sent, plain and compressed."""

    body: bytes
    media_type: str
    packed: bytes = field(repr=False)

    @classmethod
    def of(cls, body: bytes, media_type: str) -> Asset:
        """Return ``body`` ready to be sent; the same bytes give the same asset."""
        return cls(body, media_type, gzip.compress(body, 9, mtime=0))

    def answer(self, accepted: str, cache: str) -> Response:
        """Return the response to a client that accepts the encodings of ``accepted``."""
        packed = "gzip" in accepted
        headers = {"Cache-Control": cache, "Vary": "Accept-Encoding"}
        if packed:
            headers["Content-Encoding"] = "gzip"
        return Response(self.packed if packed else self.body, headers=headers, media_type=self.media_type)


class Page:
    """The page's files under ``root``, read once."""

    def __init__(self, root: Path = STATIC) -> None:
        self._root = root

    @cached_property
    def files(self) -> dict[str, Asset]:
        """Every file that the document may load, by its path below the versioned folder."""
        return {
            name: Asset.of(self._bytes(name), _TYPES[Path(name).suffix])
            for name in self._names()
            if name != _DOCUMENT
        }

    @cached_property
    def version(self) -> str:
        """A name that changes when any file does, so that files may be cached for ever."""
        digest = hashlib.sha256()
        for name in self._names():
            digest.update(f"{name}\n{len(self._bytes(name))}\n".encode() + self._bytes(name))
        return digest.hexdigest()[:16]

    @cached_property
    def document(self) -> Asset:
        """The document; it names each module, so that none waits for another to ask for it."""
        text = self._bytes(_DOCUMENT).decode()
        modules = [name for name in self.files if name.endswith(".js") and name != "app.js"]
        preload = "\n".join(f'<link rel="modulepreload" href="/static/{{version}}/{name}">' for name in modules)
        text = text.replace("{preload}", preload).replace("{version}", self.version)
        return Asset.of(text.encode(), _TYPES[".html"])

    def _names(self) -> list[str]:
        paths = (path.relative_to(self._root) for path in self._root.rglob("*") if path.suffix in _TYPES)
        return sorted(path.as_posix() for path in paths)

    def _bytes(self, name: str) -> bytes:
        body = (self._root / name).read_bytes()
        if name.startswith("vendor/"):
            return body
        text = body.decode()
        return _BLANK.sub("", _COMMENT.sub("", text) if name.endswith(".js") else text).encode()


def page_router(page: Page) -> APIRouter:
    """Return the routes of ``page``; they need no token, as they hold no data."""
    router = APIRouter(include_in_schema=False)

    async def document(request: Request) -> Response:
        response = page.document.answer(request.headers.get("accept-encoding", ""), "no-cache")
        response.headers["Content-Security-Policy"] = CONTENT_SECURITY_POLICY
        return response

    async def static(request: Request, version: str, name: str) -> Response:
        asset = page.files.get(name)
        if asset is None or version != page.version:
            return Response(status_code=404)
        return asset.answer(request.headers.get("accept-encoding", ""), _IMMUTABLE)

    for path in PAGE_PATHS:
        router.add_api_route(path, document, methods=["GET"])
    router.add_api_route("/static/{version}/{name:path}", static, methods=["GET"])
    return router
