"""Writes docs/accuracy.md and its plot from the kept grid and the published runs: ``python benchmarks/write_accuracy.py``."""

from __future__ import annotations

import json
import math
import re
import statistics
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent))

from accuracy import PHASES, STANDARD_GRID, predict, read_rows, score
from cases import case_to_plan

from zplan.errors import ZplanError
from zplan.memory.params import layout

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs" / "accuracy.md"
PLOT = ROOT / "docs" / "accuracy.svg"
FRESH = {
    "3": "fresh.jsonl",
    "4": "fresh2.jsonl",
    "5": "fresh3.jsonl",
    "11 and 12, `--attention math`": "old_cards.jsonl",
}
"""Dry runs of other seeds, kept apart."""
GIB = 2**30


def percent(value: float | None) -> str:
    """A fraction as a percentage that shows small values."""
    return "-" if value is None else f"{value:.2%}" if abs(value) >= 5e-5 else "0.00%" if value == 0 else "<0.01%"


def zero_paper(case: dict[str, Any]) -> float | None:
    """Model states alone, as the ZeRO paper counts them (arXiv:1910.02054): 2P + 2P + 12P by stage; others 16 P/N or 16 P."""
    params, ranks, stage = layout(case_to_plan(case).model).total, case["world"], case["stage"]
    if case["engine"] in ("ddp", "single"):
        return 16.0 * params
    if case["engine"] != "deepspeed":
        return 16 * params / ranks if stage == 3 else 2 * params + 14 * params / ranks
    return (16.0 * params, 4 * params + 12 * params / ranks, 2 * params + 14 * params / ranks, 16 * params / ranks)[
        stage
    ]


def deepspeed_estimator(case: dict[str, Any]) -> float | None:
    """DeepSpeed's own ``estimate_zero{2,3}_model_states_mem_needs``: 2P + 18P/N, and 18P/N plus four bytes of the largest layer.

    Source: DeepSpeed ``runtime/zero/stage_1_and_2.py`` and ``stage3.py``. It answers stages 2 and 3 alone.
    """
    if case["engine"] != "deepspeed" or case["stage"] < 2:
        return None
    groups, ranks = layout(case_to_plan(case).model), case["world"]
    params, largest = groups.total, 4 * groups.largest
    if case["stage"] == 2:
        return 2.0 * params + (0 if case["offload"] != "none" else 18 * params / ranks)
    return largest + {"none": 18 * params / ranks, "optimizer": 2 * params / ranks, "all": 0}[case["offload"]]


def others(rows: list[dict[str, Any]]) -> list[str]:
    """The same cases as two simple public formulas see them."""
    lines = ["| formula | cases | median error | more than 10 % too low |", "|---|---|---|---|"]
    for name, formula in (("ZeRO paper, model states", zero_paper), ("DeepSpeed's estimator", deepspeed_estimator)):
        errors = []
        for row in rows:
            answer = formula(row["case"]) if "error" not in row["result"] else None
            if answer is not None:
                errors.append(answer / row["result"]["peak"] - 1)
        low = sum(error < -0.1 for error in errors) / len(errors)
        lines.append(f"| {name} | {len(errors)} | {statistics.median(map(abs, errors)):.0%} | {low:.0%} |")
    return lines


def by_engine(rows: list[dict[str, Any]]) -> list[str]:
    """Error of the allocated peak by engine and stage."""
    groups: dict[str, list[dict[str, Any]]] = {}
    for row in rows:
        case = row["case"]
        name = case["engine"] if case["engine"] in ("ddp", "single") else f"{case['engine']} stage {case['stage']}"
        name += "" if case["offload"] == "none" else f", {case['offload']} offload"
        groups.setdefault(name, []).append(row)
    lines = ["| engine | answered | median | 95th percentile | largest | bias |", "|---|---|---|---|---|---|"]
    for name, part in sorted(groups.items()):
        report = score(part)
        peak = report["peak"]
        cells = " | ".join(percent(peak[key]) for key in ("median", "p95", "max", "bias"))
        lines.append(f"| {name} | {report['answered']} of {len(part)} | {cells} |")
    return lines


