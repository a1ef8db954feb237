"""What each optimizer holds per trainable parameter, under Hugging Face's ``optim`` names."""

from __future__ import annotations

from collections.abc import Iterable
from math import prod
from typing import NamedTuple


class OptimizerSpec(NamedTuple):
    """Memory of one optimizer, in bytes per trainable parameter."""

    name: str
    state_bytes_fp32: float
    """Between steps, when the optimized tensors are fp32."""
    state_bytes_16bit: float
    """Between steps, when the optimized tensors are 16-bit (bf16-pure)."""
    step_temporary_copies: int
    """Temporaries of the step, in copies of the optimized tensors in their own dtype."""
    paged: bool = False
    """States live in unified memory, which the driver may move to the host."""
    tensor_by_tensor: bool = False
    """The step makes temporaries of one tensor after the other: see :func:`temporary_bytes`."""
    factored: bool = False
    """Of a matrix only sums of rows and columns are kept. The bytes above are those of vectors, and so of flat partitions."""
    blockwise: int = 0
    """8-bit states per weight, each with an fp32 maximum for every ``BLOCK`` values; 0: none."""
    made_first: bool = False
    """States are made with the optimizer and not in its first step, for the tensors that it is given then."""
    in_backward: bool = False
    """Each weight is updated as soon as its gradient is there, which is dropped (one process, no accumulation)."""
    source: str = ""


_ADAM = "two moments in the dtype of the optimized tensor; arXiv:1412.6980"
BLOCK = 256
SMALLEST_8BIT = 4096
"""Elements of the smallest tensor that has 8-bit states (``min_8bit_size``)."""
_BLOCKWISE = 2 * (1 + 4 / BLOCK)

OPTIMIZERS: dict[str, OptimizerSpec] = {
    spec.name: spec
    for spec in (
        OptimizerSpec(
            name="adamw",
            state_bytes_fp32=8,
            state_bytes_16bit=4,
            step_temporary_copies=0,
            source=f"{_ADAM}; fused kernels work in place (deepspeed/ops/adam/fused_adam.py)",
        ),
        OptimizerSpec(
            name="adamw_torch_fused",
            state_bytes_fp32=8,
            state_bytes_16bit=4,
            step_temporary_copies=0,
            source=f"{_ADAM}; torch/optim/adamw.py, fused=True works in place",
        ),
        OptimizerSpec(
            name="adamw_torch",
            state_bytes_fp32=8,
            state_bytes_16bit=4,
            step_temporary_copies=1,
            source=f"{_ADAM}; torch/optim/adam.py _multi_tensor_adam holds the square roots of all second moments at once",
        ),
        OptimizerSpec(
            name="adamw_8bit",
            state_bytes_fp32=_BLOCKWISE,
            state_bytes_16bit=_BLOCKWISE,
            step_temporary_copies=0,
            blockwise=2,
            source="two 8-bit moments and one fp32 maximum per 256 values; arXiv:2110.02861, bitsandbytes/optim/optimizer.py",
        ),
        OptimizerSpec(
            name="paged_adamw_8bit",
            state_bytes_fp32=_BLOCKWISE,
            state_bytes_16bit=_BLOCKWISE,
            step_temporary_copies=0,
            blockwise=2,
            paged=True,
            source="as adamw_8bit, in unified memory; bitsandbytes/optim/optimizer.py get_state_buffer",
        ),
        OptimizerSpec(
            name="paged_adamw",
            state_bytes_fp32=8,
            state_bytes_16bit=8,
            step_temporary_copies=0,
            paged=True,
            source="two fp32 moments in unified memory; bitsandbytes/optim/optimizer.py",
        ),
        OptimizerSpec(
            name="sgd",
            state_bytes_fp32=0,
            state_bytes_16bit=0,
            step_temporary_copies=0,
            source="no momentum, as transformers builds it; torch/optim/sgd.py",
        ),
        OptimizerSpec(
            name="sgd_momentum",
            state_bytes_fp32=4,
            state_bytes_16bit=2,
            step_temporary_copies=0,
            source="one momentum buffer; torch/optim/sgd.py",
        ),
        OptimizerSpec(
            name="lion",
            state_bytes_fp32=4,
            state_bytes_16bit=4,
            step_temporary_copies=0,
            source="one momentum; arXiv:2302.06675, bitsandbytes/optim/lion.py",
        ),
        OptimizerSpec(
            name="lion_8bit",
            state_bytes_fp32=_BLOCKWISE / 2,
            state_bytes_16bit=_BLOCKWISE / 2,
            step_temporary_copies=0,
            blockwise=1,
            source="one 8-bit momentum and one fp32 maximum per 256 values; bitsandbytes/optim/lion.py",
        ),
        OptimizerSpec(
            name="adagrad",
            state_bytes_fp32=4,
            state_bytes_16bit=2,
            step_temporary_copies=2,
            made_first=True,
            source="one sum of squares; torch/optim/adagrad.py _multi_tensor_adagrad holds all square roots and all updates",
        ),
        OptimizerSpec(
            name="rmsprop",
            state_bytes_fp32=4,
            state_bytes_16bit=2,
            step_temporary_copies=1,
            source="one average of squares; torch/optim/rmsprop.py, foreach",
        ),
        OptimizerSpec(
            name="muon",
            state_bytes_fp32=4,
            state_bytes_16bit=2,
            step_temporary_copies=0,
            tensor_by_tensor=True,
            source="one momentum for matrices; torch/optim/_muon.py. Matrices only: other tensors use AdamW. Temporaries are those "
            "of torch's Muon; DeepSpeed's own gathers whole gradients and is not counted",
        ),
        OptimizerSpec(
            name="adamw_in_backward",
            state_bytes_fp32=8,
            state_bytes_16bit=4,
            step_temporary_copies=0,
            in_backward=True,
            source=f"{_ADAM}; torch's register_post_accumulate_grad_hook, torchtune training/memory.py",
        ),
        OptimizerSpec(
            name="adamw_8bit_in_backward",
            state_bytes_fp32=_BLOCKWISE,
            state_bytes_16bit=_BLOCKWISE,
            step_temporary_copies=0,
            blockwise=2,
            in_backward=True,
            source="as adamw_8bit, stepped in backward; torchtune training/memory.py",
        ),
        OptimizerSpec(
            name="adafactor",
            state_bytes_fp32=4,
            state_bytes_16bit=4,
            step_temporary_copies=0,
            tensor_by_tensor=True,
            factored=True,
            source="row and column sums of squares of matrices, fp32 squares of vectors, which flat partitions are, too (DeepSpeed "
            "from stage 1 on, FSDP1); two fp32 tensors at a time, and fp32 copies of 16-bit ones; arXiv:1804.04235, "
            "transformers/optimization.py Adafactor, which is what its `optim` name builds",
        ),
    )
}
"""By the name that ``--optimizer`` takes."""


