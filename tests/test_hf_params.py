"""Parameter tensors against transformers' own model code: every name, every shape, in order."""

from __future__ import annotations

import json
import warnings
from collections.abc import Iterator
from dataclasses import MISSING, fields

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from zplan.inputs.hf import FAMILIES, REWRITTEN, _family, read_config
from zplan.spec import ModelSpec

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")

LLAMA = {
    "vocab_size": 300,
    "hidden_size": 48,
    "intermediate_size": 80,
    "num_hidden_layers": 2,
    "num_attention_heads": 6,
    "num_key_value_heads": 2,
    "pad_token_id": 0,
    "bos_token_id": 1,
    "eos_token_id": 2,
}
GPT = {
    "vocab_size": 300,
    "n_embd": 48,
    "n_layer": 2,
    "n_head": 6,
    "n_positions": 40,
    "bos_token_id": 1,
    "eos_token_id": 2,
}
NEOX = {key: value for key, value in LLAMA.items() if key != "num_key_value_heads"}
FALCON = {key: value for key, value in NEOX.items() if key != "intermediate_size"}
OPT = {
    "vocab_size": 300,
    "hidden_size": 48,
    "ffn_dim": 80,
    "num_hidden_layers": 2,
    "num_attention_heads": 6,
    "max_position_embeddings": 32,
}
MPT = {"vocab_size": 300, "d_model": 48, "n_heads": 6, "n_layers": 2}
BLOOM = {"vocab_size": 300, "hidden_size": 48, "n_head": 6, "n_layer": 3}
QWEN_MOE = {**LLAMA, "num_hidden_layers": 5, "moe_intermediate_size": 20, "num_experts": 4, "num_experts_per_tok": 2}
DEEPSEEK = {
    **LLAMA,
    "num_hidden_layers": 3,
    "num_key_value_heads": 6,
    "moe_intermediate_size": 20,
    "n_routed_experts": 4,
    "num_experts_per_tok": 2,
    "first_k_dense_replace": 1,
    "n_group": 1,
    "topk_group": 1,
    "q_lora_rank": 24,
    "kv_lora_rank": 16,
    "qk_nope_head_dim": 10,
    "qk_rope_head_dim": 6,
    "v_head_dim": 12,
}

