"""Activation tables and their evaluation: whole coefficients of named products.

A table's rows are linear combinations of its ``columns``, products of symbols such as ``T*h`` (T = b*s). Binding puts a
block's sizes in, which leaves a few numbers per row; evaluation at a batch shape is then a handful of multiplications.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import prod
from typing import NamedTuple

from zplan.memory.activations.base import AFTER_MODULE, AT_HOOK, Instant, PieceMemory, waiting

Row = tuple[int, ...]
"""One coefficient per column, in bytes."""

PARTS = ("T", "s", "b", "1", "b*r", "c")
"""What remains of a column when a model's sizes are put in; r is s rounded up to 32 (memory-efficient attention), c the
tokens whose logits a chunked or fused loss holds at once."""
SCORE_PARTS = ("T*s", "s*s", "T*p", "p*s")
"""The same for s x s tensors; p is s rounded up to the alignment of a mask's rows."""
LOG_SUM_EXP_STEP = 32
"""Tokens to which the memory-efficient kernel pads its log-sum-exp (torch ``mem_eff_attention``)."""
MASK_ROW_STEP = 8
"""Elements to which the memory-efficient kernel pads a mask's rows (torch ``attention.cpp``, ``pad_bias``)."""

Backward = tuple[int, str, str, Row]
"""An instant of backward: gradients ready, module, weight whose gradient is pending, bytes."""


class Table(NamedTuple):
    """What one piece of one implementation keeps and needs, in one way of running it."""

    columns: tuple[str, ...]
    kept: Row
    forward: tuple[tuple[str, Row], ...]
    """(module, bytes)"""
    backward: tuple[Backward, ...]
    order: tuple[str, ...]
    """Weights in the order in which their gradients are ready."""
    input_grad: Row
    frame: Row = ()
    cache: Row = ()
    held: Row = ()


Numbers = tuple[int, ...]
"""Coefficients of PARTS, then of SCORE_PARTS."""


def _numbers(table: Table, sizes: Mapping[str, int]) -> list[tuple[int, int]]:
    """For each column the part it belongs to and the value of the rest; a size may be given for a whole column."""
    parts = {part: index for index, part in enumerate((*PARTS, *SCORE_PARTS))}
    found = []
    for column in table.columns:
        names = column.split("*")
        batch = [name for name in names if name in ("T", "s", "b", "r", "p", "c")]
        rest = sizes[column] if column in sizes else prod(sizes[name] for name in names if name not in (*batch, "1"))
        found.append((parts["*".join(batch) or "1"], rest))
    return found


