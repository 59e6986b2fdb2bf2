"""Cases of section error-class."""

import pytest

from runlane.contract.errors import (
    ContractError,
    InvalidCommand,
    OutcomeUnknown,
    Overloaded,
    RunlaneError,
    RunNotFound,
    TemporaryError,
    Unavailable,
    from_info,
)
from tests.contract.cases.world import World


def tree(root: type[RunlaneError]) -> list[type[RunlaneError]]:
    return [root] + [found for child in root.__subclasses__() for found in tree(child)]


@pytest.mark.case("C268")
def test_a_refusal_keeps_class_code_and_message(world: World) -> None:
    world.session()
    first = world.refused(world.make.append(), RunNotFound)
    again = world.refused(world.make.append(), RunNotFound)
    assert (first.code, first.message) == (again.code, again.message) == ("run_not_found", str(first))
    assert isinstance(first, ContractError)


@pytest.mark.case("C268")
@pytest.mark.parametrize("error", tree(RunlaneError), ids=lambda error: error.__name__)
def test_an_error_survives_the_journal(error: type[RunlaneError]) -> None:
    details = {name: f"some {name}" for name in error.detail_names}
    info = error("why", **details).info()
    rebuilt = from_info(info)
    assert type(rebuilt) is error
    assert rebuilt.info() == info
    assert str(rebuilt) == rebuilt.message == "why"


def test_every_error_has_a_code_of_its_own() -> None:
    codes = [error.code for error in tree(RunlaneError)]
    assert sorted(codes) == sorted(set(codes))


@pytest.mark.case("C269")
@pytest.mark.parametrize("error", [Unavailable, OutcomeUnknown, Overloaded])
def test_a_temporary_failure_is_no_contract_error(error: type[TemporaryError]) -> None:
    assert not issubclass(error, ContractError)
    assert error.retryable


@pytest.mark.case("C271")
def test_a_failed_command_returns_nothing(world: World) -> None:
    """A refusal is raised, so there is no result; what it would have changed is as it was."""
    world.run()
    before = (world.meta(), world.records())
    world.refused(world.make.end(labels={"a": "1"}), InvalidCommand, "labels_mismatch")
    assert (world.meta(), world.records()) == before
