"""The one place that divides by ranks.

Every other module of the memory wing asks here how many elements or bytes one rank holds, so that nothing is divided
twice and every engine's padding is written down once.
"""

from __future__ import annotations


def ceil_div(amount: int, parts: int) -> int:
    """Smallest whole number of elements that lets ``parts`` ranks hold ``amount``."""
    return -(-amount // parts)


def round_up(amount: int, multiple: int) -> int:
    """``amount`` padded to a multiple.

    Formula: ceil(amount / multiple) * multiple.
    """
    return ceil_div(amount, multiple) * multiple


def zero12_flat_numel(numel: int, ranks: int) -> int:
    """Elements of the flat buffer of ZeRO stages 1 and 2.

    Formula: P padded to a multiple of 2N, so that every all-gather send buffer starts on 4 bytes.
    Source: DeepSpeed ``runtime/zero/stage_1_and_2.py``, ``nccl_start_alignment_factor``.
    """
    return round_up(numel, 2 * ranks)


def zero12_partition_numel(numel: int, ranks: int) -> int:
    """Elements of one rank's partition of the flat buffer of ZeRO stages 1 and 2: padded P / N."""
    return zero12_flat_numel(numel, ranks) // ranks


def zero3_partition_numel(numel: int, ranks: int) -> int:
    """Elements of one rank's partition of one tensor under ZeRO stage 3: ceil(numel / N), each tensor on its own.

    Source: DeepSpeed ``runtime/zero/partition_parameters.py``, ``_aligned_size``.
    """
    return ceil_div(numel, ranks)


def fsdp2_shard_numel(shape: tuple[int, ...], ranks: int, rank: int) -> int:
    """Elements of one rank's shard of one tensor under FSDP2: dimension 0 in chunks of ceil(d0 / N) rows.

    Source: torch ``distributed/fsdp/_fully_shard/_fsdp_param.py`` (``torch.chunk`` along dimension 0).
    """
    if not shape:
        return 1
    rows, row_numel = shape[0], 1
    for size in shape[1:]:
        row_numel *= size
    per_rank = ceil_div(rows, ranks)
    mine = max(0, min(per_rank, rows - rank * per_rank))
    return mine * row_numel


def fsdp2_padded_shard_numel(shape: tuple[int, ...], ranks: int) -> int:
    """Elements that one tensor takes in FSDP2's all-gather input: the padded chunk of dimension 0."""
    if not shape:
        return 1
    row_numel = 1
    for size in shape[1:]:
        row_numel *= size
    return ceil_div(shape[0], ranks) * row_numel


def fsdp1_flat_shard_numel(numel: int, ranks: int) -> int:
    """Elements of one rank's shard of one FSDP1 flat parameter: ceil(numel / N).

    Source: torch ``distributed/fsdp/_flat_param.py``, ``_get_shard``.
    """
    return ceil_div(numel, ranks)


def share(amount: int, ranks: int) -> int:
    """A plain 1/N share of bytes or elements, rounded up: for accounting that no engine pads (the ZeRO paper's)."""
    return ceil_div(amount, ranks)


def zero3_secondary_numel(numel: int, ranks: int, group: int) -> int:
    """Elements of one tensor's secondary partition: the padded tensor over the ranks of its group (ZeRO++ hpZ).

    Formula: ceil(numel / N) N / hpZ; 0 where it is off (hpZ = 1).
    Source: DeepSpeed ``runtime/zero/partition_parameters.py`` (``_partition_param_sec``).

    Args:
        numel: Elements of the tensor.
        ranks: N.
        group: ``zero_hpz_partition_size``.
    """
    return zero3_partition_numel(numel, ranks) * ranks // group if group > 1 else 0
