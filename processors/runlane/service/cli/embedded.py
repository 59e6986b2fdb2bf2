"""`up` and `demo`: the pipeline in one process, and a session that shows it."""

from __future__ import annotations

import asyncio
import tempfile
import time
from collections.abc import Callable, Generator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import click
import structlog

from runlane.client import RunStore
from runlane.service.cli.output import json_option, note, print_json, print_table
from runlane.service.demo import Proof, Step, prove, scripted_session
from runlane.service.embedded.feed_process import feed_installed
from runlane.service.embedded.folder import CONNECTION_FILE, DataFolder
from runlane.service.embedded.stack import EmbeddedStack
from runlane.service.embedded.telling import Telling, new_names, whole_second
from runlane.service.exits import Exit
from runlane.service.journal import data_option, open_journal
from runlane.service.logs import configure_logs
from runlane.service.settings import Settings, load_settings
from runlane.service.signals import Stopped, stoppable, wait_for
from runlane.service.verify import Report, verify_journal

_PORT: Final = 8080
_COLUMNS: Final = ("run", "agent", "status", "start", "parent", "reason", "records")


@click.command("up")
@click.option("--demo", is_flag=True, help="Keep a scripted agent session going.")
@click.option(
    "--data",
    type=click.Path(path_type=Path, file_okay=False),
    default=Path("runlane-data"),
    show_default=True,
    envvar="RUNLANE_DATA",
    help="Folder of the journal, made when it is not there.",
)
@click.option(
    "--port",
    type=click.IntRange(0, 65535),
    default=_PORT,
    show_default=True,
    help="Of the web page and the read API; 0 for any.",
)
def up_command(*, demo: bool, data: Path, port: int) -> int:
    """Run everything in one process on the embedded parts, until Ctrl-C.

    Other processes of this machine find the stack by DATA/connection.json. What is acknowledged is on disk;
    the broker is not, so clients repeat what is open after a restart.
    """
    configure_logs(load_settings().log_level)
    log = structlog.get_logger(__name__)
    try:
        with stoppable(), ExitStack() as parts:
            note(f"starting in {data.absolute()} …")
            folder = parts.enter_context(DataFolder(data))
            stack = parts.enter_context(EmbeddedStack(folder, port=port, feed=feed_installed()))
            _say_where(stack, folder)
            log.info("stack runs", api=stack.connection.api, kafka=stack.connection.kafka)
            if demo:
                told = Telling(folder.connection_file, lambda names: note(f"demo: session {names.session}"))
                parts.enter_context(told)
            wait_for(stack.owner.ended)
            stack.owner.check()
    except Stopped:
        note("stopped")
    return Exit.OK


@click.command("demo")
@data_option
@json_option
def demo_command(*, data: Path | None, as_json: bool) -> int:
    """Tell a scripted agent session, print what was stored, tell it again, verify the journal.

    Against the stack in --data, or the one that RUNLANE_KAFKA and RUNLANE_API name; without either it starts
    one of its own in a temporary folder.
    """
    settings = load_settings()
    configure_logs("warning")
    with stoppable(), _target(settings, data) as target:
        proof = asyncio.run(_demo(target, as_json=as_json))
    if as_json:
        print_json(proof.as_json())
    else:
        _show(proof)
    return Exit.OK if proof.sound else Exit.FAULTS


@dataclass(frozen=True, slots=True)
class _Target:
    store: RunStore
    verify: Callable[[], Report] | None


@contextmanager
def _target(settings: Settings, data: Path | None) -> Generator[_Target]:
    if data is not None:
        store = RunStore.from_connection(data / CONNECTION_FILE)
        yield _Target(store, lambda: _verify(settings, data))
    elif settings.kafka and settings.api:
        reachable = bool(settings.clickhouse.get_secret_value())
        yield _Target(RunStore.from_env(), (lambda: _verify(settings, None)) if reachable else None)
    else:
        with tempfile.TemporaryDirectory(prefix="runlane-demo-") as path:
            note("starting broker, ClickHouse engine, owner and read API in this process …")
            with DataFolder(Path(path)) as folder, EmbeddedStack(folder) as stack:
                yield _Target(RunStore.from_connection(folder.connection_file), lambda: _verify_own(stack))


async def _demo(target: _Target, *, as_json: bool) -> Proof:
    now = whole_second()
    names = new_names(now)
    begun = time.monotonic()

    def tell(step: Step) -> None:
        note(f"  {time.monotonic() - begun:6.2f} s  {step.text}")

    async with target.store as store:
        steps = scripted_session(names, now)
        note(f"telling session {names.session}, {len(steps)} commands:")
        return await prove(store, names, steps, verify=target.verify, on_step=_silent if as_json else tell)


def _show(proof: Proof) -> None:
    click.echo("\nWhat is stored:")
    print_table([run.row() for run in proof.runs], _COLUMNS)
    identical = "came back identical" if proof.checkpoint_identical else "CAME BACK CHANGED"
    click.echo(f"\nThe checkpoint {identical}.")
    click.echo(f"First telling: {proof.first.written} records written.")
    again = proof.second
    click.echo(f"Second telling: {again.repeated} exact retries, {again.written} records written.")
    if proof.report is None:
        click.echo("The journal was not verified: set RUNLANE_CLICKHOUSE to do so from here.")
        return
    report = proof.report
    click.echo(
        f"Verified: {report.blocks} blocks, {report.commands} commands, {report.records} records, "
        f"{len(report.faults)} faults."
    )


def _say_where(stack: EmbeddedStack, folder: DataFolder) -> None:
    running = stack.connection
    note(f"read API     {running.api}")
    note(f"web page     {stack.link()}")
    note("             (lets one browser in; later ones ask for a token of the connection file)")
    note(f"broker       {running.kafka}")
    note(f"ClickHouse   {running.clickhouse} (user default, read only)")
    note(f"connection   {folder.connection_file}")
    if not feed_installed():
        note("no feed      stream events and activity need `pip install 'runlane[faust]'`")
    note("Ctrl-C ends it.")


def _verify(settings: Settings, data: Path | None) -> Report:
    with open_journal(settings, data) as client:
        return verify_journal(client, settings.codec())


def _verify_own(stack: EmbeddedStack) -> Report:
    with stack.pool.client() as client:
        return verify_journal(client)


def _silent(_step: Step) -> None:
    """Show nothing."""
