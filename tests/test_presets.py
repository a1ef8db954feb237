"""Presets: every file holds what it says, names find their file, and a broken file of the user's says what is wrong."""

from __future__ import annotations

import dataclasses
import datetime
import os
import re
import subprocess
import sys
import warnings
from difflib import get_close_matches
from pathlib import Path
from typing import Any

import pytest
import yaml

from zplan.errors import ZplanError
from zplan.inputs import presets
from zplan.inputs.presetfile import ModelFile, build, checked, read_document
from zplan.spec import GpuSpec, NodeSpec
from zplan.units import GIB

ROOT = Path(__file__).resolve().parents[1] / "presets"
SPECS: dict[str, type[Any]] = {"models": ModelFile, "gpus": GpuSpec, "nodes": NodeSpec}
FILES = sorted(ROOT.glob("*/*.yaml"))
MODELS = sorted(path.stem for path in (ROOT / "models").glob("*.yaml"))
GPUS = sorted(path.stem for path in (ROOT / "gpus").glob("*.yaml"))
NODES = sorted(path.stem for path in (ROOT / "nodes").glob("*.yaml"))
LOADERS = {"models": presets.load_model, "gpus": presets.load_gpu, "nodes": presets.load_node}


@pytest.fixture(autouse=True)
def only_built_in(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("ZPLAN_PRESETS", raising=False)


def ids(paths: list[Path]) -> list[str]:
    return [f"{path.parent.name}/{path.stem}" for path in paths]


# Every built-in file


def test_there_are_enough() -> None:
    assert len(MODELS) >= 45
    assert len(GPUS) >= 30
    assert len(NODES) >= 12
    assert (presets.list_models(), presets.list_gpus(), presets.list_nodes()) == (
        tuple(MODELS),
        tuple(GPUS),
        tuple(NODES),
    )


@pytest.mark.parametrize("path", FILES, ids=ids(FILES))
def test_file_passes_the_strict_check(path: Path) -> None:
    document = read_document(path)
    kind = SPECS[path.parent.name]
    # Built-in files are built without the check at run time, so both ways have to give the same.
    assert checked(kind, document, path) == build(kind, document)
    assert re.fullmatch(r"[a-z0-9][a-z0-9.-]*", path.stem)
    assert document["title"].strip()
    assert document["source"].startswith("https://")
    assert datetime.date.fromisoformat(document["checked"]) >= datetime.date(2026, 1, 1)
    if path.parent.name == "gpus":
        assert document["memory_source"].strip()


@pytest.mark.parametrize("folder", SPECS)
def test_names_and_aliases_are_unique(folder: str) -> None:
    kind = presets.KINDS[folder]
    seen: dict[str, str] = {}
    for path in sorted((ROOT / folder).glob("*.yaml")):
        for word in [path.stem, *yaml.safe_load(path.read_text())["aliases"]]:
            key = presets.normalise(kind, word)
            assert key not in seen, f"{word} means {seen.get(key)} and {path.stem}"
            seen[key] = path.stem


@pytest.mark.parametrize("path", FILES, ids=ids(FILES))
def test_fast_scan_for_aliases_reads_what_yaml_reads(path: Path) -> None:
    kind = presets.KINDS[path.parent.name]
    said = tuple(presets.normalise(kind, word) for word in yaml.safe_load(path.read_text())["aliases"])
    assert presets._aliases(kind, path, built_in=True) == said


def meta_params(config: dict[str, Any]) -> int:
    import torch
    import transformers

    fields = dict(config)
    settings = transformers.AutoConfig.for_model(fields.pop("model_type"), **fields)
    with torch.device("meta"):
        model = transformers.AutoModelForCausalLM.from_config(settings)
    return sum(p.numel() for p in model.parameters())


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", MODELS)
def test_params_are_those_of_transformers(name: str) -> None:
    document = yaml.safe_load((ROOT / "models" / f"{name}.yaml").read_text())
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert meta_params(document["config"]) == document["params"]


@pytest.mark.parametrize("name", MODELS)
def test_model_loads_with_the_same_params(name: str) -> None:
    spec = presets.load_model(name)
    said = yaml.safe_load((ROOT / "models" / f"{name}.yaml").read_text())
    assert spec.params == spec.shape_params == said["params"]
    assert (spec.name, spec.source) == (name, f"presets/models/{name}.yaml")


# Published parameter counts (model cards, safetensors headers, papers), to catch a config that is wrong but consistent.
PUBLISHED = {
    "gpt2": 124_439_808,
    "gpt2-xl": 1_557_611_200,
    "llama-2-7b": 6_738_415_616,
    "llama-2-70b": 68_976_648_192,
    "llama-3.1-8b": 8_030_261_248,
    "llama-3.2-1b": 1_235_814_400,
    "mistral-7b-v0.1": 7_241_732_096,
    "mixtral-8x7b": 46_702_792_704,
    "qwen2.5-7b": 7_615_616_512,
    "qwen3-30b-a3b": 30_532_122_624,
    "gemma-2-9b": 9_241_705_984,
    "phi-2": 2_779_683_840,
    "pythia-1.4b": 1_414_647_808,
    "bloom": 176_247_271_424,
    "deepseek-v2-lite": 15_706_484_224,
    "smollm2-135m": 134_515_008,
}


@pytest.mark.parametrize(("name", "params"), PUBLISHED.items())
def test_params_are_the_published_ones(name: str, params: int) -> None:
    assert presets.load_model(name).params == params


@pytest.mark.parametrize("name", GPUS)
def test_card_is_plausible(name: str) -> None:
    card = presets.load_gpu(name)
    # At most the label in GiB, and at least 0.85 of it: GB for GiB, ECC and the driver take the rest.
    assert 0.85 * card.label_gib * GIB <= card.memory_bytes <= card.label_gib * GIB
    assert card.flops_32bit < card.flops_16bit
    assert 1e11 < card.memory_bandwidth < 1e13
    assert name.endswith(f"-{card.label_gib}g")
    generation = {3: 15.754e9, 4: 31.508e9, 5: 63.015e9, 6: 121e9}
    # PCIe x16 per direction: 8, 16, 32 GT/s x 16 lanes x 128/130 / 8 bits, e.g. 16e9 x 16 x 128/130 / 8 = 31.508e9
    assert (card.link == "pcie") == (card.link_bandwidth == generation[card.pcie_gen])


@pytest.mark.parametrize("name", NODES)
def test_machine_has_a_known_card(name: str) -> None:
    machine = presets.load_node(name)
    card = presets.load_gpu(machine.gpu)
    assert card.name == machine.gpu
    assert machine.intra_bandwidth == card.link_bandwidth


@pytest.mark.parametrize(
    ("name", "lacks"),
    [
        ("v100-32g", {"bf16", "tf32", "fp8"}),
        ("t4-16g", {"bf16", "tf32", "fp8"}),
        ("a100-80g", {"fp8"}),
        ("h100", set()),
    ],
)
def test_number_formats(name: str, lacks: set[str]) -> None:
    assert set(presets.load_gpu(name).lacks) == lacks


# Names


@pytest.mark.parametrize(
    ("folder", "asked", "name"),
    [
        ("models", "meta-llama/Llama-3.1-8B", "llama-3.1-8b"),
        ("models", "meta-llama/Llama-2-13b-hf", "llama-2-13b"),
        ("models", "Llama-2-7B-HF", "llama-2-7b"),
        ("models", "meta-llama/Meta-Llama-3.1-70B-Instruct", "llama-3.1-70b"),
        ("models", "microsoft/phi-1_5", "phi-1.5"),
        ("models", "Qwen/Qwen2.5-7B", "qwen2.5-7b"),
        ("models", "openai-community/gpt2", "gpt2"),
        ("gpus", "h100", "h100-80g"),
        ("gpus", "A100-80GB", "a100-80g"),
        ("gpus", "NVIDIA GeForce RTX 4090", "rtx-4090-24g"),
        ("gpus", "4090", "rtx-4090-24g"),
        ("gpus", "rtx4090", "rtx-4090-24g"),
        ("gpus", "AMD Instinct MI300X", "mi300x-192g"),
        ("nodes", "p5.48xlarge", "aws-p5.48xlarge"),
        ("nodes", "DGX H100", "dgx-h100"),
    ],
)
def test_spellings(folder: str, asked: str, name: str) -> None:
    assert LOADERS[folder](asked).name == name


def test_every_source_of_the_hub_finds_its_preset() -> None:
    """A hub id of any preset's own page is a name of that preset, or of no other."""
    for name in MODELS:
        hub = yaml.safe_load((ROOT / "models" / f"{name}.yaml").read_text())["source"].removeprefix(
            "https://huggingface.co/"
        )
        found = presets.find(presets.MODELS, hub)
        assert found is None or found.name == name


@pytest.mark.parametrize(
    ("folder", "asked", "guess"),
    [
        ("models", "lama-3.1-8b", "--model llama-3.1-8b"),
        ("gpus", "a100-81g", "--gpu a100-80g"),
        ("nodes", "dgx-h10", "--node dgx-h100"),
    ],
)
def test_unknown_name_gets_a_guess_and_a_command(folder: str, asked: str, guess: str) -> None:
    with pytest.raises(ZplanError, match=re.escape(f"preset is called '{asked}'")) as caught:
        LOADERS[folder](asked)
    assert guess in caught.value.hint
    assert f"zplan presets ls {folder}" in caught.value.hint
    # several aliases of one preset are one guess
    words = re.search(r"--\w+ (.*)\?", caught.value.hint)
    assert words
    guesses = words[1].split(" or ")
    assert len(guesses) == len(set(guesses))


def test_nonsense_gets_no_guess() -> None:
    with pytest.raises(ZplanError) as caught:
        presets.load_gpu("../../../etc/passwd")
    assert "did you mean" not in caught.value.hint
    assert get_close_matches("etc-passwd", GPUS) == []


def test_is_model_preset() -> None:
    assert presets.is_model_preset("meta-llama/Llama-3.1-8B")
    assert not presets.is_model_preset("./config.json")
    assert not presets.is_model_preset("")


def test_show_tells_everything() -> None:
    found, document = presets.show(presets.GPUS, "h100")
    assert found.source == "presets/gpus/h100-80g.yaml"
    assert "h100" in document["aliases"]
    assert document["memory_source"]


# A user's own presets

CARD = {
    "title": "A card of mine",
    "vendor": "nobody",
    "memory_bytes": 10 * GIB,
    "label_gib": 10,
    "flops_16bit": 1e14,
    "flops_32bit": 1e13,
    "memory_bandwidth": 1e12,
    "link": "pcie",
    "link_bandwidth": 1e10,
    "pcie_gen": 4,
}


def put(folder: Path, name: str, document: object) -> Path:
    path = folder / f"{name}.yaml"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(document if isinstance(document, str) else yaml.safe_dump(document))
    return path


@pytest.fixture
def mine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "gpus").mkdir()
    monkeypatch.setenv("ZPLAN_PRESETS", str(tmp_path))
    return tmp_path


