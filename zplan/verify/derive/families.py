"""Model configs at random dimensions, for every family that has activation tables."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from random import Random
from typing import Any

from zplan.memory.activations.table import LOG_SUM_EXP_STEP, MASK_ROW_STEP
from zplan.spec import Attention

Dims = dict[str, int]
Config = dict[str, Any]

TIED: Config = {"tie_word_embeddings": True}
UNTIED: Config = {"tie_word_embeddings": False}
EVERY = tuple(Attention)
"""For code with sliding windows."""
OWN = (Attention.EAGER,)
"""Code with an attention of its own (BLOOM, MPT)."""


@dataclass(frozen=True)
class Family:
    """How to make configs of one ``model_type``."""

    model_type: str
    config: Callable[[Mapping[str, int]], Config]
    """Config keys for a choice of dimensions."""
    draw: Callable[[Random], Dims]
    layers: int = 3
    look_at: tuple[int, ...] = (1,)
    """Layers to look at, one of each kind, neither first nor last."""
    variants: tuple[Config, ...] = (UNTIED, TIED)
    """Further config keys, for code that has switches; tied embeddings once."""
    attentions: tuple[Attention, ...] = (Attention.FLASH, Attention.MATH, Attention.EAGER)
    """Kernels whose memory differs; sdpa is one of them where the code has windows, since only those need a mask."""
    repeats_heads: tuple[Attention, ...] = (Attention.SDPA, Attention.MATH, Attention.EAGER)
    """Kernels for which grouped KV heads are repeated, so that equal head counts have tables of their own."""

    def same_code(self, variant: Config) -> bool:
        """Whether a variant runs the same code as the first one, but for a few small tensors (tied weights, biases)."""
        return set(variant) <= {"tie_word_embeddings", "attention_bias", "mlp_bias"}


PRIMES = (11, 13, 17, 19, 23, 29, 31, 37, 41, 43, 47, 53, 59, 61, 67, 71, 73, 79, 83, 89, 97, 101, 103, 107, 109, 113)


def symbols(dims: Mapping[str, int]) -> Dims:
    """Adds the symbols that follow from others: r and p are s rounded up as memory-efficient attention pads."""
    s = dims["s"]
    return {
        **dims,
        "r": -(-s // LOG_SUM_EXP_STEP) * LOG_SUM_EXP_STEP,
        "p": -(-s // MASK_ROW_STEP) * MASK_ROW_STEP,
    }


def drawn(random: Random) -> Dims:
    """Returns dimensions that have little in common; the head size is free of h / a."""
    k = random.choice((2, 3, 5))
    a = k * random.choice((2, 3, 4, 7))
    d = 8 * random.choice((1, 2, 3, 5, 7))
    return {
        "b": random.choice((2, 3, 5, 7)),
        "s": 8 * random.choice(PRIMES),
        "k": k,
        "a": a,
        "d": d,
        "e": d // 2 if random.random() < 0.5 else d // 4,
        "h": 8 * a * random.choice(PRIMES),
        "f": 8 * random.choice(PRIMES) * random.choice((3, 5, 7)),
        "V": 8 * random.choice(PRIMES) * random.choice(PRIMES) + 1,
        "E": 8 * random.choice((2, 3, 5, 7, 11)),
        "K": random.choice((2, 3, 5, 7)),
        "m": 8 * random.choice(PRIMES),
        "fs": 16 * random.choice(PRIMES),
        "dq": 8 * random.choice(PRIMES),
        "dkv": 8 * random.choice(PRIMES),
        "dn": 8 * random.choice((3, 5, 7, 11)),
        "dr": 8 * random.choice((2, 4, 6)),
        "R": random.choice((6, 10, 14, 22)),
        "dv": 8 * random.choice((1, 2, 4)),
    }


def whole(random: Random) -> Dims:
    """Returns dimensions where the head size is h / a."""
    dims = drawn(random)
    return {**dims, "h": dims["a"] * dims["d"]}


def single(random: Random) -> Dims:
    """Returns dimensions where the head size is h / a and every head has its own keys and values."""
    dims = whole(random)
    return {**dims, "k": dims["a"]}


def shared(random: Random) -> Dims:
    """Returns dimensions where the head size is h / a and all heads share one key and value."""
    return {**whole(random), "k": 1}


def binary(random: Random) -> Dims:
    """Returns the same with a power of two heads, for which ALiBi's slopes take one step less."""
    dims = drawn(random)
    dims["a"] = random.choice((2, 4, 8, 16, 32))
    return {**dims, "k": dims["a"], "h": dims["a"] * dims["d"]}