def worst_rows(report: dict[str, Any]) -> list[str]:
    """The cases that are furthest off."""
    lines = ["| off by | case |", "|---|---|"]
    for entry in report["worst"]:
        case = {key: value for key, value in entry["case"].items() if key != "model"}
        case["model"] = entry["case"]["model"]["model_type"]
        off = entry["predicted"]["peak"] / entry["measured"]["peak"] - 1
        lines.append(f"| {off:+.2%} | `{json.dumps(case)}` |")
    return lines


def _point(row: dict[str, Any]) -> tuple[float, float] | None:
    try:
        return row["result"]["peak"] / GIB, predict(row["case"])["peak"] / GIB
    except (ZplanError, KeyError):
        return None


def plot(rows: list[dict[str, Any]]) -> str:
    """Predicted against measured peaks, both on a logarithmic scale, as SVG."""
    points = [point for row in rows if (point := _point(row))]
    low, high = math.floor(math.log10(min(min(p) for p in points))), math.ceil(math.log10(max(max(p) for p in points)))

    def at(value: float) -> float:
        return 400 * (math.log10(value) - low) / (high - low)

    ticks = "".join(
        f'<text x="{60 + at(10**k):.1f}" y="438" text-anchor="middle">{10**k:g}</text>'
        f'<text x="52" y="{424 - at(10**k):.1f}" text-anchor="end">{10**k:g}</text>'
        for k in range(low, high + 1)
    )
    dots = "".join(f'<circle cx="{60 + at(x):.1f}" cy="{420 - at(y):.1f}" r="2.5"/>' for x, y in points)
    return (
        '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 480 470" font-family="sans-serif" font-size="11" role="img" '
        'aria-labelledby="t d"><title id="t">Predicted against measured peak</title>'
        f'<desc id="d">{len(points)} plans; every point on the diagonal is exact.</desc>'
        '<rect width="480" height="470" fill="white"/><rect x="60" y="20" width="400" height="400" fill="none" stroke="#888"/>'
        f'<line x1="60" y1="420" x2="460" y2="20" stroke="#bbb"/><g fill="royalblue" fill-opacity="0.6">{dots}</g>{ticks}'
        '<text x="260" y="460" text-anchor="middle">measured by dry run, GiB</text>'
        '<text x="16" y="220" text-anchor="middle" transform="rotate(-90 16 220)">predicted, GiB</text></svg>\n'
    )


def benchmark(name: str, *options: str) -> dict[str, Any]:
    """What a benchmark prints with ``--json``."""
    command = (sys.executable, str(Path(__file__).with_name(name)), "--json", *options)
    found: dict[str, Any] = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
    return found


def throughput() -> list[str]:
    """What ``throughput.py`` says, in sample and out of it."""
    files = [str(Path(__file__).parent / "data" / f"{name}.yaml") for name in ("measured", "fresh_rows")]
    report = benchmark("throughput.py", "--data", *files)
    out = report["leave_one_source_out"]
    later = benchmark("throughput.py", "--data", str(Path(__file__).parent / "data" / "later_rows.yaml"))
    lines = [
        f"{report['answered']} of {report['rows']} rows answered. In sample the median error is {percent(report['median'])} "
        f"(90th percentile {percent(report['p90'])}), and {report['pairs_right']} of {report['pairs']} pairs of settings come "
        "out in the measured order. Ten constants were chosen on these rows (`benchmarks/fit.py`). Chosen again without one "
        f"publisher after the other, and held against the one left out, the median error is **{percent(out['median'])}** "
        f"(90th percentile {percent(out['p90'])}): that is what to expect of a machine that had no part in it.",
        "",
        "The rows of `fresh_rows.yaml` were written down before the model was run on them. As first met, with the constants and "
        "the formulas of that time, 269 of 279 were answered with a median error of 12.0 % (90th percentile 70 %), 816 of 921 "
        "pairs in order. What was off by a kind was mended from what is known of it: the first generation of flash attention is "
        "half as fast, `selective-op` recomputes half of the matrix products, nodes of Hopper cards have faster networks, "
        "adapters cost launches of their own, fused kernels move less. Rows that stay far off have no known cause: all of one "
        "gist (DeepSpeed on an A800, 40 % slower than others on the same card, and more with offload), LoRA on two servers (1.8 "
        "times the time of one, whatever the length), and runs on power-limited cards whose limit is not told.",
        "",
        "The rows of `later_rows.yaml` (InternLM-7B, ZeRO-1 on 8 to 1024 GPUs) were written down after all that: "
        f"{later['answered']} of {later['rows']} answered, median error {percent(later['median'])}, {later['pairs_right']} of "
        f"{later['pairs']} pairs in order. From 256 GPUs on the prediction is too fast: what collectives lose over hundreds of "
        "ranks is not modelled.",
        "",
        "| source | rows | median error | when its publisher is left out |",
        "|---|---|---|---|",
    ]
    for name, row in report["sources"].items():
        left_out = percent(out["sources"][report["publishers"][name]]["median"])
        lines.append(f"| {name} | {row['n']} | {percent(row['median'])} | {left_out} |")
    reasons = "; ".join(f"{count} x {why}" for why, count in report["why_unanswered"].items())
    return [*lines, "", f"Not answered: {reasons}."]


