"""What a row of published data says, in words that rules can look for."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from zplan.advice.work import Kernels
from zplan.spec import Attention

Row = Mapping[str, Any]


UNREADABLE = (LookupError, TypeError, ValueError, AttributeError, ArithmeticError, RecursionError)
"""What a row raises whose fields are missing or of another kind; one such row must not end a whole run."""


def wrong_kind(error: Exception) -> str:
    """Why such a row is not answered."""
    return f"a field is missing or of the wrong kind ({type(error).__name__}: {' '.join(str(error).split())[:80]})"


def section(row: Row, key: str) -> Row:
    """A mapping within a row; empty where there is none."""
    value = row.get(key)
    return value if isinstance(value, Mapping) else {}


class NoPlanError(Exception):
    """Why a row has no plan."""


def text(row: Row, key: str) -> str:
    """One field in lower case; empty where nothing is said."""
    value = row.get(key)
    return "" if value is None else str(value).lower()


def everything(row: Row) -> str:
    """What a row says about how it ran beyond its fields."""
    return " ".join(str(row.get(key)) for key in ("engine", "note", "extra", "precision", "state_dtypes")).lower()


def attention_of(row: Row) -> Attention:
    """The kernel: flash unless the row says eager or none."""
    words = text(row, "flash")
    return (
        Attention.EAGER if row.get("flash") is not None and ("eager" in words or words == "none") else Attention.FLASH
    )


def kernels_of(row: Row) -> Kernels:
    """What a row says of its kernels: generation of flash attention, fused norms and activations, GPTQ unpacked by torch."""
    flash, said = text(row, "flash"), everything(row)
    found = re.search(r"(flash ?1|fa1\b)|(fa3|te flash|cudnn)|(fa2|sdpa-flash|flash ?2)", flash)
    quant = str(section(row, "lora").get("quant")).lower()
    return Kernels(
        flash=None if found is None else 1 if found[1] else 3 if found[2] else 2,
        fused=re.search(r"liger kernels|foak|fused norm\b|transformer engine", said) is not None,
        fused_loss=re.search(r"fused|liger|cut ?cross", text(row, "ce")) is not None,
        unpacked_gptq="gptq" in quant and "accelerated" not in said,
        loose_optimizer="for-loop" in text(row, "optimizer"),
    )


def implementation_of(row: Row) -> str:
    """Whose model code ran: litgpt is known by its precision's name (Lightning Fabric) and its chunks of logits."""
    fabric = re.search(r"-true|bf16-mixed", text(row, "precision")) is not None
    first = "first iteration uses the longest" in everything(row)
    code = "litgpt, longest batch first" if first else "litgpt"
    return code if fabric and re.search(r"chunked lm_?head", text(row, "ce")) else "transformers"
