"""What the layer offers is listed, in order, and there."""

import runlane.contract.codec
import runlane.kafka


def test_public_names_are_sorted_and_exist() -> None:
    for package in (runlane.kafka, runlane.contract.codec):
        names = package.__all__
        constants = sorted(name for name in names if name.isupper())
        classes = sorted(name for name in names if name[0].isupper() and not name.isupper())
        functions = sorted(name for name in names if name.islower())
        assert names == constants + classes + functions
        assert all(hasattr(package, name) for name in names)
