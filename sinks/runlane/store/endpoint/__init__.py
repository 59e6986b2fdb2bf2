"""A ClickHouse-protocol HTTP endpoint over the embedded engine, for analysts' clients and for tests."""

from runlane.store.endpoint.engine import Limits
from runlane.store.endpoint.server import Endpoint, EndpointConfig

__all__ = ["Endpoint", "EndpointConfig", "Limits"]
