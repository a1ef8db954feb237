"""Parameter tensors against transformers' own model code: every name, every shape, in order."""

from __future__ import annotations

import json
import warnings
from collections.abc import Iterator
from dataclasses import MISSING, fields

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from zplan.errors import ZplanError
from zplan.inputs.hf import FAMILIES, REWRITTEN, _family, read_config
from zplan.inputs.hf_families.variation import ACTIVATIONS, ATTENTION_ONLY, DROPOUTS
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
    ("qwen3_moe", {**LLAMA, "moe_intermediate_size": 20}, {"num_local_experts": 9}),
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
    ("deepseek_v3", {k: v for k, v in DEEPSEEK.items() if k != "n_routed_experts"}, {"num_local_experts": 4}),
    ("deepseek_v3", DEEPSEEK, {"q_lora_rank": None, "attention_bias": True, "tie_word_embeddings": True}),
    ("deepseek_v3", DEEPSEEK, {"first_k_dense_replace": 9, "n_shared_experts": 2}),
    ("gpt2", GPT, {}),
    ("gpt2", {"vocab_size": 99, "hidden_size": 48, "num_attention_heads": 6, "num_hidden_layers": 1}, {}),
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


@pytest.mark.parametrize(("model_type", "base", "changes"), VARIANTS)
def test_config_as_transformers_saves_it(model_type: str, base: dict[str, object], changes: dict[str, object]) -> None:
    ours = read_config({"model_type": model_type, **base, **changes}, name="m", source="m")
    config = transformers.AutoConfig.for_model(**{"model_type": model_type, **base, **changes})
    saved = read_config(json.loads(config.to_json_string(use_diff=False)), name="m", source="m")
    short = read_config(json.loads(config.to_json_string(use_diff=True)), name="m", source="m")
    for theirs in (saved, short):
        assert (theirs.pre, theirs.block_kinds, theirs.layers, theirs.post) == (
            ours.pre,
            ours.block_kinds,
            ours.layers,
            ours.post,
        )
        assert (theirs.max_seq_len, theirs.active_params) == (ours.max_seq_len, ours.active_params)


@pytest.mark.parametrize("model_type", sorted(FAMILIES))
def test_missing_keys_are_transformers_defaults(model_type: str) -> None:
    config_class = type(transformers.AutoConfig.for_model(model_type))
    theirs = {
        field.name: field.default_factory() if field.default_factory is not MISSING else field.default
        for field in fields(config_class)
    }
    family = _family(model_type)
    extra = {"head_dim", "seq_length", "sliding_window_pattern", "layer_types", "pad_token_id"}
    for key, ours in family.DEFAULTS[model_type].items():
        if key in theirs:
            assert ours == theirs[key], key
        else:  # read by the model code or by __post_init__ without being a field of the config class
            assert key in extra, key
    act_key, act = ACTIVATIONS.get(model_type, (None, None))
    assert act_key is None or theirs[act_key] == act
    for key, rate in DROPOUTS.get(model_type, ATTENTION_ONLY).items():
        assert theirs[key] == rate, key
    renamed = {(old, new) for new, names in family.ALIASES.get(model_type, {}).items() for old in names}
    backward = {("n_embed", "hidden_size"), ("_sliding_window_pattern", "sliding_window_pattern")}
    assert renamed - backward <= set(config_class.attribute_map.items()) | {("num_local_experts", "num_experts")}


@pytest.mark.parametrize("model_type", sorted(set(FAMILIES) - {"deepseek_v2"}))
def test_config_with_nothing_but_its_type(model_type: str) -> None:
    check({"model_type": model_type})


@pytest.mark.parametrize("model_type", sorted(FAMILIES))
def test_padding_outside_of_the_vocabulary(model_type: str) -> None:
    first = next({**base, **changes} for name, base, changes in VARIANTS if name == model_type)
    config = {"model_type": model_type, **first, "pad_token_id": 300}
    try:
        built(json.dumps(config))
    except AssertionError:
        with pytest.raises(ZplanError, match="pad_token_id"):
            read_config(config, name="m", source="m")
    else:
        check(config)