def reports() -> list[str]:
    """What ``reports.py`` says."""
    report = benchmark("reports.py")
    claims = f"{report['claims']} settings" if report["claims"] != report["answered"] else "as many settings"
    lines = [
        f"{report['answered']} of {report['reports']} reports say enough for a verdict ({claims}); {report['verdict_right']} "
        f"verdicts are right. Of {report['terms']} failed allocations whose tensor is known {report['term_first']} are named "
        f"first. Of {report['phases']} failures in a named phase {report['phase_right']} are in one that does not fit. "
        f"Of {report['changes']} changes that helped, or that were advised, zplan names {report['changes_advised']} for the "
        f"setting that failed. Failed settings that `recommend` would advise: {len(report['recommended_failures'])}.",
        "",
    ]
    for key, words in (
        ("verdict_wrong", "wrong"),
        ("phase_wrong", "another phase"),
        ("changes_not_advised", "not advised"),
        ("claims_unanswered", "a setting that is not answered"),
    ):
        lines += [f"- {words}, {one['id']}: {one['why'].split(': not among')[0]}" for one in report[key]]
    shorter = r"(, but)?: .*| \([a-z_, ]+\)|^.* is not a decoder alone$|; which of them failed is not told"
    why = Counter(re.sub(shorter, "", one["why"].split("; ")[0]) or "no decoder" for one in report["unanswered"])
    return [
        *lines,
        "",
        "Not answered: " + "; ".join(f"{count} x {reason}" for reason, count in why.most_common()) + ".",
    ]


def published() -> list[str]:
    """What ``published.py`` says."""
    report = benchmark("published.py")
    lines = [
        "| counter | rows | median error | 90th percentile | within 10 % | inside low-high |",
        "|---|---|---|---|---|---|",
    ]
    for kind, row in report["kinds"].items():
        if row["n"]:
            lines.append(
                f"| {kind} | {row['n']} | {percent(row['median'])} | {percent(row['p90'])} | {percent(row['within_10pct'])} "
                f"| {percent(row['inside_bounds'])} |"
            )
    lines += [
        "",
        f"{report['answered']} of {report['core_rows']} rows answered. Of {report['oom_rows']} that ran out of memory "
        f'{report["oom_called_fits"]} are called "fits"; '
        f'of {report["fits_rows"]} that ran {report["fits_called_oom"]} are called "oom".',
    ]
    return lines


def unseen() -> list[str]:
    """The error on plans drawn with seeds of their own."""
    lines = [
        "| seed | plans | answered | median | 95th percentile | largest | lowest |",
        "|---|---|---|---|---|---|---|",
    ]
    for seed, name in FRESH.items():
        report = score(read_rows(STANDARD_GRID.with_name(name)))
        cells = " | ".join(percent(report["peak"][key]) for key in ("median", "p95", "max"))
        low = min(entry["predicted"]["peak"] / entry["measured"]["peak"] - 1 for entry in report["worst"])
        lines.append(f"| {seed} | {report['cases']} | {report['answered']} | {cells} | {low:+.2%} |")
    return [*lines, "", FIRST_MET]


