"""The glue between typer and zplan's verbs: option groups as dataclasses, and options that stay the words typed.

Since typer 0.29 the first option that is converted to a type imports pydantic, which costs more than everything else
that an estimate does. zplan parses its own values (for better errors), so its options are strings and typer need not
convert them.
"""

import inspect
from collections.abc import Callable
from dataclasses import MISSING, fields, is_dataclass
from typing import Any, get_type_hints

from typer.core import TyperArgument, TyperCommand, TyperGroup, TyperOption


class WordOption(TyperOption):
    """An option whose value is what the user typed, or None."""

    def process_value(self, ctx: Any, value: Any) -> Any:
        """Return the value as it is, without typer's conversion."""
        return value


class WordArgument(TyperArgument):
    """An optional argument whose value is what the user typed, or None."""

    def process_value(self, ctx: Any, value: Any) -> Any:
        """Return the value as it is, without typer's conversion."""
        return value


def _complete(ctx: Any, parameter: Any, incomplete: str) -> list[str]:
    """Words for a shell that completes a command line."""
    from zplan.cli.complete import complete

    return complete(ctx, parameter, incomplete)


def plain_flag(option: Any) -> Any:
    """A flag whose default is None is converted, and so imports pydantic; False is taken as it is."""
    if option is not None and option.default is None:
        option.default = False
    return option


class Group(TyperGroup):
    """A group of commands that answers with its help when nothing is asked."""

    def get_help_option(self, ctx: Any) -> Any:
        """The help flag, as a plain False when it is not given."""
        return plain_flag(super().get_help_option(ctx))

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Without arguments, show the help."""
        return super().parse_args(ctx, args or ["--help"])

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """Find the command; an unknown one is answered with the nearest."""
        names = self.list_commands(ctx)
        if args[0] not in names:
            from zplan.cli.parse import unknown

            path = ctx.command_path
            raise unknown(args[0], names, what="command", template=f"{path} {{}} --help", otherwise=f"{path} --help")
        return super().resolve_command(ctx, args)


class Command(TyperCommand):
    """A verb whose options and arguments stay the words typed; flags stay typer's own."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        for parameter in self.params:
            if not getattr(parameter, "is_flag", False):
                # What typer's autocompletion= sets, without the signatures that it inspects for every option.
                parameter._custom_shell_complete = _complete
            if type(parameter) is TyperOption and not parameter.is_flag and not parameter.multiple:
                # Typer offers no way to name an option's class, and both classes have the same fields.
                parameter.__class__ = WordOption
            elif type(parameter) is TyperArgument and parameter.nargs == 1:
                parameter.__class__ = WordArgument

    def get_help_option(self, ctx: Any) -> Any:
        """The help flag, as a plain False when it is not given."""
        return plain_flag(super().get_help_option(ctx))


def takes_options(function: Callable[..., Any]) -> Callable[..., Any]:
    """Let a verb take whole option groups: each parameter that is a dataclass becomes its fields on the command line.

    Args:
        function: The verb; parameters annotated with a dataclass of ``Annotated[..., typer.Option(...)]`` fields are
            replaced, others are kept.

    Returns:
        A function with the flattened signature, for ``app.command(cls=Command)``.
    """
    groups: dict[str, type] = {}
    parameters: list[inspect.Parameter] = []
    # Not get_type_hints: before Python 3.11 it wraps Annotated[...] = None into Optional, which hides it from typer.
    for name, hint in inspect.get_annotations(function, eval_str=True).items():
        if name == "return":
            continue
        if not is_dataclass(hint):
            parameters.append(inspect.signature(function).parameters[name].replace(annotation=hint))
            continue
        groups[name] = hint if isinstance(hint, type) else type(hint)
        hints = get_type_hints(hint, include_extras=True)
        for field in fields(hint):
            default = inspect.Parameter.empty if field.default is MISSING else field.default
            kind = inspect.Parameter.KEYWORD_ONLY
            parameters.append(inspect.Parameter(field.name, kind, default=default, annotation=hints[field.name]))

    def verb(**values: Any) -> Any:
        arguments = {
            name: group(**{field.name: values.pop(field.name) for field in fields(group)})
            for name, group in groups.items()
        }
        return function(**arguments, **values)

    verb.__name__, verb.__doc__ = function.__name__, function.__doc__
    verb.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
    verb.__signature__ = inspect.Signature(  # type: ignore[attr-defined]
        [p.replace(kind=inspect.Parameter.KEYWORD_ONLY) for p in parameters]
    )
    return verb
