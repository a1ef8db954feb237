"""The command line: finds the verb that was asked for, runs it, and turns what went wrong into two lines.

A verb is one module with a ``app`` (a ``typer.Typer``) and one line in ``VERBS``; only the verb that runs is imported.
"""

import os
import sys
from collections.abc import Sequence
from importlib import import_module
from typing import Annotated, Any

import typer
from typer.main import get_command

from zplan.cli.command import Group, plain_flag
from zplan.cli.output import closed_pipe, discard, emit, one_line
from zplan.errors import ExitCode, ZplanError

VERBS = {
    "estimate": "zplan.cli.estimate",
    "check": "zplan.cli.check",
    "recommend": "zplan.cli.recommend",
    "sweep": "zplan.cli.sweep",
    "report": "zplan.cli.report",
    "diff": "zplan.cli.diff",
    "verify": "zplan.cli.verify",
    "explain": "zplan.cli.explain",
    "presets": "zplan.cli.presets",
    "doctor": "zplan.cli.doctor",
}
"""Verb -> module that has its ``app``, in the order of ``zplan --help``."""

COMPLETION_FLAGS = {"--install-completion", "--show-completion"}
COMPLETING = "_ZPLAN_COMPLETE"
"""Set by a shell that asks what may follow."""

HELP_FLAGS = {"help_option_names": ["-h", "--help"]}


class LazyGroup(Group):
    """A group that imports a verb when it is asked for."""

    def list_commands(self, ctx: Any) -> list[str]:
        """Names of all verbs."""
        return list(VERBS)

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """The verb as a command, or None."""
        module = VERBS.get(cmd_name)
        if module is None:
            return None
        command = get_command(import_module(module).app)
        command.name = cmd_name
        return command


app = typer.Typer(cls=LazyGroup, add_completion=True, context_settings=HELP_FLAGS)


def _show_version(wanted: bool) -> None:
    if wanted:
        from zplan import __version__

        typer.echo(f"zplan {__version__}")
        raise typer.Exit


@app.callback()
def zplan(
    version: Annotated[
        bool, typer.Option("--version", is_eager=True, callback=_show_version, help="Show the version.")
    ] = False,
) -> None:
    """Will this training run fit, and how should I run it?

    Memory of DeepSpeed ZeRO, FSDP and DDP training runs, predicted term by term.

    \b
    zplan estimate --params 7B --gpus 8 --gpu-mem 80
    zplan estimate --model llama-3.1-8b --gpus 8 --gpu h100-80g --stage 3
    zplan presets ls gpus
    """  # noqa: D301 (typer reads the literal \b, which keeps the lines below it as they are)


def run(args: Sequence[str]) -> int:
    """Run the command line in this process.

    Args:
        args: What follows ``zplan``.

    Returns:
        The exit code; anything worth saying has been written to stdout or stderr.
    """
    try:
        code = (_completion if set(args) & COMPLETION_FLAGS else _main)(args)
    except ZplanError as error:
        return _fail(error.message, error.hint, error.exit_code)
    except BrokenPipeError:
        closed_pipe()
        return ExitCode.OK
    except SystemExit as left:
        # rich and typer leave with 1 when the reader of what they print themselves (--help) has gone.
        # fish takes 1 as: nothing to offer, so offer files.
        return ExitCode.OK if left.code == 1 and COMPLETING not in os.environ else int(left.code or 0)
    except (KeyboardInterrupt, typer.Abort):
        return 130
    except Exception as error:
        return _unforeseen(error, args)
    return code if isinstance(code, int) else ExitCode.OK


def _unforeseen(error: Exception, args: Sequence[str]) -> int:
    """What typer refuses, and what is a bug."""
    if os.environ.get(COMPLETING):  # while somebody types, silence is better than any message
        return ExitCode.INTERNAL
    # typer moved its exceptions between versions; what they have in common is how they describe themselves.
    describe = getattr(error, "format_message", None)
    return _internal(error) if describe is None else _usage(error, describe(), args)


def _main(args: Sequence[str]) -> Any:
    command = get_command(app)
    for parameter in command.params:
        if getattr(parameter, "is_flag", False):  # typer's own for completion, added after all others
            plain_flag(parameter)
    return command.main(args=list(args), prog_name="zplan", standalone_mode=False)


def _completion(args: Sequence[str]) -> int:
    """Install or show the shell's part of completion; what typer says when it cannot is put into our form.

    Raises:
        ZplanError: a shell that typer does not know, or a home that cannot be written to.
    """
    from contextlib import redirect_stderr, redirect_stdout
    from io import StringIO

    said = StringIO()
    hint = "in bash, zsh or fish: zplan --install-completion"
    try:
        with redirect_stdout(said), redirect_stderr(said):
            code = _main(args)
    except SystemExit as left:
        code = left.code
    except OSError as error:
        reason = error.strerror or str(error)
        raise ZplanError(f"completion cannot be installed: {reason}", "print it: zplan --show-completion") from None
    if code not in (None, 0):
        raise ZplanError(said.getvalue().strip().rstrip(".") or "completion cannot be installed", hint)
    emit(said.getvalue())
    return ExitCode.OK


def _fail(message: str, hint: str, code: int) -> int:
    lines = f"error: {one_line(message)}\nhint: {one_line(hint)}\n"
    if sys.stderr is not None:
        try:
            sys.stderr.write(lines)
            sys.stderr.flush()
        except OSError:  # nobody can be told; the exit code still tells
            discard(sys.stderr)
    return int(code)


def _usage(error: Exception, message: str, args: Sequence[str]) -> int:
    """What typer itself refuses: unknown options, missing values, unexpected arguments."""
    command = "zplan" if not args or args[0] not in VERBS else f"zplan {args[0]}"
    hint = f"see {command} --help"
    possible = getattr(error, "possibilities", None)
    if possible:
        from difflib import get_close_matches

        nearest = get_close_matches(getattr(error, "option_name", ""), possible, n=1, cutoff=0.0)
        hint = f"did you mean {nearest[0]}? All options: {command} --help"
    message = getattr(error, "message", "") or message
    return _fail(message[:1].lower() + message[1:].rstrip("."), hint, ExitCode.USAGE)


def _internal(error: Exception) -> int:
    if os.environ.get("ZPLAN_DEBUG"):
        import traceback

        traceback.print_exception(error)
    hint = "this is a bug in zplan: run it again with ZPLAN_DEBUG=1 for the traceback and report both"
    return _fail(f"internal: {type(error).__name__}: {error}", hint, ExitCode.INTERNAL)
