"""What a reader of the endpoint may not say, beyond what ``readonly=1`` of the engine refuses.

The embedded engine takes its caller for the owner of the machine: in spite of ``readonly=1`` it writes files
(INTO OUTFILE), reads any of them (function ``file``, templates, expressions in text settings), kills queries,
and looks at what a described table function names. A server does none of this for a reader, nor does this.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Final

from runlane.store.endpoint.failures import READONLY, SYNTAX_ERROR, QueryFailed, refusal
from runlane.store.endpoint.sql import first_word

_READS: Final = frozenset({"SELECT", "WITH", "FROM", "SHOW", "DESC", "DESCRIBE", "EXPLAIN", "EXISTS"})
_WRITES: Final = frozenset(
    {
        "ALTER",
        "ANALYZE",
        "ASSUME",
        "ATTACH",
        "BACKUP",
        "BEGIN",
        "CHECK",
        "COMMIT",
        "CREATE",
        "DELETE",
        "DETACH",
        "DROP",
        "EXCHANGE",
        "EXECUTE",
        "GRANT",
        "INSERT",
        "KILL",
        "MOVE",
        "OPTIMIZE",
        "RENAME",
        "REPLACE",
        "RESTORE",
        "REVOKE",
        "ROLLBACK",
        "SET",
        "START",
        "STOP",
        "SYSTEM",
        "TRUNCATE",
        "UNDROP",
        "UPDATE",
        "USE",
        "WATCH",
    }
)
_FORBIDDEN: Final = re.compile(
    r"(?<![A-Za-z0-9_])(?:outfile|file|sqlite|python|eval|kill"
    r"|ai(?:classify|embed|extract|filter|generate|redact|similarity|translate))(?![A-Za-z0-9_])",
    re.IGNORECASE,
)
_TEXT: Final = re.compile(r"'[^']*'|\"[^\"]*\"|`[^`]*`")
_AMBIGUOUS: Final = re.compile(r"--|/\*|#|\$|\\|[^\x00-\x7f]")
_MAX_TEXT: Final = 1024 * 1024
_DESCRIBES: Final = frozenset({"DESC", "DESCRIBE"})
_NAME: Final = r"(?:\w+|`[^`]*`|\"[^\"]*\")"
_DESCRIBED: Final = re.compile(
    rf"\s*(?:DESC|DESCRIBE)\s+(?:TABLE\s+)?"
    rf"(?:{_NAME}(?:\s*\.\s*{_NAME})?\s*(?:FORMAT\s+\w+\s*)?;?\s*$|\()",
    re.IGNORECASE | re.ASCII,
)

_TEXT_TYPES: Final = frozenset({"String", "Map", "URI", "Dialect"})
_HARMLESS_TEXT: Final = frozenset(
    {
        "bool_false_representation",
        "bool_true_representation",
        "count_distinct_implementation",
        "format_csv_null_representation",
        "format_tsv_null_representation",
        "insert_deduplication_token",
        "log_comment",
        "query_cache_tag",
    }
)
_HARMFUL: Final = frozenset(
    {
        "allow_experimental_eval_table_function",
        "allow_introspection_functions",
        "allow_python_table_function",
        "function_sleep_max_microseconds_per_block",
        "max_untracked_memory",
    }
)


def check_query(text: str) -> None:
    """Raise ``QueryFailed`` for a statement that only reads in name, or for more than one statement.

    Where a comment, an escape or another quoting style leaves in doubt whether a word is meant or quoted, it
    counts as meant.
    """
    if len(text) > _MAX_TEXT:
        raise refusal(SYNTAX_ERROR, "SYNTAX_ERROR", "Syntax error: Max query size exceeded")
    word = first_word(text)
    # A described table function is looked at without a check of access.
    if word in _WRITES or (word in _DESCRIBES and _DESCRIBED.match(text) is None):
        raise _read_only("Cannot execute query in readonly mode")
    if word not in _READS:
        raise refusal(SYNTAX_ERROR, "SYNTAX_ERROR", "Syntax error: no statement that reads begins like this")
    if _outside_text(text, _FORBIDDEN.finditer(text)):
        raise _read_only("Cannot reach files, other programs or Python through this endpoint")
    inner = text.rstrip().rstrip(";")
    if _outside_text(inner, re.finditer(";", inner)):
        raise refusal(SYNTAX_ERROR, "SYNTAX_ERROR", "Syntax error (Multi-statements are not allowed)")


def check_settings(settings: Mapping[str, str], types: Mapping[str, str]) -> None:
    """Raise ``QueryFailed`` for a setting that could hold an expression or a path, or lift a cap.

    ``types`` are the engine's settings with their types; the engine itself refuses the unknown ones.
    """
    for name in settings:
        if name in _HARMFUL or (types.get(name) in _TEXT_TYPES and name not in _HARMLESS_TEXT):
            raise _read_only(f"Cannot modify '{name}' setting in readonly mode")


def _read_only(message: str) -> QueryFailed:
    return refusal(READONLY, "READONLY", message)


def _outside_text(text: str, found: Iterable[re.Match[str]]) -> bool:
    places = [match.start() for match in found]
    if not places:
        return False
    if _AMBIGUOUS.search(text):
        return True
    quoted = [match.span() for match in _TEXT.finditer(text) if match[0].startswith("'")]
    return any(not any(start < place < end for start, end in quoted) for place in places)