class Bound(NamedTuple):
    """A table with a model's sizes put in."""

    kept: Numbers
    forward: tuple[tuple[int, int, Numbers, str], ...]
    """(bytes per token, constant, everything, module)"""
    backward: tuple[tuple[int, int, Numbers, int, str, int], ...]
    """(bytes per token, constant, everything, gradients ready, module, pending weight)"""
    grad_order: tuple[int, ...]
    input_grad: Numbers
    frame: Numbers
    cache: Numbers
    held: Numbers
    plain: bool
    """Every instant is a multiple of T plus a constant."""

    def at(self, micro_batch: int, seq_len: int, chunk: int = 0) -> PieceMemory:
        """Returns the piece's memory at one batch shape, in bytes.

        Args:
            micro_batch: Sequences.
            seq_len: Tokens of each.
            chunk: Tokens of a chunk, for a loss that has chunks.
        """
        tokens = micro_batch * seq_len
        if self.plain:
            return PieceMemory(
                self.kept[0] * tokens + self.kept[3],
                0,
                tuple([Instant(per * tokens + more, 0, 0, module) for per, more, _, module in self.forward]),
                tuple(
                    [
                        Instant(per * tokens + more, 0, ready, module, pending)
                        for per, more, _, ready, module, pending in self.backward
                    ]
                ),
                self.grad_order,
                self.input_grad[0] * tokens,
                self.frame[0] * tokens + self.frame[3],
                0,
                self.cache[3],
                self.held[3],
            )
        rounded = -(-seq_len // LOG_SUM_EXP_STEP) * LOG_SUM_EXP_STEP * micro_batch
        padded = -(-seq_len // MASK_ROW_STEP) * MASK_ROW_STEP
        scores = (tokens * seq_len, seq_len * seq_len, tokens * padded, padded * seq_len)

        def size(row: Numbers) -> int:
            return (
                row[0] * tokens + row[1] * seq_len + row[2] * micro_batch + row[3] + row[4] * rounded + row[5] * chunk
            )

        def score(row: Numbers) -> int:
            return row[6] * scores[0] + row[7] * scores[1] + row[8] * scores[2] + row[9] * scores[3]

        return PieceMemory(
            size(self.kept),
            score(self.kept),
            tuple([Instant(size(row), score(row), 0, module) for _, _, row, module in self.forward]),
            tuple(
                [
                    Instant(size(row), score(row), ready, module, pending)
                    for _, _, row, ready, module, pending in self.backward
                ]
            ),
            self.grad_order,
            size(self.input_grad),
            size(self.frame),
            score(self.frame),
            size(self.cache),
            size(self.held),
        )


def bind(table: Table, sizes: Mapping[str, int], weights: Sequence[str], *, frozen: bool = False) -> Bound:
    """Puts a model's sizes into a table.

    Args:
        table: The table.
        sizes: Values of its symbols other than b, s.
        weights: Names of the piece's weights, in the order that indices count in. Weights of the table that are not
            among them (tied or shared with another piece) are skipped; biases that the table does not know come
            before their matrix.
        frozen: Weights that the table does not know have no gradient.
    """
    columns = _numbers(table, sizes)
    index = {name: position for position, name in enumerate(weights)}
    order, ready_after = _merged_order(table.order, index, frozen)
    hooked = {name[1:] for _, _, name, _ in table.backward if name[:1] == AT_HOOK}

    def pending(name: str) -> int:
        found = index.get(name.removeprefix(AT_HOOK), -1)
        return waiting(found) if found >= 0 and name in hooked else found

    def numbers(row: Row) -> Numbers:
        total = [0] * (len(PARTS) + len(SCORE_PARTS))
        for coefficient, (part, value) in zip(row, columns, strict=False):
            total[part] += coefficient * value
        return tuple(total)

    # Before the first module with a matrix engines hold something else than after it.
    first = next((place for place, (module, _) in enumerate(table.forward) if module), 0)
    forward = [
        *_largest([(0, module, -1, numbers(row)) for module, row in table.forward[:first]]),
        *_largest([(0, module, -1, numbers(row)) for module, row in table.forward[first:]]),
    ]
    backward = _largest(
        [(ready_after[ready], module, pending(name), numbers(row)) for ready, module, name, row in table.backward]
    )
    fixed = [numbers(row) for row in (table.kept, table.input_grad, table.frame, table.cache, table.held)]
    plain = all(
        not any(row[1:3]) and not any(row[4:]) for row in (*(row for _, _, _, row in (*forward, *backward)), *fixed)
    )
    return Bound(
        kept=numbers(table.kept),
        forward=tuple((row[0], row[3], row, module) for _, module, _, row in forward),
        backward=tuple((row[0], row[3], row, ready, module, pending) for ready, module, pending, row in backward),
        grad_order=tuple(index[name] for name in order),
        input_grad=numbers(table.input_grad),
        frame=numbers(table.frame),
        cache=numbers(table.cache),
        held=numbers(table.held),
        plain=plain,
    )


def _merged_order(order: Sequence[str], index: Mapping[str, int], frozen: bool) -> tuple[list[str], list[int]]:
    """Returns a piece's weights in the order of their gradients, and how many are ready after each of the table's."""
    known = set(order)
    merged: list[str] = []
    ready = [0]
    for name in order:
        bias = name.removesuffix("weight") + "bias"
        if bias in index and bias not in known and not frozen:
            merged.append(bias)
        if name in index:
            merged.append(name)
        ready.append(len(merged))
    seen = set(merged)
    if not frozen:
        merged += [name for name in index if name not in seen]
    return merged, ready


def shifted(table: Table, by: int) -> tuple[Backward, ...]:
    """Returns a table's backward rows for columns that stand after ``by`` others."""
    return tuple((ready, module, pending, (0,) * by + row) for ready, module, pending, row in table.backward)


Candidate = tuple[int, str, int, Numbers]
"""(gradients ready, module, pending weight, coefficients)"""


def _largest(rows: list[Candidate]) -> list[Candidate]:
    """Drops rows that another one with the same state is never below of, now that sizes are numbers."""
    kept: list[Candidate] = []
    # Where code between modules goes by the module before it, '' is code before all of them.
    anywhere = not any(module[:1] == AFTER_MODULE for _, module, _, _ in rows)
    for position, row in enumerate(rows):
        if not any(_covers(other, row, anywhere) for other in (*kept, *rows[position + 1 :])):
            kept.append(row)
    return kept


def _covers(other: Candidate, row: Candidate, anywhere: bool) -> bool:
    if other[0] != row[0] or row[2] not in (-1, other[2]):
        return False
    if row[1] != other[1] and (row[1] or not anywhere):
        return False
    return all(x >= y for x, y in zip(other[3], row[3], strict=True))
