"""The web page: one document for every address of it, and its files under a name made of their content.

The page is written as plain ES modules and needs no build. When the process starts, its modules are joined
in the order of their imports and lose their comments, as are its style sheets: a browser then makes four
requests, and 40 kB compressed hold all of it.
"""

from __future__ import annotations

import gzip
import hashlib
import re
from collections.abc import Iterator
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
PAGE_PATHS: Final = ("/", "/runs/{run_id}")
"""Addresses that a reader may open or reload; the page's own script tells them apart."""
SCRIPT: Final = "app.js"
STYLES: Final = ("tokens.css", "page.css", "run.css")
LIBRARY: Final = "vendor/lit-html.js"
_JS: Final = "text/javascript; charset=utf-8"
_IMMUTABLE: Final = "public, max-age=31536000, immutable"
_IMPORT: Final = re.compile(r'^import \{ ([^}]+) \} from "\./([\w./-]+)";$', re.MULTILINE)
_EXPORT: Final = re.compile(r"^export ", re.MULTILINE)
_COMMENT: Final = re.compile(r"/\*(?:[^*]|\*(?!/))*\*/ ?|^\s*//.*$", re.MULTILINE)
_INDENT: Final = re.compile(r"^\s+", re.MULTILINE)
_TIGHT: Final = re.compile(r"\s*([{};])\s*|(?<=:)\s+")


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
    """The page's files below ``root``, read once."""

    def __init__(self, root: Path = STATIC) -> None:
        self._root = root

    @cached_property
    def files(self) -> dict[str, Asset]:
        """What the document loads, by its path below the versioned folder."""
        styles = _TIGHT.sub(r"\1", "".join(self._bare(name) for name in STYLES))
        return {
            SCRIPT: Asset.of(self._script().encode(), _JS),
            LIBRARY: Asset.of((self._root / LIBRARY).read_bytes(), _JS),
            "app.css": Asset.of(styles.encode(), "text/css; charset=utf-8"),
        }

    @cached_property
    def version(self) -> str:
        """A name that changes when any file does, so that files may be cached for ever."""
        digest = hashlib.sha256()
        for name, asset in sorted(self.files.items()):
            digest.update(f"{name}\n{len(asset.body)}\n".encode() + asset.body)
        return digest.hexdigest()[:16]

    @cached_property
    def document(self) -> Asset:
        """The document."""
        text = self._bare("index.html").replace("{version}", self.version)
        return Asset.of(text.encode(), "text/html; charset=utf-8")

    def modules(self) -> list[str]:
        """Return the page's own modules, each after those that it imports."""
        order: list[str] = []

        def visit(name: str) -> None:
            for _, source in self._imports(name):
                if source != LIBRARY and source not in order:
                    visit(source)
            order.append(name)

        visit(SCRIPT)
        return order

    def _imports(self, name: str) -> Iterator[tuple[str, str]]:
        for match in _IMPORT.finditer((self._root / name).read_text()):
            yield match[1], match[2]

    def _script(self) -> str:
        """Return one module that does what all of them do; no two of them use a name twice at their top."""
        modules = self.modules()
        library = {
            part
            for name in modules
            for names, source in self._imports(name)
            if source == LIBRARY
            for part in names.split(", ")
        }
        bodies = [_EXPORT.sub("", _IMPORT.sub("", (self._root / name).read_text())) for name in modules]
        head = f'import {{ {", ".join(sorted(library))} }} from "./{LIBRARY}";\n'
        return head + "".join(_bare(body) for body in bodies)

    def _bare(self, name: str) -> str:
        return _bare((self._root / name).read_text())


def _bare(text: str) -> str:
    """Return ``text`` without comments and indentation."""
    return _INDENT.sub("", _COMMENT.sub("", text))


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