def _llama(d: Mapping[str, int]) -> Config:
    return {
        "hidden_size": d["h"],
        "intermediate_size": d["f"],
        "num_attention_heads": d["a"],
        "num_key_value_heads": d["k"],
        "head_dim": d["d"],
        "vocab_size": d["V"],
    }


def _whole(d: Mapping[str, int]) -> Config:
    return {key: value for key, value in _llama(d).items() if key != "head_dim"}


def _pad(d: Mapping[str, int]) -> Config:
    return {**_llama(d), "pad_token_id": 0}


def _partial(d: Mapping[str, int]) -> Config:
    return {"rope_parameters": {"rope_type": "default", "rope_theta": 1e4, "partial_rotary_factor": d["e"] / d["d"]}}


def _moe(d: Mapping[str, int], experts: str) -> Config:
    return {experts: d["E"], "num_experts_per_tok": d["K"]}


def _gpt2(d: Mapping[str, int]) -> Config:
    return {"n_embd": d["h"], "n_head": d["a"], "n_inner": d["f"], "vocab_size": d["V"], "n_layer": 3}


def _deepseek(d: Mapping[str, int]) -> Config:
    return {
        **{key: value for key, value in _llama(d).items() if key not in ("head_dim", "num_key_value_heads")},
        **_moe(d, "n_routed_experts"),
        "num_key_value_heads": d["a"],
        "moe_intermediate_size": d["m"],
        "n_shared_experts": 2,
        "first_k_dense_replace": 2,
        "q_lora_rank": d["dq"],
        "kv_lora_rank": d["dkv"],
        "qk_nope_head_dim": d["dn"],
        "qk_rope_head_dim": d["dr"],
        "v_head_dim": d["dv"],
    }


_NO_DROPOUT: Config = {"attn_pdrop": 0.0, "resid_pdrop": 0.0, "embd_pdrop": 0.0}

