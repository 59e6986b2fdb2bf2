"""The read API: committed state over HTTP, for workers, hosts and viewers (design, Reading)."""

from runlane.gateway.app import Probe, create_app
from runlane.gateway.auth import Access, Principal, Role, Token

__all__ = ["Access", "Principal", "Probe", "Role", "Token", "create_app"]
