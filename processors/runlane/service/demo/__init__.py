"""A scripted agent session: shows what a runtime stores, proves that repeating it changes nothing."""

from runlane.service.demo.play import Pass, play
from runlane.service.demo.proof import Proof, prove
from runlane.service.demo.script import Names, Step, scripted_session

__all__ = ["Names", "Pass", "Proof", "Step", "play", "prove", "scripted_session"]