def test_every_supported_type_has_variants() -> None:
    assert {model_type for model_type, _, _ in VARIANTS} == set(FAMILIES)


SLIDING = [
    ("mistral", {}),
    ("mistral", {"sliding_window": None}),
    ("mixtral", {"sliding_window": 16}),
    ("phi3", {"sliding_window": 16}),
    ("starcoder2", {"sliding_window": 16}),
    ("qwen2", {"use_sliding_window": True, "max_window_layers": 3}),
    ("qwen2", {"sliding_window": 16, "max_window_layers": 3}),
    ("qwen3", {"use_sliding_window": True, "sliding_window": 16, "max_window_layers": 0}),
    ("qwen2_moe", {"use_sliding_window": True, "sliding_window": 16, "max_window_layers": 4, "num_experts": 2}),
    ("qwen3_moe", {"use_sliding_window": True, "sliding_window": 16, "num_experts": 8}),
    ("gemma2", {}),
    ("gemma2", {"layer_types": ["full_attention"] * 6 + ["sliding_attention"]}),
    ("gemma3_text", {}),
    ("gemma3_text", {"sliding_window": 512, "sliding_window_pattern": 3}),
    ("gemma3_text", {"sliding_window": 512, "use_bidirectional_attention": True}),
    ("cohere2", {"sliding_window": 16}),
    ("smollm3", {"use_sliding_window": True, "sliding_window": 16}),
    ("smollm3", {"sliding_window": 16}),
    ("llama", {}),
    ("gpt2", {"n_layer": 7, "n_embd": 48, "n_head": 6}),
]


@pytest.mark.parametrize(("model_type", "changes"), SLIDING)
def test_windows_are_those_of_the_modules(model_type: str, changes: dict[str, object]) -> None:
    per_token = {"num_experts_per_tok": 2} if "num_experts" in changes else {}
    base = {} if model_type == "gpt2" else {**LLAMA, "num_hidden_layers": 7, **per_token}
    spec = check({"model_type": model_type, **base, **changes})
    assert spec.config_json is not None
    config = transformers.AutoConfig.for_model(**json.loads(spec.config_json))
    with torch.device("meta"):
        model = transformers.AutoModelForCausalLM.from_config(config)
    theirs = []
    for block in model.get_submodule(spec.trunk):
        attention = getattr(block, "self_attn", None)
        # families without layer types read the window from the config when attention runs
        anywhere = None if getattr(config, "layer_types", None) else getattr(config, "sliding_window", None)
        theirs.append(getattr(attention, "sliding_window", anywhere) or None)
    assert [spec.block_kinds[kind].sliding_window for kind in spec.layers] == theirs


# Published sizes, as the papers and model cards round them.
PUBLISHED = [
    (
        {"model_type": "llama", "vocab_size": 128256, "intermediate_size": 14336, "num_key_value_heads": 8},
        8_030_261_248,
    ),
    ({"model_type": "gpt2"}, 124_439_808),
    ({"model_type": "gpt2", "n_embd": 1600, "n_layer": 48, "n_head": 25}, 1_557_611_200),
    ({"model_type": "mixtral"}, 46_702_792_704),
    ({"model_type": "deepseek_v3"}, 671_026_404_352),
    ({"model_type": "gpt_neox", "vocab_size": 50432}, 20_554_567_680),
    ({"model_type": "gptj"}, 6_050_882_784),
    ({"model_type": "falcon"}, 6_921_720_704),
]


@pytest.mark.parametrize(("config", "params"), PUBLISHED)
def test_published_sizes(config: dict[str, object], params: int) -> None:
    assert check(config).params == params


