"""Every command in the documents works as printed, every link leads somewhere, and the two READMEs are in step."""

from __future__ import annotations

import contextlib
import importlib.util
import io
import os
import re
import shlex
import shutil
import subprocess
import sys
import unicodedata
from importlib import import_module
from pathlib import Path
from types import ModuleType

import pytest
from docpages import DOCS, PAGES, ROOT, commands, fences, without_fences
from typer.main import get_command
from warm import needs

import zplan
from zplan.cli.app import VERBS, run

IN_ORDER = ("tutorial.md", "claims.md", "extending.md")
LAUNCHERS = ("pip ", "torchrun ", "srun ", "mpirun ", "python ", "#")
ENGLISH, CHINESE = ROOT / "README.md", ROOT / "README.zh-CN.md"
needs_bash = pytest.mark.skipif(shutil.which("bash") is None, reason="no bash")


@pytest.fixture(scope="module")
def generate() -> ModuleType:
    spec = importlib.util.spec_from_file_location("docs_generate_pages", DOCS / "generate.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


def read(path: Path) -> str:
    return path.read_text(encoding="utf-8")


# --- commands --------------------------------------------------------------------------------------------------------


@needs_bash
@pytest.mark.parametrize("page", [DOCS / name for name in IN_ORDER] + [CHINESE], ids=lambda p: p.name)
def test_a_page_s_commands_work_in_order_and_print_what_it_shows(generate: ModuleType, page: Path) -> None:
    """Out of date? ``python docs/generate.py``."""
    assert generate.with_blocks(read(page)) == read(page)


def test_the_table_of_terms_is_what_explain_says(generate: ModuleType) -> None:
    assert generate.with_table(read(DOCS / "model.md")) == read(DOCS / "model.md")


def _in_a_page(text: str) -> list[str]:
    """Commands of ``sh`` fences, of output blocks and between backticks, in the order of the page."""
    found: list[tuple[int, str]] = []
    for pattern in (r"^<!-- [a-z0-9 ]*of: (.+?) -->$", r"`(zplan [a-z][^`\n]*)`"):
        found += [(match.start(), match[1]) for match in re.finditer(pattern, text, re.MULTILINE)]
    for match in re.finditer(r"^```sh\n(.*?)^```$", text, re.MULTILINE | re.DOTALL):
        found += [(match.start(), line) for line in commands(match[0])]
    return [command for _, command in sorted(found, key=lambda item: item[0])]


ALL = sorted({(page.name, command) for page in PAGES for command in _in_a_page(read(page)) if command[:6] == "zplan "})


@pytest.mark.parametrize(("page", "command"), ALL, ids=lambda text: text[:70])
def test_every_command_has_a_verb_and_options_that_exist(page: str, command: str) -> None:
    """Names of options and verbs; what runs, and with what result, is for the tests above."""
    words = shlex.split(re.split(r" [>|] ", command)[0].replace("...", "").replace("…", ""))
    verb = words[1]
    assert verb in VERBS, command
    known = get_command(import_module(VERBS[verb]).app)
    inner = getattr(known, "commands", {})
    if inner and len(words) > 2:
        assert words[2] in inner, command
        known = inner[words[2]]
    options = {option for parameter in known.params for option in parameter.opts} | {"--help"}
    for word in words[2:]:
        if word.startswith("-") and len(word) > 1:
            assert word.partition("=")[0] in options, f"{page}: {command}: {word}"


def test_every_sh_block_holds_commands_that_are_known() -> None:
    for page in PAGES:
        if page.name in IN_ORDER:
            continue
        for command in commands(read(page)):
            known = command.startswith(("zplan ", "mkdir ", "ZPLAN_PRESETS=", *LAUNCHERS))
            assert known, f"{page.name}: {command}"


def test_the_dry_run_of_the_tutorial_is_the_one_that_was_recommended() -> None:
    text = read(DOCS / "tutorial.md")
    (verify,) = (command for command in commands(text) if command.startswith("zplan verify"))
    recommended = re.search(r"^  (zplan verify .*)$", text, re.MULTILINE)
    assert recommended is not None
    assert verify.startswith(f"{recommended[1]} --launch dryrun")


@pytest.mark.slow
def test_the_dry_run_of_the_tutorial_is_within_its_tolerance(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    needs("deepspeed")
    text = read(DOCS / "tutorial.md")
    (verify,) = (command for command in commands(text) if command.startswith("zplan verify"))
    (write,) = (command for command in commands(text) if command.startswith("zplan recommend") and "--write" in command)
    monkeypatch.chdir(tmp_path)
    assert run(shlex.split(write)[1:]) == 0  # the config that verify reads
    done = subprocess.run(
        [sys.executable, "-m", "zplan", *shlex.split(verify)[1:]],
        cwd=tmp_path,
        env=os.environ | {"ZPLAN_NO_CACHE": "1", "OMP_NUM_THREADS": "1"},
        capture_output=True,
        encoding="utf-8",
        timeout=500,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "measured" in done.stdout


# --- Python ----------------------------------------------------------------------------------------------------------


def test_the_python_page_runs_from_top_to_bottom(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    blocks = fences(read(DOCS / "python-api.md"), "python")
    assert len(blocks) >= 5
    scope: dict[str, object] = {"__name__": "page"}
    with contextlib.redirect_stdout(io.StringIO()) as out:
        for block in blocks:
            code = "\n" * (block.line - 1) + block.body
            exec(compile(code, str(DOCS / "python-api.md"), "exec"), scope)
    assert "GiB" in out.getvalue()


def test_the_python_page_names_all_that_is_public() -> None:
    text = read(DOCS / "python-api.md")
    assert [name for name in zplan.__all__ if f"`{name}`" not in text] == []


# --- the two READMEs -------------------------------------------------------------------------------------------------


def _readme_commands(text: str) -> list[str]:
    code = re.findall(r"`((?:zplan|python|--)[^`\n]*)`", re.sub(r"^```.*?^```$", "", text, flags=re.M | re.S))
    blocks = re.findall(r"^<!-- output of: (.+?) -->$", text, re.MULTILINE)
    return commands(text) + blocks + [word for word in code if word.startswith(("zplan", "python"))]


def test_the_chinese_readme_has_the_same_commands_in_the_same_order() -> None:
    assert _readme_commands(read(CHINESE)) == _readme_commands(read(ENGLISH))
    assert len(_readme_commands(read(CHINESE))) > 12


def test_the_chinese_readme_has_the_same_sections_and_links() -> None:
    chinese, english = without_fences(read(CHINESE)), without_fences(read(ENGLISH))
    assert len(re.findall(r"^## ", chinese, re.MULTILINE)) == len(re.findall(r"^## ", english, re.MULTILINE))
    assert chinese.count("\n| ") == english.count("\n| ")
    links = [link for link in re.findall(r"\]\(([^)]+)\)", chinese) if link != "README.md"]
    assert links == [link for link in re.findall(r"\]\(([^)]+)\)", english) if link != "README.zh-CN.md"]


def test_the_chinese_readme_has_the_same_numbers() -> None:
    def numbers(path: Path) -> list[str]:
        return re.findall(r"[0-9][0-9.,:]*", without_fences(read(path)).split("\n## ")[-2])

    assert sorted(n.rstrip(".,:") for n in numbers(CHINESE)) == sorted(n.rstrip(".,:") for n in numbers(ENGLISH))


# --- links and navigation --------------------------------------------------------------------------------------------


def _anchors(text: str) -> set[str]:
    """Ids of headings as Python-Markdown's toc extension makes them."""
    found: set[str] = set()
    for title in re.findall(r"^#+ (.+)$", without_fences(text), re.MULTILINE):
        plain = unicodedata.normalize("NFKD", title.replace("`", "")).encode("ascii", "ignore").decode()
        found.add(re.sub(r"[-\s]+", "-", re.sub(r"[^\w\s-]", "", plain).strip().lower()))
    return found


@pytest.mark.parametrize("page", PAGES, ids=lambda p: p.name)
def test_every_link_leads_somewhere(page: Path) -> None:
    for target in re.findall(r"\]\(([^)\s]+)\)", without_fences(read(page))):
        if target.startswith("https://"):
            continue
        name, _, anchor = target.partition("#")
        there = page.parent / name if name else page
        assert there.exists(), f"{page.name}: {target}"
        if page.parent == DOCS:
            assert there.parent == DOCS, f"{page.name}: {target} is outside of the site"
        if anchor:
            assert anchor in _anchors(read(there)), f"{page.name}: {target}"


def test_every_page_is_in_the_navigation() -> None:
    import yaml

    def pages(entries: object) -> list[str]:
        if isinstance(entries, str):
            return [entries]
        values = entries.values() if isinstance(entries, dict) else entries
        assert not isinstance(values, str)
        return [page for value in values for page in pages(value)]  # type: ignore[attr-defined]

    site = yaml.safe_load(read(ROOT / "mkdocs.yml"))
    assert sorted(pages(site["nav"])) == sorted(page.name for page in DOCS.glob("*.md")), "mkdocs.yml: nav"
    assert site["strict"] is True


@pytest.mark.slow
def test_the_site_builds(tmp_path: Path) -> None:
    pytest.importorskip("material", reason="pip install '.[docs]'")
    subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "--site-dir", str(tmp_path)],
        cwd=ROOT,
        check=True,
    )


# --- contributing ----------------------------------------------------------------------------------------------------


def test_what_contributing_names_exists() -> None:
    text = read(ROOT / "CONTRIBUTING.md") + read(DOCS / "extending.md")
    for name in re.findall(r"`((?:zplan|benchmarks|tests|presets|docs|\.ci)/[a-z0-9_./-]*)`", text):
        assert (ROOT / name).exists(), name
    for script in re.findall(r"(?:python|pytest|bash) ((?:benchmarks|tests|docs)/[\w./-]+)", text):
        assert (ROOT / script).exists(), script


@pytest.mark.parametrize(
    "script", sorted(set(re.findall(r"python (benchmarks/\w+\.py)", read(ROOT / "CONTRIBUTING.md")))), ids=lambda s: s
)
def test_the_flags_in_contributing_exist(script: str) -> None:
    source = read(ROOT / script)
    for line in re.findall(rf"{script}([^`\n]*)", read(ROOT / "CONTRIBUTING.md")):
        for flag in re.findall(r"(--[a-z-]+)", line):
            assert flag == "--help" or f'"{flag}"' in source, f"{script} {flag}"


def test_ci_runs_what_contributing_says() -> None:
    ci = read(ROOT / ".ci" / "run")
    block = fences(read(ROOT / "CONTRIBUTING.md"), "")[0].body
    for line in block.splitlines()[1:]:
        for command in re.split(r" && ", line.split("#")[0].strip()):
            assert command.replace("pip install -e", "pip install --quiet -e") in ci or command in ci, command