def optimizer_spec(name: str) -> OptimizerSpec:
    """The memory of one optimizer; KeyError for a name that the command line has not checked."""
    return OPTIMIZERS[name]


def whole_state_bytes(spec: OptimizerSpec, numel: int, element_bytes: int) -> int:
    """Bytes of optimizer states for ``numel`` optimized elements of ``element_bytes`` each, wherever they live."""
    per_element = spec.state_bytes_fp32 if element_bytes == 4 else spec.state_bytes_16bit
    return int(per_element * numel)


def factored_bytes(shapes: Iterable[tuple[int, ...]]) -> int:
    """Bytes of Adafactor's states for whole tensors.

    Formula: 4 (rows + columns) per matrix, 4 per element of a vector.
    Source: transformers ``optimization.py`` (``Adafactor.step``).
    """
    return sum(
        4 * (prod(shape[:-1]) + prod(shape[:-2]) * shape[-1]) if len(shape) > 1 else 4 * prod(shape) for shape in shapes
    )


def temporary_bytes(spec: OptimizerSpec, numel: int, shapes: Iterable[tuple[int, ...]], element_bytes: int) -> int:
    """Bytes of a step's temporaries.

    Formula: foreach optimizers hold copies of everything that is stepped. Adafactor holds two fp32 tensors (the squared gradient
    and its sum with epsilon), for 16-bit tensors also fp32 copies of gradient and weight. Muon holds, per matrix of m x n with
    m <= n, the update in its own dtype, two 16-bit iterates and two 16-bit Gram matrices of m x m.
    Source: torch ``optim/adam.py``, ``adagrad.py``, ``rmsprop.py``, ``_muon.py``; transformers ``optimization.py``. Held against
    the optimizers themselves in ``tests/test_optimizers.py``.

    Args:
        spec: The optimizer.
        numel: Elements that it steps at once.
        shapes: The tensors that it steps, whole or flat as it gets them.
        element_bytes: Of those tensors.
    """
    if not spec.tensor_by_tensor:
        return spec.step_temporary_copies * element_bytes * numel
    if spec.factored:
        return 4 * (2 if element_bytes == 4 else 4) * max((prod(shape) for shape in shapes), default=0)
    matrices = [shape for shape in shapes if len(shape) == 2]
    return max((prod(shape) * (element_bytes + 4) + 4 * min(shape) ** 2 for shape in matrices), default=0)


def sharded_blocks_bytes(spec: OptimizerSpec, tensors: Iterable[tuple[int, int]]) -> int:
    """Bytes that 8-bit states of sharded tensors take more than ``state_bytes`` says: every rank has the maxima of whole tensors.

    Formula: 4 ceil(numel / 256) per state and tensor, instead of 4/256 of the rank's own elements; tensors of fewer than 4096
    elements have fp32 states.
    Source: bitsandbytes ``optim/optimizer.py`` (``Optimizer2State.init_state``: ``p.numel()`` of a DTensor is that of the whole).

    Args:
        spec: The optimizer.
        tensors: Elements of each tensor that it steps, and of those what this rank has.
    """
    total = 0
    for numel, own in tensors:
        small = numel < SMALLEST_8BIT
        total += 3 * own if small and not spec.paged else 0
        total += 0 if small else 4 * -(-numel // BLOCK)
        total -= 4 * own // BLOCK
    return spec.blockwise * total


def state_bytes(spec: OptimizerSpec, numel: int, element_bytes: int) -> int:
    """What of the states torch's allocator holds: all, or of paged ones the maxima of their blocks alone.

    Paged states are CUDA managed memory, which bitsandbytes asks the driver for (``functional.py``, ``get_paged``); tensors of
    up to 1e5 elements (norms, biases) are not paged, and not counted here.
    """
    whole = whole_state_bytes(spec, numel, element_bytes)
    return whole - paged_bytes(spec, numel, element_bytes)


def paged_bytes(spec: OptimizerSpec, numel: int, element_bytes: int) -> int:
    """Bytes of states in managed memory: on the GPU while there is room, in host RAM otherwise; 0 unless paged."""
    if not spec.paged:
        return 0
    per_element = spec.state_bytes_fp32 if element_bytes == 4 else spec.state_bytes_16bit
    # The fp32 maxima of 8-bit blocks are ordinary tensors (``init_state``): what exceeds whole bytes per moment.
    return int(per_element) * numel