_ALL = (
    Family(
        "llama",
        _llama,
        drawn,
        variants=(UNTIED, TIED, {**UNTIED, "attention_bias": True}, {**UNTIED, "mlp_bias": True}),
    ),
    Family("mistral", lambda d: {**_llama(d), "sliding_window": None}, drawn, attentions=EVERY),
    Family("qwen2", _whole, whole, attentions=EVERY),
    Family("qwen3", _llama, drawn, attentions=EVERY),
    Family("gemma", _llama, drawn),
    Family("gemma2", lambda d: {**_llama(d), "sliding_window": 10_000_000}, drawn, attentions=EVERY),
    Family("gemma3_text", lambda d: {**_llama(d), "sliding_window": 10_000_000}, drawn, attentions=EVERY),
    Family("granite", _whole, whole),
    Family("olmo", _whole, whole),
    Family("olmo2", _whole, whole),
    Family("cohere", _whole, whole, variants=(UNTIED, TIED, {**UNTIED, "use_qk_norm": True})),
    Family(
        "cohere2",
        lambda d: {**_whole(d), "sliding_window": 10_000_000},
        whole,
        layers=5,
        look_at=(1, 3),
        attentions=EVERY,
    ),
    Family(
        "smollm3",
        lambda d: {**_whole(d), "no_rope_layer_interval": 3, "pad_token_id": 0},
        whole,
        layers=4,
        look_at=(1, 2),
        attentions=EVERY,
    ),
    Family("glm", lambda d: {**_pad(d), **_partial(d)}, drawn),
    Family("glm4", lambda d: {**_pad(d), **_partial(d)}, drawn),
    Family(
        "phi",
        lambda d: {**_whole(d), **_partial(d)},
        whole,
        variants=(UNTIED, TIED, {**UNTIED, "qk_layernorm": True}),
    ),
    Family("phi3", lambda d: {**_whole(d), "pad_token_id": 0, **_partial(d)}, whole, attentions=EVERY),
    Family(
        "stablelm",
        lambda d: {**_whole(d), **_partial(d)},
        whole,
        variants=(UNTIED, TIED, {**UNTIED, "use_parallel_residual": True}),
    ),
    Family("starcoder2", _whole, whole, attentions=EVERY),
    Family("gpt2", _gpt2, single, variants=(UNTIED, TIED, {**UNTIED, **_NO_DROPOUT}), repeats_heads=()),
    Family(
        "gpt_bigcode",
        lambda d: {**_gpt2(d), "multi_query": True},
        shared,
        variants=(UNTIED, TIED, {**UNTIED, **_NO_DROPOUT}, {**UNTIED, "multi_query": False}),
        repeats_heads=(),
    ),
    Family(
        "gpt_neox",
        lambda d: {**_whole(d), **_partial(d)},
        single,
        variants=(UNTIED, TIED, {**UNTIED, "use_parallel_residual": False}, {**UNTIED, "hidden_act": "gelu_fast"}),
        repeats_heads=(),
    ),
    Family(
        "gptj",
        lambda d: {**_gpt2(d), "rotary_dim": d["e"]},
        single,
        variants=(UNTIED,),
        repeats_heads=(),
    ),
    Family(
        "opt",
        lambda d: {
            "hidden_size": d["h"],
            "ffn_dim": d["f"],
            "num_attention_heads": d["a"],
            "vocab_size": d["V"],
            "word_embed_proj_dim": d["h"],
        },
        single,
        variants=(UNTIED, TIED, {**UNTIED, "dropout": 0.0}, {**UNTIED, "do_layer_norm_before": False}),
        repeats_heads=(),
    ),
    Family(
        "bloom",
        lambda d: {"hidden_size": d["h"], "n_head": d["a"], "vocab_size": d["V"]},
        binary,
        attentions=OWN,
        repeats_heads=(),
    ),
    Family(
        "mpt",
        lambda d: {"d_model": d["h"], "n_heads": d["a"], "vocab_size": d["V"], "max_seq_len": 4096},
        binary,
        attentions=OWN,
        repeats_heads=(),
    ),
    Family(
        "falcon",
        lambda d: {"hidden_size": d["h"], "num_attention_heads": d["a"], "vocab_size": d["V"], "num_kv_heads": d["k"]},
        whole,
        variants=(
            UNTIED,
            TIED,
            {**UNTIED, "new_decoder_architecture": True},
            {**UNTIED, "new_decoder_architecture": True, "num_ln_in_parallel_attn": 1},
            {**UNTIED, "parallel_attn": False},
        ),
        # It asks for a mask even where causal attention would do, so that the kernel is the same on every card.
        attentions=(Attention.FLASH, Attention.SDPA, Attention.EAGER),
        repeats_heads=(),
    ),
    Family("mixtral", lambda d: {**_llama(d), **_moe(d, "num_local_experts")}, drawn, attentions=EVERY),
    Family(
        "qwen2_moe",
        lambda d: {
            **_whole(d),
            **_moe(d, "num_experts"),
            "moe_intermediate_size": d["m"],
            "shared_expert_intermediate_size": d["fs"],
            "mlp_only_layers": [2],
        },
        whole,
        layers=4,
        look_at=(1, 2),
        attentions=EVERY,
    ),
    Family(
        "qwen3_moe",
        lambda d: {**_llama(d), **_moe(d, "num_experts"), "moe_intermediate_size": d["m"], "mlp_only_layers": [2]},
        drawn,
        layers=4,
        look_at=(1, 2),
        attentions=EVERY,
    ),
    Family("deepseek_v2", _deepseek, single, layers=4, look_at=(1, 2), repeats_heads=()),
    Family("deepseek_v3", _deepseek, single, layers=4, look_at=(1, 2), repeats_heads=()),
)
FAMILIES: dict[str, Family] = {family.model_type: family for family in _ALL}
