"""Reading a config.json: what is said about it, and what anybody can put in its place."""

from __future__ import annotations

import json
import os
import re
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from zplan.errors import ZplanError
from zplan.inputs.hf import FAMILIES, read_config, read_config_file
from zplan.spec import ModelSpec

TINY: dict[str, Any] = {
    "model_type": "llama",
    "vocab_size": 100,
    "hidden_size": 16,
    "intermediate_size": 24,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
}


def read(**changes: Any) -> ModelSpec:
    return read_config({**TINY, **changes}, name="tiny", source="config.json")


def refused(call: Callable[[], object]) -> ZplanError:
    with pytest.raises(ZplanError) as caught:
        call()
    error = caught.value
    assert error.exit_code == 2
    assert "\n" not in error.message and not error.message.endswith(".")
    assert len(error.message) < 900
    assert "zplan " in error.hint
    return error


# --- what a spec says ---


def test_tiny_by_hand() -> None:
    # head 4: attention q 16*16 + k 8*16 + v 8*16 + o 16*16 = 768; mlp 3*16*24 = 1152; norms 32 -> 1952 per block
    # 2 * 1952 + embedding 1600 + head 1600 + norm 16 = 7120
    spec = read()
    assert spec.params == spec.shape_params == spec.active_params == 7120
    assert dict(spec.block_kinds[0].dims) == {"h": 16, "a": 4, "k": 2, "d": 4, "f": 24}
    assert (spec.num_layers, spec.layers, spec.trunk) == (2, (0, 0), "model.layers")
    assert (spec.family, spec.name, spec.source, spec.tied_embeddings) == ("llama", "tiny", "config.json", False)
    assert read(tie_word_embeddings=True).params == 7120 - 1600


def test_moe_dims() -> None:
    spec = read(
        model_type="deepseek_v3",
        num_key_value_heads=4,
        first_k_dense_replace=1,
        n_routed_experts=8,
        num_experts_per_tok=3,
        moe_intermediate_size=6,
        n_shared_experts=2,
        q_lora_rank=None,
        num_nextn_predict_layers=1,
    )
    dense, moe = spec.block_kinds
    latent = {"dq": 0, "dkv": 512, "dn": 128, "dr": 64, "dv": 128}
    assert dict(dense.dims) == {"h": 16, "a": 4, "k": 4, "d": 192, **latent, "f": 24}
    assert dict(moe.dims) == {"h": 16, "a": 4, "k": 4, "d": 192, **latent, "E": 8, "m": 6, "fs": 12, "K": 3}
    assert (dense.implementation, moe.implementation) == ("deepseek_v3:dense", "deepseek_v3:moe")
    assert (spec.layers, spec.ffn_size, spec.head_dim) == ((0, 1), 24, 192)
    assert spec.notes == ("the multi-token prediction layers are left out, as transformers leaves them out",)


IMPLEMENTATIONS = [
    ({"model_type": "gpt_neox"}, "gpt_neox"),
    ({"model_type": "gpt_neox", "hidden_act": "gelu_fast"}, "gpt_neox+act=gelu_fast"),
    ({"model_type": "gpt_neox", "hidden_act": "gelu_pytorch_tanh"}, "gpt_neox"),
    ({"model_type": "gpt_neox", "use_parallel_residual": False}, "gpt_neox:sequential"),
    ({"model_type": "gpt2"}, "gpt2"),
    ({"model_type": "gpt2", "attn_pdrop": 0.0}, "gpt2+dropout=resid_pdrop"),
    ({"model_type": "gpt2", "attn_pdrop": 0, "resid_pdrop": 0}, "gpt2+dropout=none"),
    ({"model_type": "opt", "activation_function": "gelu", "dropout": 0}, "opt+act=gelu+dropout=none"),
    ({"model_type": "opt", "do_layer_norm_before": False}, "opt:post_norm"),
    ({"model_type": "phi", "resid_pdrop": 0.1}, "phi+dropout=resid_pdrop"),
    ({"model_type": "llama", "hidden_act": "gelu"}, "llama"),
    ({"model_type": "llama", "hidden_act": "relu2"}, "llama+act=relu2"),
    ({"model_type": "mixtral"}, "mixtral"),
    ({"model_type": "qwen3_moe"}, "qwen3_moe:moe"),
    ({"model_type": "qwen2_moe", "num_experts": 0}, "qwen2_moe:dense"),
    ({"model_type": "falcon"}, "falcon"),
    ({"model_type": "falcon", "new_decoder_architecture": True, "num_kv_heads": 1}, "falcon:two_norms"),
    ({"model_type": "falcon", "parallel_attn": False}, "falcon:sequential"),
    ({"model_type": "falcon", "multi_query": False}, "falcon:multi_head"),
    ({"model_type": "falcon", "new_decoder_architecture": True, "num_ln_in_parallel_attn": 1}, "falcon:grouped"),
    ({"model_type": "gpt_bigcode", "multi_query": False}, "gpt_bigcode:mha"),
    ({"model_type": "smollm3", "num_hidden_layers": 2}, "smollm3"),
    ({"model_type": "stablelm", "use_parallel_residual": True}, "stablelm:parallel"),
]


