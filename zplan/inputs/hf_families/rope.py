"""How far rotary positions reach."""

from __future__ import annotations

from collections.abc import Mapping

from zplan.inputs.hf_families.fields import MAX_POSITIONS, Fields


def _scaling(fields: Fields) -> Mapping[str, object]:
    """Returns the scaling parameters under their old or their new key."""
    for key in ("rope_scaling", "rope_parameters"):
        value = fields.config.get(key)
        if isinstance(value, Mapping):
            nested = value.get("full_attention")
            return nested if isinstance(nested, Mapping) else value
    return {}


def max_positions(fields: Fields, key: str = "max_position_embeddings") -> int:
    """Returns the longest sequence that a rotary model supports.

    Formula: ``max_position_embeddings``; with YaRN ``original_max_position_embeddings * factor`` where that reaches
    further. Other scalings change nothing here: ``llama3`` and ``longrope`` configs state the extended length already,
    and of those with ``linear`` or ``dynamic`` scaling some do (DeepSeek-Coder, Gemma 3) and none says.
    Source: transformers ``modeling_rope_utils.py``.
    """
    length = fields.positions(key)
    scaling = _scaling(fields)
    if scaling.get("rope_type", scaling.get("type")) != "yarn":
        return length
    original, factor = scaling.get("original_max_position_embeddings"), scaling.get("factor")
    if isinstance(original, bool) or not isinstance(original, int) or not 0 < original <= MAX_POSITIONS:
        return length
    if isinstance(factor, bool) or not isinstance(factor, int | float) or not 1 < factor <= MAX_POSITIONS:
        return length
    return max(length, min(int(original * factor), MAX_POSITIONS))


PARTIAL: dict[str, tuple[str, float | int | None]] = {
    "gpt_neox": ("rotary_pct", 0.25),
    "gptj": ("rotary_dim", 64),
    "phi": ("partial_rotary_factor", 0.5),
    "phi3": ("partial_rotary_factor", 1.0),
    "glm": ("partial_rotary_factor", 0.5),
    "glm4": ("partial_rotary_factor", 0.5),
    "stablelm": ("partial_rotary_factor", 0.25),
}
"""Model types that may rotate a part of each head alone: the key and transformers' default."""


def rotary_width(fields: Fields, model_type: str, head_dim: int) -> int | None:
    """Returns how many elements of each head are rotated, None for model types that rotate all of them.

    Formula: ``int(head_dim * partial_rotary_factor)``; GPT-J states the width itself (``null``: the whole head).
    Source: transformers ``compute_default_rope_parameters``.
    """
    if model_type not in PARTIAL:
        return None
    key, default = PARTIAL[model_type]
    scaling = _scaling(fields)
    value = scaling.get("partial_rotary_factor", fields.config.get(key, default))
    if value is None:
        return head_dim
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= max(head_dim, 1):
        raise fields.error(key, "must be a share of the head or a width within it")
    return int(value) if key == "rotary_dim" else int(head_dim * value)
