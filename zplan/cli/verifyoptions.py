"""Options of ``zplan verify`` beside those of a plan, as the words typed."""

from dataclasses import dataclass
from typing import Annotated

from typer import Option

LAUNCH, CLUSTER, OUTPUT = "Launch", "torchrun on several nodes", "Output"


@dataclass(frozen=True, slots=True, kw_only=True)
class LaunchOptions:
    """How to run it."""

    launch: Annotated[
        str | None,
        Option(
            "--launch",
            metavar="HOW",
            rich_help_panel=LAUNCH,
            help="dryrun (no GPU needed), single (one real rank) or torchrun (the real job). Default: what fits here.",
        ),
    ] = None
    timeout: Annotated[
        str | None,
        Option("--timeout", metavar="SECONDS", rich_help_panel=LAUNCH, help="Give up after this long. Default: 600."),
    ] = None
    max_memory_gib: Annotated[
        str | None,
        Option(
            "--max-memory-gib",
            metavar="N",
            rich_help_panel=LAUNCH,
            help="What one process may take, of its card or of RAM.",
        ),
    ] = None
    force: Annotated[
        bool,
        Option("--force", rich_help_panel=LAUNCH, help="Launch what is predicted not to fit; let --save replace."),
    ] = False
    rdzv_endpoint: Annotated[
        str | None,
        Option("--rdzv-endpoint", metavar="HOST:PORT", rich_help_panel=CLUSTER, help="Where the nodes meet."),
    ] = None
    rdzv_id: Annotated[
        str | None, Option("--rdzv-id", metavar="ID", rich_help_panel=CLUSTER, help="Name of the job.")
    ] = None
    rdzv_backend: Annotated[
        str | None, Option("--rdzv-backend", metavar="NAME", rich_help_panel=CLUSTER, help="Default: c10d.")
    ] = None
    rdzv_conf: Annotated[
        str | None, Option("--rdzv-conf", metavar="K=V,...", rich_help_panel=CLUSTER, help="As torchrun takes it.")
    ] = None
    node_rank: Annotated[
        str | None, Option("--node-rank", metavar="K", rich_help_panel=CLUSTER, help="As torchrun takes it.")
    ] = None
    master_addr: Annotated[
        str | None, Option("--master-addr", metavar="HOST", rich_help_panel=CLUSTER, help="As torchrun takes it.")
    ] = None
    master_port: Annotated[
        str | None, Option("--master-port", metavar="PORT", rich_help_panel=CLUSTER, help="As torchrun takes it.")
    ] = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportOptions:
    """What to do with the answer."""

    tolerance: Annotated[
        str | None,
        Option(
            "--tolerance",
            metavar="SHARE",
            rich_help_panel=OUTPUT,
            help="Exit with 4 when the allocated peak is further off: 5% or 0.05.",
        ),
    ] = None
    save: Annotated[
        str | None,
        Option(
            "--save",
            metavar="FILE",
            rich_help_panel=OUTPUT,
            help="Keep the measurement for `zplan estimate --measured FILE`.",
        ),
    ] = None
    json: Annotated[bool, Option("--json", rich_help_panel=OUTPUT, help="One JSON object; sizes are bytes.")] = False
    case_line: Annotated[
        bool,
        Option("--case-line", rich_help_panel=OUTPUT, help="One JSON line, for the accuracy benchmark."),
    ] = False
    unit: Annotated[
        str | None,
        Option("--unit", metavar="UNIT", rich_help_panel=OUTPUT, help="GiB (2^10 steps) or GB (10^3). Default: GiB."),
    ] = None
