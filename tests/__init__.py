"""Tests of Runlane, one folder an area; shared helpers in `tests.harness`."""
