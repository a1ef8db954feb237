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