VARIANTS: list[tuple[str, dict[str, object], dict[str, object]]] = [
    ("llama", LLAMA, {}),
    ("llama", LLAMA, {"tie_word_embeddings": True, "attention_bias": True, "mlp_bias": True}),
    ("llama", LLAMA, {"num_key_value_heads": 1, "head_dim": 20}),
    ("llama", LLAMA, {"num_key_value_heads": None, "head_dim": None, "num_hidden_layers": 1}),
    ("granite", LLAMA, {}),
    ("granite", LLAMA, {"attention_bias": True, "mlp_bias": True, "tie_word_embeddings": True, "head_dim": 10}),
    ("mistral", LLAMA, {}),
    ("mistral", LLAMA, {"head_dim": 20, "sliding_window": None, "tie_word_embeddings": True}),
    ("mixtral", LLAMA, {}),
    ("mixtral", LLAMA, {"num_local_experts": 3, "num_experts_per_tok": 1, "head_dim": 4, "tie_word_embeddings": True}),
    ("mixtral", LLAMA, {"num_experts": 5}),
    ("qwen2", LLAMA, {}),
    ("qwen2", LLAMA, {"tie_word_embeddings": True, "head_dim": 12}),
    ("qwen2", LLAMA, {"num_hidden_layers": 4, "use_sliding_window": True, "sliding_window": 8, "max_window_layers": 2}),
    ("qwen3", LLAMA, {}),
    ("qwen3", LLAMA, {"tie_word_embeddings": True, "head_dim": 20, "attention_bias": True}),
    ("qwen2_moe", QWEN_MOE, {"shared_expert_intermediate_size": 28}),
    ("qwen2_moe", QWEN_MOE, {"qkv_bias": False, "tie_word_embeddings": True}),
    ("qwen2_moe", QWEN_MOE, {"decoder_sparse_step": 2, "mlp_only_layers": [3]}),
    ("qwen2_moe", QWEN_MOE, {"num_experts": 0}),
    ("qwen2_moe", QWEN_MOE, {"use_sliding_window": True, "sliding_window": 8, "max_window_layers": 3}),
    ("qwen3_moe", QWEN_MOE, {}),
    ("qwen3_moe", QWEN_MOE, {"head_dim": 20, "attention_bias": True, "mlp_only_layers": [0, 2]}),
    ("qwen3_moe", QWEN_MOE, {"decoder_sparse_step": 3, "tie_word_embeddings": True}),
    ("gemma", LLAMA, {}),
    ("gemma", LLAMA, {"head_dim": 10, "tie_word_embeddings": False, "attention_bias": True}),
    ("gemma2", LLAMA, {}),
    ("gemma2", LLAMA, {"head_dim": 12, "final_logit_softcapping": None, "attention_bias": True}),
    ("gemma3_text", LLAMA, {"num_hidden_layers": 7}),
    ("gemma3_text", LLAMA, {"head_dim": 12, "tie_word_embeddings": False, "sliding_window_pattern": 2}),
    ("phi", LLAMA, {}),
    ("phi", LLAMA, {"qk_layernorm": True, "tie_word_embeddings": True, "num_key_value_heads": None}),
    ("phi3", LLAMA, {}),
    ("phi3", LLAMA, {"tie_word_embeddings": True, "num_key_value_heads": None, "sliding_window": 8}),
    ("glm", LLAMA, {}),
    ("glm", LLAMA, {"attention_bias": False, "head_dim": 16, "tie_word_embeddings": True}),
    ("glm4", LLAMA, {}),
    ("glm4", LLAMA, {"attention_bias": False, "head_dim": 16, "tie_word_embeddings": True}),
    ("olmo", LLAMA, {}),
    ("olmo", LLAMA, {"attention_bias": True, "tie_word_embeddings": True}),
    ("olmo2", LLAMA, {}),
    ("olmo2", LLAMA, {"attention_bias": True, "tie_word_embeddings": True, "num_key_value_heads": None}),
    ("cohere", LLAMA, {}),
    ("cohere", LLAMA, {"use_qk_norm": True, "attention_bias": True, "tie_word_embeddings": False}),
    ("cohere2", LLAMA, {"num_hidden_layers": 5}),
    ("cohere2", LLAMA, {"attention_bias": True, "sliding_window_pattern": 2}),
    ("smollm3", LLAMA, {"num_hidden_layers": 5}),
    (
        "smollm3",
        LLAMA,
        {"attention_bias": True, "mlp_bias": True, "tie_word_embeddings": False, "no_rope_layers": [1, 0]},
    ),
    ("stablelm", LLAMA, {}),
    ("stablelm", LLAMA, {"use_qkv_bias": True, "qk_layernorm": True}),
    ("stablelm", LLAMA, {"use_parallel_residual": True, "tie_word_embeddings": True}),
    ("starcoder2", LLAMA, {}),
    ("starcoder2", LLAMA, {"use_bias": False, "tie_word_embeddings": False, "sliding_window": 8}),
    ("deepseek_v2", DEEPSEEK, {}),
    ("deepseek_v2", DEEPSEEK, {"q_lora_rank": None, "attention_bias": True, "mlp_bias": True}),
    ("deepseek_v2", DEEPSEEK, {"first_k_dense_replace": 0, "n_shared_experts": 1, "tie_word_embeddings": True}),
    ("deepseek_v3", DEEPSEEK, {}),
    ("deepseek_v3", DEEPSEEK, {"q_lora_rank": None, "attention_bias": True, "tie_word_embeddings": True}),
    ("deepseek_v3", DEEPSEEK, {"first_k_dense_replace": 9, "n_shared_experts": 2}),
    ("gpt2", GPT, {}),
    ("gpt2", GPT, {"n_inner": 100, "tie_word_embeddings": False}),
    ("gpt_bigcode", GPT, {}),
    ("gpt_bigcode", GPT, {"multi_query": False, "n_inner": 100, "tie_word_embeddings": False}),
    ("gptj", GPT, {"rotary_dim": 4}),
    ("gptj", GPT, {"rotary_dim": 4, "n_inner": 100, "tie_word_embeddings": True}),
    ("gpt_neox", NEOX, {}),
    ("gpt_neox", NEOX, {"attention_bias": False, "use_parallel_residual": False, "tie_word_embeddings": True}),
    ("opt", OPT, {}),
    ("opt", OPT, {"word_embed_proj_dim": 20, "do_layer_norm_before": False}),
    ("opt", OPT, {"enable_bias": False, "layer_norm_elementwise_affine": False, "tie_word_embeddings": False}),
    ("opt", OPT, {"word_embed_proj_dim": 20, "_remove_final_layer_norm": True, "tie_word_embeddings": False}),
    ("bloom", BLOOM, {}),
    ("bloom", BLOOM, {"tie_word_embeddings": False}),
    ("bloom", {"vocab_size": 300, "n_embed": 48, "num_attention_heads": 6, "num_hidden_layers": 3}, {}),
    ("falcon", FALCON, {}),
    ("falcon", FALCON, {"multi_query": False, "parallel_attn": False, "bias": True, "alibi": True}),
    ("falcon", FALCON, {"new_decoder_architecture": True, "num_kv_heads": 2, "bias": True}),
    ("falcon", FALCON, {"new_decoder_architecture": True, "num_kv_heads": 2, "num_ln_in_parallel_attn": 1}),
    ("falcon", FALCON, {"new_decoder_architecture": True, "parallel_attn": False, "ffn_hidden_size": 100}),
    ("falcon", FALCON, {"multi_query": False, "num_kv_heads": 2, "tie_word_embeddings": False}),
    ("falcon", FALCON, {"num_ln_in_parallel_attn": 2}),
    ("mpt", MPT, {}),
    ("mpt", MPT, {"tie_word_embeddings": False, "attn_config": {"alibi": True, "attn_type": "multihead_attention"}}),
]