FIRST_MET = """When first met, seed 3 had a 95th percentile of 0.21% and one plan that was 3.59% too low (what a block's
recomputation gathers is still there when its last module hands over a gradient), which was mended; seed 4 had 0.01% and at most
0.84%, and the causes were found in other plans. Seed 5 was drawn after the last mend: its row is what first meeting it brought.
Seeds 11 and 12 are the grid's plans as a card without flash attention runs them, in fp16; they were drawn after the tables of that
kernel, and their row, too, is what first meeting them brought (three plans are refused: transformers has no sdpa for Gemma 2).

What a new seed could bring before is told by the second grid, scored by the model that had been mended against the first alone:
195 of its 210 plans answered, median <0.01%, 95th percentile 2.6%, largest 79% (too much: GPT-2 with adapters and a chunked loss at
stage 3), lowest -5.5% (a fused loss under FSDP2). The causes found since are in `benchmarks/data/mended.jsonl` and the tests that
read it."""


def page(rows: list[dict[str, Any]]) -> str:
    """The whole page."""
    report = score(rows)
    versions = next(row["result"]["versions"] for row in rows if len(row["result"].get("versions", {})) == 3)
    table = ["| figure | cases | median | 95th percentile | largest | bias |", "|---|---|---|---|---|---|"]
    for name in ("peak", *PHASES, "host", "host_peak"):
        row = report[name] if name in report else report["phases"][name]
        cells = " | ".join(percent(row[key]) for key in ("median", "p95", "max", "bias"))
        table.append(f"| {name} | {row['n']} | {cells} |")
    why = Counter(entry["why"].split(":")[0] for entry in report["unanswered"])
    parts = [
        "<!-- Written by benchmarks/write_accuracy.py; do not edit. -->\n\n# Accuracy\n",
        "## Against the real engine, without data\n",
        f"Two seeded grids, {report['cases']} random plans in all (model x engine x stage x offload x ranks x batch x sequence "
        "x checkpointing x "
        "buckets x accumulation x attention x loss x optimizer x adapters), each run by the real engine on tensors without data "
        f"({', '.join(f'{name} {version}' for name, version in versions.items())}). Errors are |predicted / measured - 1|; "
        "bias is the "
        f"median of predicted / measured - 1. {report['answered']} plans are answered. Gaps found in these plans were mended, so "
        "that they no longer tell how the next plan fares; for that see below.\n",
        *table,
        "\n### Plans that no formula was mended against\n",
        *unseen(),
        "\n![predicted against measured](accuracy.svg)\n",
        "### By engine\n",
        *by_engine(rows),
        "\n### Furthest off\n",
        *worst_rows(report),
        "\n### Not answered\n",
        *(f"- {count} x {reason}" for reason, count in why.most_common()),
        "\n### The same plans, other formulas\n",
        *others(rows),
        "\n## Against published runs\n",
        "Each row is somebody's measured run with its source (`benchmarks/data/measured.yaml`), "
        "mapped to a plan by general rules.\n",
        *published(),
        "\n## Step time against published throughput\n",
        "Tokens per second per GPU (`python benchmarks/throughput.py --data measured.yaml fresh_rows.yaml`, both in "
        "`benchmarks/data`).\n",
        *throughput(),
        "\n## Verdicts against public reports\n",
        "Issues and discussions in which a run failed or fitted (`python benchmarks/reports.py`). What a report leaves out is "
        "priced with the least and the most that is usual, and both must agree.\n",
        *reports(),
        "\n## Known gaps\n",
        KNOWN_GAPS,
    ]
    return "\n".join(parts)


KNOWN_GAPS = """- Adapters on some of the layers at stage 3: 4% too much with checkpointing, 10% in one plan with eager attention
  and rank 1.
- FSDP2 with offload and tied embeddings: the host's bytes lack a shard of the embedding, up to 44% of a small model's; whether that
  shard is real or the dry run's own is not known.
- Stage 3 with a persistence threshold above whole layers: init 5% too little. A single Qwen3-MoE layer at stage 3: forward 20% too
  little, its peak right. NVMe: backward about 5% too much.
- Autocast, and adapters under it: at the instant when a gradient is handed over the activations of the whole interval are counted,
  too much by up to a few per cent of a small model.
- The causal mask that GPT-BigCode keeps as a buffer (a byte per pair of positions) is not counted.
- NVMe offload, qwZ and qgZ were held against dry runs with stand-ins for their I/O and kernels. Nothing here was measured
  on a GPU by us.
"""


def main() -> None:
    """Writes the page and the plot."""
    rows = read_rows(STANDARD_GRID)
    PLOT.write_text(plot(rows), encoding="utf-8")
    PAGE.write_text(page(rows), encoding="utf-8")


if __name__ == "__main__":
    main()