@pytest.mark.parametrize(("config", "key"), IMPLEMENTATIONS)
def test_implementation_key(config: dict[str, Any], key: str) -> None:
    assert {kind.implementation for kind in read_config(config, name="m", source="m").block_kinds} == {key}


@pytest.mark.parametrize(
    ("config", "length"),
    [
        ({"max_position_embeddings": 4096}, 4096),
        # llama3 and longrope state the extended length
        (
            {
                "max_position_embeddings": 131072,
                "rope_scaling": {"rope_type": "llama3", "factor": 32.0, "original_max_position_embeddings": 8192},
            },
            131072,
        ),
        # Qwen2.5 with YaRN: 4 * 32768
        (
            {
                "max_position_embeddings": 32768,
                "rope_scaling": {"type": "yarn", "factor": 4.0, "original_max_position_embeddings": 32768},
            },
            131072,
        ),
        ({"max_position_embeddings": 4096, "rope_scaling": {"type": "yarn", "factor": 4.0}}, 4096),
        ({"max_position_embeddings": 4096, "rope_scaling": {"type": "linear", "factor": 4.0}}, 4096),
        ({"max_position_embeddings": 4096, "rope_scaling": {"type": "yarn", "factor": "x"}}, 4096),
        ({"max_position_embeddings": 4096, "rope_scaling": [1]}, 4096),
        ({"model_type": "bloom", "hidden_size": 16, "n_head": 4}, 2048),
        ({"model_type": "bloom", "hidden_size": 16, "n_head": 4, "seq_length": 4096}, 4096),
        ({"model_type": "mpt", "d_model": 16, "n_heads": 4, "max_seq_len": 8192}, 8192),
    ],
)
def test_max_seq_len(config: dict[str, Any], length: int) -> None:
    merged = config if "model_type" in config else {**TINY, **config}
    assert read_config(merged, name="m", source="m").max_seq_len == length


def test_softcap_and_windows_of_gemma() -> None:
    second = read(model_type="gemma2", num_hidden_layers=4)
    assert second.logit_softcap and [kind.sliding_window for kind in second.block_kinds] == [4096, None]
    assert second.layers == (0, 1, 0, 1)
    assert not read(model_type="gemma2", final_logit_softcapping=None).logit_softcap
    third = read(model_type="gemma3_text", num_hidden_layers=7)
    assert not third.logit_softcap and third.layers == (0, 0, 0, 0, 0, 1, 0)


def test_config_json_keeps_the_architecture_and_nothing_private() -> None:
    spec = read(
        _name_or_path="/home/somebody/secret",
        torch_dtype="bfloat16",
        auto_map={"AutoModel": "x.Y"},
        quantization_config={"quant_method": "fp8"},
        rope_theta=500000.0,
        architectures=["LlamaForCausalLM"],
    )
    assert spec.config_json == json.dumps({**TINY, "rope_theta": 500000.0}, sort_keys=True)
    assert spec.notes == ("the checkpoint is quantized; its parameters are counted unquantized",)


def test_only_the_family_is_imported() -> None:
    for name in [name for name in sys.modules if name.startswith("zplan.inputs.hf_families.")]:
        if name.rpartition(".")[2] in {"llama", "opt"}:
            del sys.modules[name]
    read()
    assert "zplan.inputs.hf_families.llama" in sys.modules
    assert "zplan.inputs.hf_families.opt" not in sys.modules


# --- model types ---


