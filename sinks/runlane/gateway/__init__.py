"""The gateway: reads, streams and host commands over HTTP, and the web page (design, Reading; Topics)."""

from runlane.gateway.app import Parts, Probe, create_app
from runlane.gateway.auth import Access, Principal, Role, Token
from runlane.gateway.caps import Caps
from runlane.gateway.live import Activity, KafkaActivitySource, KafkaSource, Live
from runlane.gateway.page import Page
from runlane.gateway.routes.access import ENTRANCE
from runlane.gateway.tickets import TicketBook

__all__ = [
    "ENTRANCE",
    "Access",
    "Activity",
    "Caps",
    "KafkaActivitySource",
    "KafkaSource",
    "Live",
    "Page",
    "Parts",
    "Principal",
    "Probe",
    "Role",
    "TicketBook",
    "Token",
    "create_app",
]
