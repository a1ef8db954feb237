"""What changes the memory of a block's code without changing its tensors: activation function and dropout."""

from __future__ import annotations

from zplan.inputs.hf_families.fields import Fields

ACTIVATIONS: dict[str, tuple[str, str]] = {
    **dict.fromkeys(
        (
            *(
                "llama",
                "granite",
                "mistral",
                "mixtral",
                "qwen2",
                "qwen2_moe",
                "qwen3",
                "qwen3_moe",
                "phi3",
                "glm",
                "glm4",
            ),
            *("olmo", "olmo2", "cohere", "cohere2", "smollm3", "stablelm", "deepseek_v2", "deepseek_v3"),
        ),
        ("hidden_act", "silu"),
    ),
    "gemma": ("hidden_act", "gelu_pytorch_tanh"),
    "gemma2": ("hidden_activation", "gelu_pytorch_tanh"),
    "gemma3_text": ("hidden_activation", "gelu_pytorch_tanh"),
    "phi": ("hidden_act", "gelu_new"),
    "starcoder2": ("hidden_act", "gelu_pytorch_tanh"),
    "gpt2": ("activation_function", "gelu_new"),
    "gpt_bigcode": ("activation_function", "gelu_pytorch_tanh"),
    "gptj": ("activation_function", "gelu_new"),
    "gpt_neox": ("hidden_act", "gelu"),
    "opt": ("activation_function", "relu"),
    "falcon": ("activation", "gelu"),
}
"""For each model type the key of its MLP's activation function and transformers' default; BLOOM and MPT have no key."""

KEEPS_INPUT = frozenset({"silu", "swish", "gelu", "gelu_pytorch_tanh"})
"""Functions that are one kernel in torch and keep their input for backward: the same memory for all of them."""

DROPOUTS: dict[str, dict[str, float]] = {
    "gpt2": {"attn_pdrop": 0.1, "resid_pdrop": 0.1},
    "gpt_bigcode": {"attn_pdrop": 0.1, "resid_pdrop": 0.1},
    "gptj": {"attn_pdrop": 0.0, "resid_pdrop": 0.0},
    "opt": {"attention_dropout": 0.0, "dropout": 0.1},
    "bloom": {"attention_dropout": 0.0, "hidden_dropout": 0.0},
    "falcon": {"attention_dropout": 0.0, "hidden_dropout": 0.0},
    "gpt_neox": {"attention_dropout": 0.0, "hidden_dropout": 0.0},
    "stablelm": {"attention_dropout": 0.0, "hidden_dropout": 0.0},
    "phi": {"attention_dropout": 0.0, "resid_pdrop": 0.0},
    "phi3": {"attention_dropout": 0.0, "resid_pdrop": 0.0},
    "starcoder2": {"attention_dropout": 0.0, "residual_dropout": 0.0},
    "mpt": {},
}
"""For each model type the dropout rates inside of its blocks, with transformers' defaults."""
ATTENTION_ONLY = {"attention_dropout": 0.0}
"""Every other model type."""


def suffix(fields: Fields, model_type: str) -> str:
    """Returns what to append to a block's implementation key; empty for the model type's defaults.

    ``+act=relu``: another activation function, of other memory. ``+dropout=attn_pdrop,resid_pdrop``: another set of
    dropouts is on (``none``: all are off).
    """
    return _activation(fields, model_type) + _dropout(fields, model_type)


def _activation(fields: Fields, model_type: str) -> str:
    """Returns the part about the activation function."""
    if model_type not in ACTIVATIONS:
        return ""
    key, default = ACTIVATIONS[model_type]
    name = fields.config.get(key, default)
    if not isinstance(name, str) or not name.isidentifier():
        raise fields.error(key, "must be the name of an activation function")
    same = name == default or {name, default} <= KEEPS_INPUT
    return "" if same else f"+act={name}"


def _dropout(fields: Fields, model_type: str) -> str:
    """Returns the part about dropout."""
    defaults = DROPOUTS.get(model_type, ATTENTION_ONLY)
    rates = Fields(fields.config, source=fields.source, defaults=defaults)
    on = [key for key in sorted(defaults) if rates.number(key)]
    if on == [key for key in sorted(defaults) if defaults[key]]:
        return ""
    return f"+dropout={','.join(on) or 'none'}"