def test_own_card_is_listed_found_and_wins(mine: Path) -> None:
    put(mine / "gpus", "mycard-10g", CARD | {"aliases": ["H100"]})
    put(mine / "gpus", "a100-80g", CARD | {"lacks": ["bf16"], "price_per_hour": 1.5, "flops_16bit": 1})
    assert {"mycard-10g", "a100-80g", "v100-16g"} <= set(presets.list_gpus())
    assert presets.list_gpus().count("a100-80g") == 1
    assert presets.load_gpu("h100").title == "A card of mine"
    card = presets.load_gpu("a100-80g")
    assert (card.lacks, card.price_per_hour, card.flops_16bit) == (("bf16",), 1.5, 1.0)


def test_numbers_as_people_write_them(mine: Path) -> None:
    text = yaml.safe_dump(CARD).replace("100000000000000.0", "100e12")
    assert yaml.safe_load(text)["flops_16bit"] == "100e12"  # YAML 1.1 takes it for a word
    put(mine / "gpus", "mycard", text)
    assert presets.load_gpu("mycard").flops_16bit == 1e14


def test_first_of_several_folders_wins(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    put(tmp_path / "one" / "gpus", "mycard", CARD | {"title": "one"})
    put(tmp_path / "two" / "gpus", "mycard", CARD | {"title": "two"})
    put(tmp_path / "two" / "gpus", "other", CARD)
    monkeypatch.setenv("ZPLAN_PRESETS", os.pathsep.join([str(tmp_path / "one"), "", str(tmp_path / "two")]))
    assert presets.load_gpu("mycard").title == "one"
    assert "other" in presets.list_gpus()


def test_own_model_and_machine(mine: Path) -> None:
    config = yaml.safe_load((ROOT / "models" / "smollm2-135m.yaml").read_text())["config"]
    path = put(mine / "models", "tiny", {"title": "Tiny", "config": config | {"num_hidden_layers": 2}})
    spec = presets.load_model("me/Tiny")
    # Embedding 49152 x 576 = 28_311_552 (tied). A layer: q and o 576 x 576, k and v 576 x 192, MLP 3 x 576 x 1536, two
    # norms = 2 x 331_776 + 2 x 110_592 + 2_654_208 + 1_152 = 3_540_096. Final norm 576.
    assert spec.params == 28_311_552 + 2 * 3_540_096 + 576
    assert (spec.name, spec.source) == ("tiny", str(path))
    machine = yaml.safe_load((ROOT / "nodes" / "dgx-h100.yaml").read_text())
    put(mine / "nodes", "box", machine | {"name": "box", "gpu": "nonesuch", "aliases": []})
    with pytest.raises(ZplanError, match=r"box\.yaml: gpu: no card preset is called 'nonesuch'"):
        presets.load_node("box")


def test_own_model_that_says_wrong_params(mine: Path) -> None:
    config = yaml.safe_load((ROOT / "models" / "smollm2-135m.yaml").read_text())["config"]
    put(mine / "models", "tiny", {"title": "Tiny", "params": 1, "config": config})
    with pytest.raises(ZplanError, match=r"tiny\.yaml: params: 1, but the tensors of config add up to 134515008"):
        presets.load_model("tiny")


BROKEN: list[tuple[object, str]] = [
    (CARD | {"memry_bytes": 1}, "'memry_bytes': unknown key, did you mean memory_bytes?"),
    (CARD | {"colour": 1}, "'colour': unknown key (known: name, title"),
    ({key: value for key, value in CARD.items() if key != "pcie_gen"}, "pcie_gen: missing"),
    (CARD | {"memory_bytes": "80GiB"}, "memory_bytes: should be a valid integer, not '80GiB'"),
    (CARD | {"memory_bytes": 1.5}, "memory_bytes: should be a valid integer"),
    (CARD | {"memory_bytes": True}, "memory_bytes: should be a valid integer"),
    (CARD | {"memory_bytes": 0}, "memory_bytes: must be a positive finite number, not 0"),
    (CARD | {"flops_16bit": -1.0}, "flops_16bit: must be a positive finite number"),
    (CARD | {"flops_16bit": float("nan")}, "flops_16bit: must be a positive finite number"),
    (CARD | {"flops_16bit": float("inf")}, "flops_16bit: must be a positive finite number"),
    (CARD | {"flops_16bit": [1.0]}, "flops_16bit: should be a valid number"),
    (CARD | {"title": 5}, "title: should be a valid string"),
    (CARD | {"lacks": ["bf17"]}, "lacks: 'bf17' is not one of bf16"),
    (CARD | {"link": "magic"}, "link: 'magic' is not one of nvlink, pcie"),
    (CARD | {"pcie_gen": 99}, "pcie_gen: '99' is not one of 2, 3"),
    (CARD | {"lacks": "bf16"}, "lacks: should be a valid tuple"),
    (CARD | {"name": "other"}, "name: 'other' is not the file's name, 'mycard'"),
    (CARD | {"aliases": "abc"}, "aliases: should be a"),
    (CARD | {"aliases": [1]}, "aliases"),
    ("title: [", "is not valid YAML"),
    ("checked: 2026-99-99", "is not valid YAML"),
    ("!!python/object/apply:os.system [echo]", "is not valid YAML"),
    ("[" * 100_000, "is not valid YAML"),
    ("a: &a [x, x]\nb: &b [*a, *a]\nc: [*b, *b]", "repeats values with YAML anchors"),
    ("- a\n- b", "holds no mapping"),
    ("", "holds no mapping"),
    ("1: 2", "holds no mapping"),
    ("x" * 1_000_001, "too many for a preset"),
]


@pytest.mark.parametrize(("document", "problem"), BROKEN, ids=[problem[:40] for _, problem in BROKEN])
def test_broken_file_says_file_and_key(mine: Path, document: object, problem: str) -> None:
    path = put(mine / "gpus", "mycard", document)
    with pytest.raises(ZplanError) as caught:
        presets.load_gpu("mycard")
    assert caught.value.message.startswith(f"{path}: ")
    assert problem in caught.value.message
    assert "\n" not in caught.value.message
    assert "zplan presets show a100-80g" in caught.value.hint


def test_binary_and_folder_in_place_of_a_file(mine: Path) -> None:
    path = mine / "gpus" / "mycard.yaml"
    path.write_bytes(b"\xff\xfe\x00")
    with pytest.raises(ZplanError, match="is not UTF-8 text"):
        presets.load_gpu("mycard")
    path.unlink()
    path.mkdir()
    with pytest.raises(ZplanError, match="is not a regular file"):
        presets.load_gpu("mycard")


@pytest.mark.parametrize("added", ["title: another", "link: pcie", "notes: {a: 1, a: 2}"])
def test_a_key_given_twice(mine: Path, added: str) -> None:
    path = mine / "gpus" / "mycard.yaml"
    path.write_text(f"{yaml.safe_dump(CARD)}{added}\n", encoding="utf-8")
    with pytest.raises(ZplanError, match=r"the key '\w+' twice at line \d+"):
        presets.load_gpu("mycard")


def test_variable_that_names_no_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ZPLAN_PRESETS", str(tmp_path / "nowhere"))
    with pytest.raises(ZplanError, match=r"ZPLAN_PRESETS: .*nowhere is no folder"):
        presets.load_gpu("h100")
    monkeypatch.setenv("ZPLAN_PRESETS", str(tmp_path))
    with pytest.raises(ZplanError, match="has none of the folders models, gpus and nodes"):
        presets.list_models()


# What it costs


def test_built_in_presets_need_neither_pydantic_nor_every_file() -> None:
    code = """
import sys, builtins, pathlib
opened = []
real = pathlib.Path.open
pathlib.Path.open = lambda self, *a, **k: (opened.append(self.name), real(self, *a, **k))[1]
import zplan.inputs.presets as presets
light = {"yaml", "pydantic", "torch", "difflib"} & set(sys.modules)
presets.load_gpu("a100-80g")
presets.list_models()
print(sorted(light), opened, "pydantic" in sys.modules)
"""
    env = {key: value for key, value in os.environ.items() if key != "ZPLAN_PRESETS"}
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, env=env)
    assert out.stdout.strip() == "[] ['a100-80g.yaml'] False"


def test_specs_and_files_agree_on_fields() -> None:
    """A field added to a spec shows up in files, or has a default."""
    for folder, kind in SPECS.items():
        needed = {
            field.name
            for field in dataclasses.fields(kind)
            if field.default is dataclasses.MISSING and field.default_factory is dataclasses.MISSING
        }
        for path in (ROOT / folder).glob("*.yaml"):
            assert needed <= set(yaml.safe_load(path.read_text()))