@pytest.mark.parametrize(
    ("model_type", "words"),
    [
        ("lama", "did you mean llama"),
        ("Llama", "did you mean llama"),
        ("qwen2_mo", "did you mean qwen2_moe"),
        ("bert", "not supported"),
        ("", "not supported"),
        (None, "missing"),
        (7, "must be a string"),
        (["llama"], "must be a string"),
        ({"a": 1}, "must be a string"),
    ],
)
def test_unknown_model_type(model_type: object, words: str) -> None:
    error = refused(lambda: read(model_type=model_type))
    assert words in error.message and "config.json" in error.message
    assert "--params" in error.hint


def test_unknown_model_type_says_what_else_can_be_done() -> None:
    error = refused(lambda: read(model_type="t5"))
    assert "zplan estimate --params 7B" in error.hint and "zplan presets ls models" in error.hint
    error = refused(lambda: read(model_type="baichuan", auto_map={"AutoModel": "modeling_baichuan.X"}))
    assert "custom code" in error.message


# --- hostile values ---

BAD_VALUES: list[tuple[dict[str, Any], str]] = [
    ({"hidden_size": 0}, "hidden_size"),
    ({"hidden_size": -16}, "hidden_size"),
    ({"hidden_size": "16"}, "hidden_size must be a whole number, got '16'"),
    ({"hidden_size": 16.0}, "hidden_size must be a whole number, got 16.0"),
    ({"hidden_size": True}, "hidden_size must be a whole number, got true"),
    ({"hidden_size": None}, "hidden_size must be a whole number, got null"),
    ({"hidden_size": [16]}, "hidden_size must be a whole number, got a list"),
    ({"hidden_size": {"a": 16}}, "hidden_size must be a whole number, got an object"),
    ({"hidden_size": float("nan")}, "hidden_size"),
    ({"hidden_size": float("inf")}, "hidden_size"),
    ({"hidden_size": 10**400}, "a number above 10^15"),
    ({"hidden_size": 18}, "hidden_size = 18 must be a multiple of num_attention_heads = 4"),
    ({"head_dim": 7}, "the head size 7 must be even"),
    (
        {"model_type": "deepseek_v3", "num_key_value_heads": 4, "qk_rope_head_dim": 7},
        "qk_rope_head_dim = 7 must be even",
    ),
    ({"num_key_value_heads": 3}, "num_attention_heads = 4 must be a multiple of num_key_value_heads = 3"),
    ({"num_key_value_heads": 8}, "must be a multiple"),
    ({"num_key_value_heads": 0}, "num_key_value_heads"),
    ({"num_hidden_layers": 10**30}, "num_hidden_layers must be between 1 and 10_000"),
    ({"num_hidden_layers": 10_001}, "num_hidden_layers"),
    ({"num_hidden_layers": 0}, "num_hidden_layers"),
    ({"vocab_size": 10**8}, "vocab_size must be between 1 and 10_000_000"),
    ({"vocab_size": 10**7, "hidden_size": 10**7, "intermediate_size": 10**7, "num_hidden_layers": 9}, "trillion"),
    ({"intermediate_size": -1}, "intermediate_size"),
    ({"head_dim": 0}, "head_dim"),
    ({"attention_bias": "yes"}, "attention_bias must be true or false, got 'yes'"),
    ({"attention_bias": 1}, "attention_bias must be true or false, got 1"),
    ({"tie_word_embeddings": None}, "tie_word_embeddings must be true or false, got null"),
    ({"max_position_embeddings": 0}, "max_position_embeddings"),
    ({"max_position_embeddings": 10**30}, "max_position_embeddings"),
    ({"pad_token_id": 100}, "pad_token_id = 100 lies outside of the vocabulary"),
    ({"hidden_act": 3}, "hidden_act"),
    ({"hidden_act": "\u001b[31m\n"}, "hidden_act"),
    ({"attention_dropout": "0.1"}, "attention_dropout must be a number"),
    ({"per_layer_config": [{}]}, "per_layer_config"),
    ({"is_encoder_decoder": True}, "is_encoder_decoder"),
    ({"extra": float("nan")}, "JSON"),
    ({"extra": object()}, "JSON"),
    ({"model_type": "gemma3"}, "text_config must be an object"),
    ({"model_type": "gemma3", "text_config": [1]}, "text_config must be an object"),
    ({"model_type": "internlm", "bias": "x"}, "bias must be true or false"),
    (
        {"model_type": "gemma2", "layer_types": ["full_attention"]},
        "layer_types must have one entry per layer (2), got 1",
    ),
    ({"model_type": "gemma2", "layer_types": ["x", []]}, "layer_types may hold"),
    ({"model_type": "gemma2", "layer_types": 3}, "layer_types must be a list"),
    ({"model_type": "gemma2", "final_logit_softcapping": "x"}, "final_logit_softcapping must be a number"),
    ({"model_type": "gemma3_text", "sliding_window_pattern": 0}, "sliding_window_pattern"),
    ({"model_type": "qwen2_moe", "decoder_sparse_step": 0}, "decoder_sparse_step"),
    ({"model_type": "qwen2_moe", "mlp_only_layers": [None]}, "mlp_only_layers must hold the numbers of layers"),
    ({"model_type": "qwen2_moe", "mlp_only_layers": [[]]}, "mlp_only_layers must hold the numbers of layers"),
    (
        {"model_type": "qwen2_moe", "num_experts_per_tok": 61},
        "num_experts_per_tok = 61 must not exceed num_experts = 60",
    ),
    ({"model_type": "mixtral", "num_local_experts": 0}, "num_local_experts"),
    ({"model_type": "mixtral", "num_local_experts": 8, "num_experts": 4}, "disagree"),
    ({"model_type": "deepseek_v2", "num_key_value_heads": 4}, "num_experts_per_tok must be a whole number, got null"),
    ({"model_type": "smollm3", "no_rope_layers": [1]}, "no_rope_layers must hold"),
    ({"model_type": "smollm3", "no_rope_layers": [1, {}]}, "no_rope_layers must hold"),
    ({"model_type": "gpt2", "n_embd": 64, "n_head": 4}, "n_embd = 64 and hidden_size = 16 disagree"),
    ({"model_type": "gpt2", "add_cross_attention": True}, "add_cross_attention"),
    ({"model_type": "mpt", "d_model": 16, "n_heads": 4, "no_bias": False}, "no_bias"),
    ({"model_type": "mpt", "d_model": 16, "n_heads": 4, "expansion_ratio": 3}, "expansion_ratio"),
    ({"model_type": "mpt", "d_model": 16, "n_heads": 4, "attn_config": {"qk_ln": True}}, "attn_config"),
    ({"model_type": "mpt", "d_model": 16, "n_heads": 4, "attn_config": 5}, "attn_config must be an object"),
    ({"model_type": "falcon", "new_decoder_architecture": True, "num_kv_heads": 3}, "key-value heads = 3"),
]


