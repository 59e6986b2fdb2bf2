"""Every limit of the contract in one place (contract section 0; design, Topics)."""

from __future__ import annotations

from typing import Final

KIB: Final = 1024
MAX_ID_BYTES: Final = 256
"""An identifier is 1 to this many UTF-8 bytes."""
MAX_COMMAND_PAYLOAD_BYTES: Final = 900 * KIB
"""All payloads of one command together, a checkpoint included."""
MAX_MESSAGE_BYTES: Final = 2 * KIB * KIB
"""A Kafka message, at the client, the broker and the topic."""
MAX_LABELS: Final = 64
MAX_LABEL_KEY_BYTES: Final = 256
MAX_LABEL_VALUE_BYTES: Final = 4 * KIB
MAX_REASON_BYTES: Final = 4 * KIB
MAX_TYPE_BYTES: Final = 256
MAX_PAGE_LIMIT: Final = 1000
"""A page never holds more records, whatever limit was asked for."""
MAX_PAGE_BYTES: Final = 4 * KIB * KIB
"""A page stops before its payloads exceed this, unless its first record alone does."""
