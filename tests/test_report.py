"""``zplan report``: one file, no scripts, nothing from outside, everything escaped; and as a browser shows it."""

from __future__ import annotations

import html
import json
import re
import zlib
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path

import pytest

from tests.chromium import Chromium, find_chromium
from zplan.advice.decision import Step
from zplan.advice.sweep import Axis
from zplan.cli.app import run
from zplan.cli.options import PlanOptions
from zplan.cli.report import build_report
from zplan.memory.moments import Moment
from zplan.memory.summary import TERM_TITLES
from zplan.render.charts import MOST_CARDS, host_svg, stages_svg, timeline_svg
from zplan.render.html import Report, report_page
from zplan.render.svg import CATEGORIES, CATEGORY_OF, category_of
from zplan.units import GIB, Unit

OPTIONS = PlanOptions(params="7B", gpus="8", gpu="a100-80g", host_mem="1TiB")
TYPED = ["report", "--params", "7B", "--gpus", "8", "--gpu-mem", "80"]
HOSTILE = "\"><script>alert('x')</script><img src=http://e.example/x onerror=alert(1)>&amp;</pre></style>]]>\u202e"
VOID = {"meta", "br", "img", "hr", "link", "input"}


@pytest.fixture(autouse=True)
def _alone(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.chdir(tmp_path)


@pytest.fixture(scope="module")
def report() -> Report:
    return build_report(replace(OPTIONS, stage="2", offload="optimizer"))


class Page(HTMLParser):
    """Tags, attributes and text of a page; unbalanced tags fail."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.text: list[str] = []
        self._open: list[str] = []
        self.feed(text)
        self.close()
        assert self._open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        assert len(attrs) == len(dict(attrs)), f"an attribute twice in {tag}"
        self.tags.append((tag, dict(attrs)))
        if tag not in VOID:
            self._open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        assert self._open and self._open.pop() == tag, f"</{tag}> closes something else"

    def handle_data(self, data: str) -> None:
        self.text.append(data)

    def named(self, tag: str) -> list[dict[str, str | None]]:
        return [attributes for name, attributes in self.tags if name == tag]


def _check_inert(page: Page) -> None:
    """Nothing that runs, nothing that is fetched."""
    kinds = {tag for tag, _ in page.tags}
    assert not kinds & {
        "script",
        "img",
        "link",
        "iframe",
        "object",
        "embed",
        "base",
        "form",
        "image",
        "use",
        "foreignobject",
    }
    for tag, attributes in page.tags:
        for name, value in attributes.items():
            assert not name.startswith("on"), (tag, name)
            assert name not in ("src", "srcset", "xlink:href", "style"), (tag, name)
            if name == "href":
                assert (value or "").startswith("#"), value
            if "url(" in (value or ""):
                assert re.fullmatch(r"url\(#[\w-]+\)", value or ""), value


def test_nothing_runs_and_nothing_is_fetched(report: Report) -> None:
    text = report_page(report)
    _check_inert(Page(text))
    style = text[text.index("<style>") : text.index("</style>")]
    assert "url(" not in style and "@import" not in style
    assert "default-src &#x27;none&#x27;" in text


def test_it_can_be_read_by_ear(report: Report) -> None:
    page = Page(report_page(report))
    assert page.named("html")[0]["lang"] == "en"
    assert [len(page.named(tag)) for tag in ("h1", "main", "nav", "title")][:3] == [1, 1, 1]
    ids = [attributes["id"] for _, attributes in page.tags if "id" in attributes]
    assert not [name for name, count in Counter(ids).items() if count > 1]
    for attributes in page.named("a"):
        assert (attributes["href"] or "")[1:] in ids
    pictures = [a for a in page.named("svg") if a.get("aria-hidden") != "true"]
    assert len(pictures) == 5
    for attributes in pictures:
        assert attributes["role"] == "img"
        assert set((attributes["aria-labelledby"] or "").split()) <= set(ids)
    assert len(page.named("caption")) == len(page.named("table")) >= 6
    assert all(attributes.get("scope") in ("row", "col") for attributes in page.named("th"))
    assert len(page.named("figcaption")) == len(page.named("figure")) == 5
    for attributes in page.named("section"):
        assert attributes["aria-labelledby"] in ids


def test_every_part_is_there(report: Report) -> None:
    text = report_page(report)
    for anchor in ("stages", "step", "levers", "decision", "host", "sweep", "assumptions", "formulas", "data"):
        assert f'<h2 id="{anchor}">' in text
    words = html.unescape(text)
    for estimate in report.estimates:
        assert f"{estimate.runtime.device_expected_bytes / GIB:.2f}" in words
        assert f"{estimate.allocated_peak_bytes / GIB:.2f}" in words
    for note in report.assumptions:
        assert note in words
    for term in report.terms:
        assert term.formula in words and term.source in words
    for lever in report.levers:
        assert lever.change in words and lever.flags in words
    for step in report.decision:
        assert step.question in words and step.because in words


def test_the_json_is_the_estimates(report: Report, capsys: pytest.CaptureFixture[str]) -> None:
    text = report_page(report)
    match = re.search(r'<pre id="estimate-json"[^>]*>(.*?)</pre>', text, re.DOTALL)
    assert match is not None
    value = json.loads(html.unescape(match[1]))
    assert run(["estimate", "--params", "7B", "--gpus", "8", "--gpu", "a100-80g", "--host-mem", "1TiB", "--json"]) == 0
    printed = json.loads(capsys.readouterr().out)
    assert value["plans"] == printed["plans"]


def test_units(report: Report) -> None:
    text = report_page(report, unit=Unit.GB)
    assert f"{report.chosen.runtime.device_expected_bytes / 1e9:.2f} GB" in text


@pytest.mark.parametrize(
    ("options", "label", "because"),
    [
        (OPTIONS, "stage 1", "mildest plan that fits"),
        (replace(OPTIONS, stage="3"), "stage 3", "as asked for"),
        (replace(OPTIONS, stage="2", offload="optimizer"), "stage 2 + optimizer offload", "as asked for"),
        (replace(OPTIONS, gpu=None), "stage 3 + full offload", "was not given"),
        (replace(OPTIONS, gpu="t4-16g", micro_batch="8"), "stage 3 + full offload", "none fits"),
        (replace(OPTIONS, engine="fsdp2"), "stage 2", "mildest plan that fits"),
        (
            replace(OPTIONS, stage="3", offload="optimizer", offload_to="nvme"),
            "stage 3 + optimizer offload to NVMe",
            "asked",
        ),
    ],
)
def test_which_plan_is_shown(options: PlanOptions, label: str, because: str) -> None:
    found = build_report(options)
    assert (found.label, because in found.chosen_because) == (label, True)
    assert found.chosen in found.estimates
    assert len(found.estimates) == len(
        {(e.plan.job.stage, e.plan.job.offload, e.plan.job.offload_to) for e in found.estimates}
    )
    assert len(found.estimates) > 1
    page = Page(report_page(found))
    _check_inert(page)


def _hostile(report: Report) -> Report:
    """The report with hostile words wherever words come from a file or a name."""
    model = replace(report.chosen.plan.model, name=HOSTILE, source=HOSTILE)
    gpu = report.chosen.plan.cluster.gpu
    assert gpu is not None
    cluster = replace(report.chosen.plan.cluster, gpu=replace(gpu, title=HOSTILE, name=HOSTILE))
    plan = replace(report.chosen.plan, model=model, cluster=cluster)
    moment = Moment("backward", HOSTILE, {HOSTILE: 7 * GIB, "params": GIB})
    chosen = replace(
        report.chosen,
        plan=plan,
        moments=(*report.chosen.moments, moment),
        peak_moment=moment,
        why=lambda: HOSTILE,
        host=replace(report.chosen.host, terms={HOSTILE: GIB}),
    )
    sweep = report.sweep
    assert sweep is not None
    named = Axis(name="model", labels=(HOSTILE, *sweep.axes[0].labels[1:]), values=sweep.axes[0].values)
    return replace(
        report,
        estimates=(chosen, *report.estimates[1:]),
        chosen=chosen,
        label=HOSTILE,
        chosen_because=HOSTILE,
        terms=tuple(
            term._replace(key=HOSTILE, formula=HOSTILE, with_numbers=HOSTILE, source=HOSTILE, how_to_shrink=HOSTILE)
            for term in report.terms
        ),
        symbols={HOSTILE: 1},
        sources={"nccl": HOSTILE},
        levers=tuple(lever._replace(change=HOSTILE, flags=HOSTILE) for lever in report.levers),
        decision=(Step(question=HOSTILE, answer=HOSTILE, because=HOSTILE),),
        recommended=HOSTILE,
        sweep=replace(sweep, axes=(named, *sweep.axes[1:])),
        assumptions=(HOSTILE,),
        json=json.dumps({"model": HOSTILE}, ensure_ascii=False),
        version=HOSTILE,
    )


def test_hostile_words_stay_words(report: Report) -> None:
    honest, hostile = Page(report_page(report)), report_page(_hostile(report))
    page = Page(hostile)
    _check_inert(page)
    assert {tag for tag, _ in page.tags} == {tag for tag, _ in honest.tags}
    assert "<script" not in hostile and "<img" not in hostile
    assert hostile.count("</style>") == 1 and hostile.count("</pre>") == 1
    assert sum(words.count(HOSTILE) for words in page.text) > 20


def test_a_hostile_folder_is_only_a_name(tmp_path: Path) -> None:
    folder = tmp_path / "<img src=x onerror=alert(1)>"
    folder.mkdir()
    config = {
        "model_type": "llama", "hidden_size": 512, "intermediate_size": 1024, "num_hidden_layers": 2,
        "num_attention_heads": 8, "vocab_size": 1000, "max_position_embeddings": 4096,
    }  # fmt: skip
    (folder / "config.json").write_text(json.dumps(config), encoding="utf-8")
    assert run(["report", "--model", str(folder), "--gpus", "2", "--gpu-mem", "24", "-o", "out.html"]) == 0
    text = (tmp_path / "out.html").read_text(encoding="utf-8")
    assert "<img" not in text and "&lt;img src=x onerror=alert(1)&gt;" in text
    _check_inert(Page(text))


def test_files_are_kept_unless_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "r.html"
    assert run([*TYPED, "-o", str(out)]) == 0
    assert str(out) in capsys.readouterr().err
    out.write_text("mine", encoding="utf-8")
    assert run([*TYPED, "-o", str(out)]) == 2
    assert "--force" in capsys.readouterr().err
    assert out.read_text(encoding="utf-8") == "mine"
    assert run([*TYPED, "-o", str(out), "--force"]) == 0
    assert out.read_text(encoding="utf-8").startswith("<!DOCTYPE html>")
    assert [path.name for path in tmp_path.iterdir() if path.is_file()] == ["r.html"]


def test_the_default_file_and_standard_output(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(TYPED) == 0
    page = (tmp_path / "zplan-report.html").read_text(encoding="utf-8")
    capsys.readouterr()
    assert run([*TYPED, "-o", "-"]) == 0
    assert capsys.readouterr().out == page


@pytest.mark.parametrize(
    ("typed", "error"),
    [
        (["report", "--params", "7B", "--gpus", "8", "-o", "nowhere/r.html"], "does not exist"),
        (["report", "--params", "7B", "--gpus", "8", "-o", "."], "is a folder"),
        (["report", "--params", "7B", "--gpus", "8", "--stage", "7"], "unknown stage"),
        (["report", "--gpus", "8"], "no model was named"),
        (["report", "--params", "7B", "--gpus", "8", "--unit", "MB"], "unknown unit"),
    ],
)
def test_bad_reports_are_two_lines(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, typed: list[str], error: str
) -> None:
    assert run(typed) == 2
    out, err = capsys.readouterr()
    assert out == "" and error in err and err.count("\n") == 2
    assert not list(tmp_path.glob("*.html"))


def test_colours_and_names_are_the_profilers() -> None:
    profiler = pytest.importorskip("torch.profiler._memory_profiler")
    theirs = {("Unknown" if kind is None else kind.name): c for kind, c in profiler._CATEGORY_TO_COLORS.items()}
    assert {category.name: category.colour for category in CATEGORIES} == theirs


def test_every_term_has_a_category() -> None:
    beyond = {"unexplained", "cuda_context", "nccl", "kernel_scratch", "fragmentation", "pinned_rounding"}
    assert set(TERM_TITLES) - set(CATEGORY_OF) == beyond
    assert all(category_of(key).name == "Unknown" for key in beyond)


def _widths(svg: str) -> Iterator[tuple[float, float, float]]:
    """Left, width and bottom of every drawn piece."""
    for match in re.finditer(r'<rect x="([\d.]+)" y="([\d.]+)" width="([\d.]+)" height="([\d.]+)"[^>]*z-segment', svg):
        x, y, width, height = map(float, match.groups())
        yield x, width, y + height


def test_bars_are_as_long_as_their_bytes(report: Report) -> None:
    fitting = replace(report, estimates=(report.chosen,)).estimates
    pieces = [piece for piece in _widths(stages_svg(fitting, unit=Unit.GIB)) if piece[2] == 30 + 22]
    capacity = report.chosen.plan.cluster.gpu_capacity_bytes
    assert capacity is not None
    # The scale leaves 5 % beyond the card; the plot is 760 - 110 - 150 = 500 wide.
    total = sum(width for _, width, _ in pieces)
    assert total == pytest.approx(500 * report.chosen.runtime.device_expected_bytes / (1.05 * capacity), rel=0.01)


def test_what_is_far_too_long_is_cut(report: Report) -> None:
    capacity = report.chosen.plan.cluster.gpu_capacity_bytes
    assert capacity is not None
    huge = replace(
        report.chosen,
        peak_moment=Moment("backward", "", {"params": 100 * capacity}),
        runtime=replace(report.chosen.runtime, device_expected_bytes=101 * capacity, device_high_bytes=102 * capacity),
    )
    drawing = stages_svg([huge, report.chosen], unit=Unit.GIB)
    assert max(x + width for x, width, _ in _widths(drawing)) <= 760 - 150 + 0.5
    card = re.search(r'<line x1="([\d.]+)"[^>]*stroke-dasharray', drawing)
    assert card is not None and float(card[1]) == pytest.approx(110 + 500 / MOST_CARDS, abs=1)


def test_columns_stand_for_all_moments(report: Report) -> None:
    drawing = timeline_svg(report.chosen, unit=Unit.GIB)
    for moment in report.chosen.moments:
        assert f">{html.escape(moment.name or moment.phase)}</text>" in drawing
    assert drawing.count(">peak</text>") == 1


def test_the_host_is_drawn_against_its_ram(report: Report) -> None:
    drawing = host_svg(report.chosen, unit=Unit.GIB)
    assert "a node&#x27;s RAM: 1,024 GiB" in drawing
    assert f"{report.chosen.host.per_node_bytes / GIB:.2f} GiB" in drawing


# A real browser.

BROWSER = find_chromium()
needs_browser = pytest.mark.skipif(BROWSER is None, reason="no chromium, chromium-browser or google-chrome here")


@pytest.fixture(scope="module")
def pages(report: Report, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("pages")
    found = {"honest": report, "hostile": _hostile(report)}
    for name, value in found.items():
        (folder / f"{name}.html").write_text(report_page(value), encoding="utf-8")
    return {name: folder / f"{name}.html" for name in found}


@pytest.fixture(scope="module")
def browser() -> Iterator[Chromium]:
    assert BROWSER is not None
    with Chromium(BROWSER) as running:
        yield running


def _pixels(png: bytes) -> tuple[int, int, set[bytes]]:
    """Width, height and the colours of some pixels of an 8-bit PNG."""
    assert png.startswith(b"\x89PNG")
    width, height = int.from_bytes(png[16:20], "big"), int.from_bytes(png[20:24], "big")
    size, position, data = 4 if png[25] == 6 else 3, 8, b""
    while position < len(png):
        length, kind = int.from_bytes(png[position : position + 4], "big"), png[position + 4 : position + 8]
        data += png[position + 8 : position + 8 + length] if kind == b"IDAT" else b""
        position += 12 + length
    raw = zlib.decompress(data)
    row = width * size + 1
    # The first pixel of a row is as it is only where the row's filter does not look up or left.
    return width, height, {raw[y * row + 1 : y * row + 4] for y in range(height) if raw[y * row] in (0, 1)}


@needs_browser
@pytest.mark.slow
@pytest.mark.parametrize("name", ["honest", "hostile"])
@pytest.mark.parametrize("width", [1280, 420])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_in_a_browser(browser: Chromium, pages: dict[str, Path], name: str, width: int, scheme: str) -> None:
    browser.resize(width, 900)
    browser.scheme(scheme)
    browser.open(pages[name])
    shot_width, shot_height, colours = _pixels(browser.screenshot())
    assert browser.complaints() == []
    assert browser.requests() == [pages[name].as_uri()]
    # Nothing sticks out of the page: wide things scroll in their own box.
    assert browser.evaluate("document.documentElement.scrollWidth") <= width
    assert shot_width <= width and shot_height > 2000
    paper = b"\xff\xff\xff" if scheme == "light" else b"\x17\x18\x1a"
    assert paper in colours
    assert browser.evaluate("document.scripts.length + document.images.length") == 0
    # Text of pictures stays inside of them.
    outside = """[...document.querySelectorAll('svg[role=img]')].flatMap(svg => {
        const box = svg.getBoundingClientRect();
        return [...svg.querySelectorAll('text')].filter(text => {
            const own = text.getBoundingClientRect();
            return own.left < box.left - 1 || own.right > box.right + 1 || own.bottom > box.bottom + 1;
        }).map(text => text.textContent);
    })"""
    if name == "honest":
        assert browser.evaluate(outside) == []


@needs_browser
@pytest.mark.slow
def test_a_browser_names_every_picture(browser: Chromium, pages: dict[str, Path]) -> None:
    browser.resize(1280, 900)
    browser.open(pages["honest"])
    browser.call("Accessibility.enable")
    nodes = browser.call("Accessibility.getFullAXTree")["nodes"]
    roles = Counter(node.get("role", {}).get("value") for node in nodes if not node.get("ignored"))
    names = {
        node["name"]["value"]
        for node in nodes
        if node.get("role", {}).get("value") in ("image", "img", "SvgRoot") and node.get("name", {}).get("value")
    }
    assert any("Memory per GPU of every plan" in name for name in names)
    assert any("Host RAM" in name for name in names)
    assert roles["heading"] >= 9 and roles["table"] >= 5 and roles["main"] == 1 and roles["navigation"] == 1


@needs_browser
@pytest.mark.slow
def test_it_prints(browser: Chromium, pages: dict[str, Path]) -> None:
    browser.resize(1280, 900)
    browser.open(pages["honest"])
    pdf = browser.pdf()
    assert pdf.startswith(b"%PDF")
    assert 3 <= len(re.findall(rb"/Type\s*/Page\b", pdf)) <= 30