@pytest.mark.parametrize(("changes", "words"), BAD_VALUES)
def test_bad_value(changes: dict[str, Any], words: str) -> None:
    error = refused(lambda: read(**changes))
    assert error.message.startswith("config.json: ")
    assert words in error.message


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=5,
)
ALL_KEYS = sorted(
    {*TINY, "head_dim", "layer_types", "num_experts", "n_embd", "rope_scaling", "hidden_act", "pad_token_id"}
)


@settings(max_examples=300, deadline=None)
@given(model_type=st.sampled_from(sorted(FAMILIES)), junk=st.dictionaries(st.sampled_from(ALL_KEYS), JSON, max_size=4))
def test_any_junk_is_read_or_refused(model_type: str, junk: dict[str, Any]) -> None:
    try:
        spec = read_config({**TINY, "model_type": model_type, **junk}, name="junk", source="config.json")
    except ZplanError as error:
        assert "\n" not in error.message
    else:
        assert 0 < spec.active_params <= spec.params == spec.shape_params


def test_largest_allowed_stack_is_quick() -> None:
    start = time.process_time()
    spec = read(num_hidden_layers=10_000, model_type="gemma2")
    assert len(spec.block_kinds) == 2 and len(spec.layers) == 10_000
    assert time.process_time() - start < 1


# --- hostile files ---


def written(path: Path, content: bytes | str) -> Path:
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path