def test_active_params_of_mixtral_by_hand() -> None:
    # 32 layers, 8 experts of 3 * 4096 * 14336 = 176_160_768, 2 of them used: 6 idle ones per layer
    # 46_702_792_704 - 32 * 6 * 176_160_768 = 12_879_925_248
    spec = read_config({"model_type": "mixtral"}, name="mixtral", source="-")
    assert (spec.active_params, spec.num_experts, spec.experts_per_token) == (12_879_925_248, 8, 2)


def test_rewritten_types_build_the_same_tensors() -> None:
    text = {key: value for key, value in LLAMA.items() if key != "num_hidden_layers"} | {"num_hidden_layers": 3}
    spec = check({"model_type": "gemma3", "text_config": text, "vision_config": {"hidden_size": 9}})
    assert spec.family == "gemma3_text" and "image encoder" in spec.notes[0]
    internlm = {key: value for key, value in LLAMA.items() if key != "num_key_value_heads"}
    spec = check({"model_type": "internlm", "bias": True, "auto_map": {"AutoModel": "x.Y"}, **internlm})
    assert spec.family == "llama" and any(w.name == "self_attn.o_proj.bias" for w in spec.block_kinds[0].weights)
    assert set(REWRITTEN) == {"gemma3", "internlm"}


MULTIPLES = st.integers(1, 6)


@settings(max_examples=40, deadline=None)
@given(
    model_type=st.sampled_from(
        [
            "llama",
            "mistral",
            "mixtral",
            "qwen2",
            "qwen3",
            "gemma2",
            "gemma3_text",
            "phi3",
            "olmo2",
            "glm4",
            "starcoder2",
        ]
    ),
    kv_heads=MULTIPLES,
    groups=MULTIPLES,
    head_dim=st.integers(1, 9).map(lambda half: 2 * half),
    width=st.integers(1, 90),
    vocab=st.integers(3, 500),
    layers=st.integers(1, 5),
    tied=st.booleans(),
)
def test_any_dimensions(
    model_type: str, kv_heads: int, groups: int, head_dim: int, width: int, vocab: int, layers: int, tied: bool
) -> None:
    heads = kv_heads * groups
    check(
        {
            "model_type": model_type,
            "hidden_size": heads * head_dim,
            "num_attention_heads": heads,
            "num_key_value_heads": kv_heads,
            "head_dim": head_dim,
            "intermediate_size": width,
            "vocab_size": vocab,
            "num_hidden_layers": layers,
            "tie_word_embeddings": tied,
            **dict.fromkeys(("pad_token_id", "bos_token_id", "eos_token_id"), 0),
        }
    )


@settings(max_examples=30, deadline=None)
@given(
    model_type=st.sampled_from(["qwen2_moe", "qwen3_moe", "deepseek_v3"]),
    experts=st.integers(1, 7),
    per_token=st.integers(1, 7),
    width=st.integers(1, 30),
    layers=st.integers(1, 7),
    step=st.integers(1, 4),
    dense=st.lists(st.integers(0, 8), max_size=4),
    first=st.integers(0, 8),
)
def test_any_mixture_of_experts(
    model_type: str,
    experts: int,
    per_token: int,
    width: int,
    layers: int,
    step: int,
    dense: list[int],
    first: int,
) -> None:
    base = (
        DEEPSEEK | {"n_routed_experts": experts} if model_type == "deepseek_v3" else QWEN_MOE | {"num_experts": experts}
    )
    spec = check(
        {
            **base,
            "model_type": model_type,
            "num_experts_per_tok": min(per_token, experts),
            "moe_intermediate_size": width,
            "num_hidden_layers": layers,
            "decoder_sparse_step": step,
            "mlp_only_layers": dense,
            "first_k_dense_replace": first,
        }
    )
    assert spec.active_params <= spec.params
    routed = {kind for kind, block in enumerate(spec.block_kinds) if block.implementation.endswith(":moe")}
    idle = 3 * LLAMA["hidden_size"] * width * (experts - min(per_token, experts))
    assert spec.params - spec.active_params == idle * sum(kind in routed for kind in spec.layers)
