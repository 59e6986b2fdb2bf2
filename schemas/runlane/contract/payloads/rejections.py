"""Rejected model and planner output: digests instead of the text itself (contract 1.10; C287)."""

from __future__ import annotations

import hashlib
import re
from typing import Annotated, ClassVar, Final, Literal, Self

from pydantic import Field, model_validator

from runlane.contract.payloads.hook import OMITTED_WHEN_EMPTY, Hook, Int64

ValidationKind = Literal[
    "",
    "response_shape",
    "output_bounds",
    "tool_identity",
    "tool_arguments",
    "tool_choice",
    "structured_output",
    "stream_protocol",
    "usage",
]
_DIGEST: Final = re.compile(r"[0-9a-f]{64}")
_EMPTY_DIGEST: Final = hashlib.sha256(b"").hexdigest()


class PlannerOutputRejected(Hook):
    """The planner's output broke its contract; only the reason's digest and size are kept."""

    record_type: ClassVar[str] = "planner_output_rejected"
    reason_sha256: str = Field(default="", validation_alias="ReasonSHA256")
    reason_size: Int64 = Field(default=0, validation_alias="ReasonSize")

    @model_validator(mode="after")
    def _digests_fit(self) -> Self:
        _check_reason(self.reason_sha256, self.reason_size)
        return self


class ModelOutputRejected(Hook):
    """A model's output broke its contract; reason and response are kept as digests."""

    record_type: ClassVar[str] = "model_output_rejected"
    output_validation_kind: Annotated[ValidationKind, OMITTED_WHEN_EMPTY] = Field(
        default="", validation_alias="OutputValidationKind"
    )
    reason_sha256: str = Field(default="", validation_alias="ReasonSHA256")
    reason_size: Int64 = Field(default=0, validation_alias="ReasonSize")
    model_response_present: bool = Field(default=False, validation_alias="ModelResponsePresent")
    model_response_fingerprint_version: str = Field(
        default="", validation_alias="ModelResponseFingerprintVersion"
    )
    model_response_sha256: str = Field(default="", validation_alias="ModelResponseSHA256")
    model_response_size: Int64 = Field(default=0, validation_alias="ModelResponseSize")

    @model_validator(mode="after")
    def _digests_fit(self) -> Self:
        _check_reason(self.reason_sha256, self.reason_size)
        if not self.model_response_sha256:
            if self.model_response_fingerprint_version or self.model_response_size:
                raise ValueError("version and size of a response come with its digest")
            return self
        if not _DIGEST.fullmatch(self.model_response_sha256):
            raise ValueError("a digest is 64 lower-case hexadecimal characters")
        if not self.model_response_present or not self.model_response_fingerprint_version:
            raise ValueError("a response digest comes with presence and a version")
        if self.model_response_size <= 0:
            raise ValueError("a response with a digest is not empty")
        return self


def _check_reason(digest: str, size: int) -> None:
    if not _DIGEST.fullmatch(digest):
        raise ValueError("a digest is 64 lower-case hexadecimal characters")
    if size < 0:
        raise ValueError("a size is not negative")
    if (size == 0) != (digest == _EMPTY_DIGEST):
        raise ValueError("only an empty reason has size 0 and the digest of nothing")