BAD_CONTENT: list[tuple[bytes, str]] = [
    (b"", "is empty"),
    (b"  \n", "is empty"),
    (b'{"model_type": "llama", "hidden', "is not valid JSON"),
    (b"model_type: llama", "is not valid JSON"),
    (b"<html>", "is not valid JSON"),
    (b'{"model_type": "llama"} trailing', "is not valid JSON"),
    (b'{"hidden_size": NaN}', "holds NaN"),
    (b'{"hidden_size": -Infinity}', "holds -Infinity"),
    (b'{"hidden_size": 1e999, "model_type": "llama"}', "hidden_size"),
    (b'{"model_type": "llama", "hidden_size": ' + b"9" * 5000 + b"}", "number with too many digits"),
    (b"\xff\xfe{\x00}\x00", "UTF-16"),
    (b'{"model_type": "ll\xe4ma"}', "is not UTF-8 text (byte 18)"),
    (b"\x00" * 100, "is not valid JSON"),
    (b"[" * 200_000, "is nested too deeply"),
    (b'{"a":' * 200_000, "is nested too deeply"),
    (b"[1, 2]", "holds a list"),
    (b'"llama"', "holds a string"),
    (b"null", "holds null"),
    (b"true", "holds true or false"),
    (b"3", "holds a number"),
    (b"{}", "model_type is missing"),
    (b'{"model_type": "llama", "hidden_size": 16, "hidden_size": 32}', "'hidden_size' twice"),
    (b'{"model_type": "llama", "rope_scaling": {"factor": 1, "factor": 2}}', "'factor' twice"),
]


@pytest.mark.parametrize(("content", "words"), BAD_CONTENT)
def test_bad_content(tmp_path: Path, content: bytes, words: str) -> None:
    path = written(tmp_path / "config.json", content)
    error = refused(lambda: read_config_file(path))
    assert error.message.startswith(f"{path}: ")
    assert words in error.message


def test_byte_order_mark_and_repeated_equal_keys_are_read(tmp_path: Path) -> None:
    text = json.dumps(TINY)[:-1] + ', "hidden_size": 16}'
    path = written(tmp_path / "config.json", b"\xef\xbb\xbf" + text.encode())
    assert read_config_file(path).params == 7120


def test_huge_file_is_refused_unread(tmp_path: Path) -> None:
    path = tmp_path / "config.json"
    with path.open("wb") as file:
        file.truncate(50_000_000_000)  # sparse
    start = time.process_time()
    assert "too large" in refused(lambda: read_config_file(path)).message
    assert time.process_time() - start < 1


def test_not_a_file(tmp_path: Path) -> None:
    assert "no such file" in refused(lambda: read_config_file(tmp_path / "none.json")).message
    assert "without a config.json" in refused(lambda: read_config_file(tmp_path)).message
    written(tmp_path / "params.json", "{}")
    assert "params.json" in refused(lambda: read_config_file(tmp_path)).message
    written(tmp_path / "adapter_config.json", "{}")
    error = refused(lambda: read_config_file(tmp_path))
    assert "adapter" in error.message and "--lora" in error.hint
    (tmp_path / "folder" / "config.json").mkdir(parents=True)
    assert "is a folder" in refused(lambda: read_config_file(tmp_path / "folder")).message
    assert "cannot be read" in refused(lambda: read_config_file("x" * 5000)).message
    assert refused(lambda: read_config_file("a\x00b")).message.startswith("a\\x00b: ")
    assert refused(lambda: read_config_file("a\nb")).message == "a\\nb: no such file"


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no named pipes here")
def test_pipe_does_not_block(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "config.json")
    assert "not a regular file" in refused(lambda: read_config_file(tmp_path)).message


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="root may read everything")
def test_unreadable(tmp_path: Path) -> None:
    path = written(tmp_path / "config.json", json.dumps(TINY))
    path.chmod(0)
    assert "cannot be read" in refused(lambda: read_config_file(path)).message


def test_permission_error_is_one_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = written(tmp_path / "config.json", json.dumps(TINY))

    def denied(*_: object, **__: object) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "open", denied)
    assert "cannot be read (Permission denied)" in refused(lambda: read_config_file(path)).message


@pytest.mark.parametrize(
    ("place", "given", "name"),
    [
        ("my-model/config.json", "my-model", "my-model"),
        ("my-model/config.json", "my-model/config.json", "my-model"),
        ("other.json", "other.json", "other"),
        ("models--org--name/snapshots/0123abcd/config.json", "models--org--name/snapshots/0123abcd", "org/name"),
    ],
)
def test_name_of_a_file(tmp_path: Path, place: str, given: str, name: str) -> None:
    (tmp_path / place).parent.mkdir(parents=True, exist_ok=True)
    written(tmp_path / place, json.dumps(TINY))
    spec = read_config_file(tmp_path / given)
    assert (spec.name, spec.source) == (name, str(tmp_path / given))


def test_messages_are_sentences_about_a_key() -> None:
    for changes, _ in BAD_VALUES:
        message = refused(lambda changes=changes: read(**changes)).message  # type: ignore[misc]
        assert re.fullmatch(r"config\.json: [ -~]+", message), message