def built(config_json: str) -> list[tuple[str, tuple[int, ...]]]:
    """Names and shapes of the parameters of transformers' model, without data."""
    config = transformers.AutoConfig.for_model(**json.loads(config_json))
    with torch.device("meta"):
        model = transformers.AutoModelForCausalLM.from_config(config)
    return [(name, tuple(parameter.shape)) for name, parameter in model.named_parameters()]


def listed(spec: ModelSpec) -> Iterator[tuple[str, tuple[int, ...]]]:
    """Names and shapes as the spec has them."""
    for weight in spec.pre:
        yield weight.name, weight.shape
    for index, kind in enumerate(spec.layers):
        for weight in spec.block_kinds[kind].weights:
            yield f"{spec.trunk}.{index}.{weight.name}", weight.shape
    for weight in spec.post:
        yield weight.name, weight.shape


def check(config: dict[str, object]) -> ModelSpec:
    spec = read_config(config, name="model", source="config.json")
    assert spec.config_json is not None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        theirs = built(spec.config_json)
    assert list(listed(spec)) == theirs
    total = 0
    for _, shape in theirs:
        numel = 1
        for size in shape:
            numel *= size
        total += numel
    assert spec.params == spec.shape_params == total
    return spec


@pytest.fixture(autouse=True)
def quiet() -> Iterator[None]:
    transformers.logging.set_verbosity_error()
    yield


@pytest.mark.parametrize(("model_type", "base", "changes"), VARIANTS)
def test_every_tensor(model_type: str, base: dict[str, object], changes: dict[str, object]) -> None:
    check({"model_type": model_type, **base, **changes})
