"""Building blocks of parameter lists: the layers that transformers' decoders are made of, tensor by tensor."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from typing import NamedTuple, TypeVar

from zplan.inputs.hf_families.fields import Fields
from zplan.inputs.hf_families.rope import max_positions
from zplan.spec import BlockSpec, Weight, WeightKind

Weights = tuple[Weight, ...]
Key = TypeVar("Key", bound=Hashable)


class Shape(NamedTuple):
    """What a family reads out of a config; ``read_config`` makes a ModelSpec of it."""

    hidden_size: int
    num_heads: int
    num_kv_heads: int
    head_dim: int
    ffn_size: int
    vocab_size: int
    max_seq_len: int
    tied_embeddings: bool
    pre: Weights
    block_kinds: tuple[BlockSpec, ...]
    layers: tuple[int, ...]
    post: Weights
    trunk: str = "model.layers"
    num_experts: int = 0
    experts_per_token: int = 0
    logit_softcap: bool = False
    notes: tuple[str, ...] = ()


class Heads(NamedTuple):
    """Sizes of an attention layer with query, key and value projections."""

    hidden: int
    heads: int
    kv_heads: int
    head_dim: int

    @property
    def q_size(self) -> int:
        """Width of all query heads."""
        return self.heads * self.head_dim

    @property
    def kv_size(self) -> int:
        """Width of all key (or value) heads."""
        return self.kv_heads * self.head_dim

    def dims(self, **others: int) -> tuple[tuple[str, int], ...]:
        """Returns the symbols of an activation table: h, a, k, d and ``others``."""
        own = {"h": self.hidden, "a": self.heads, "k": self.kv_heads, "d": self.head_dim}
        return tuple((own | others).items())


def read_heads(fields: Fields, *, whole_heads: bool = False, turned: bool = True) -> Heads:
    """Returns the attention sizes of a config that spells them as Llama's does.

    Args:
        fields: The config.
        whole_heads: The model code refuses a hidden size that is not a multiple of the heads, even with ``head_dim``.
        turned: Rotary positions turn the whole head, in pairs, so that its size must be even.

    Raises:
        ZplanError: A size is missing, out of range or does not divide.
    """
    hidden, heads = fields.size("hidden_size"), fields.size("num_attention_heads")
    kv_heads = fields.optional_size("num_key_value_heads") or heads
    if heads % kv_heads:
        raise fields.error(f"num_attention_heads = {heads}", f"must be a multiple of num_key_value_heads = {kv_heads}")
    head_dim = fields.optional_size("head_dim") if "head_dim" in fields.defaults else None
    if head_dim is None or whole_heads:
        fields.divides("num_attention_heads", "hidden_size")
    head_dim = head_dim or hidden // heads
    if turned and head_dim % 2:
        raise fields.error(f"the head size {head_dim}", "must be even, since rotary positions turn pairs")
    return Heads(hidden=hidden, heads=heads, kv_heads=kv_heads, head_dim=head_dim)


def fused_heads(fields: Fields, hidden_key: str, heads_key: str, *, kv_heads: int | None = None) -> Heads:
    """Returns the attention sizes of a model whose heads always split the hidden size evenly.

    Args:
        fields: The config.
        hidden_key: Its key for the hidden size.
        heads_key: Its key for the number of heads.
        kv_heads: Key-value heads; None: as many as heads.

    Raises:
        ZplanError: A size is out of range or does not divide.
    """
    fields.divides(heads_key, hidden_key)
    hidden, heads = fields.size(hidden_key), fields.size(heads_key)
    if kv_heads and heads % kv_heads:
        raise fields.error(f"{heads_key} = {heads}", f"must be a multiple of the key-value heads = {kv_heads}")
    return Heads(hidden=hidden, heads=heads, kv_heads=kv_heads or heads, head_dim=hidden // heads)


def read_experts(fields: Fields, key: str, *, low: int = 1) -> tuple[int, int]:
    """Returns routed experts per block and experts per token.

    Raises:
        ZplanError: A token is to use more experts than there are.
    """
    experts, per_token = fields.size(key, low=low), fields.size("num_experts_per_tok")
    if experts and per_token > experts:
        raise fields.error(f"num_experts_per_tok = {per_token}", f"must not exceed {key} = {experts}")
    return experts, per_token


def linear(name: str, out: int, into: int, *, bias: bool = False) -> Weights:
    """Returns the tensors of an ``nn.Linear``."""
    weight = Weight(name=f"{name}.weight", shape=(out, into), kind=WeightKind.LINEAR)
    return (weight, Weight(name=f"{name}.bias", shape=(out,), kind=WeightKind.BIAS)) if bias else (weight,)


def conv1d(name: str, into: int, out: int) -> Weights:
    """Returns the tensors of GPT-2's transposed linear layer."""
    return (
        Weight(name=f"{name}.weight", shape=(into, out), kind=WeightKind.CONV1D),
        Weight(name=f"{name}.bias", shape=(out,), kind=WeightKind.BIAS),
    )


def norm(name: str, *shape: int, bias: bool = False) -> Weights:
    """Returns the tensors of a normalisation layer."""
    weight = Weight(name=f"{name}.weight", shape=shape, kind=WeightKind.NORM)
    return (weight, Weight(name=f"{name}.bias", shape=shape, kind=WeightKind.NORM)) if bias else (weight,)


def tensor(name: str, kind: WeightKind, *shape: int) -> Weights:
    """Returns one tensor under its full name."""
    return (Weight(name=name, shape=shape, kind=kind),)


def embedding(name: str, rows: int, width: int, kind: WeightKind = WeightKind.EMBEDDING) -> Weights:
    """Returns the table of an ``nn.Embedding``."""
    return tensor(f"{name}.weight", kind, rows, width)


def head(vocab: int, width: int, *, tied: bool, bias: bool = False) -> Weights:
    """Returns the tensors of ``lm_head``; a tied weight is the embedding's and absent here."""
    weight = () if tied else tensor("lm_head.weight", WeightKind.HEAD, vocab, width)
    return weight + (tensor("lm_head.bias", WeightKind.BIAS, vocab) if bias else ())


def attention(sizes: Heads, *, qkv_bias: bool = False, out_bias: bool = False, out: str = "o_proj") -> Weights:
    """Returns the four projections of Llama's ``self_attn``."""
    prefix = "self_attn"
    return (
        *linear(f"{prefix}.q_proj", sizes.q_size, sizes.hidden, bias=qkv_bias),
        *linear(f"{prefix}.k_proj", sizes.kv_size, sizes.hidden, bias=qkv_bias),
        *linear(f"{prefix}.v_proj", sizes.kv_size, sizes.hidden, bias=qkv_bias),
        *linear(f"{prefix}.{out}", sizes.hidden, sizes.q_size, bias=out_bias),
    )


def gated_mlp(hidden: int, width: int, *, bias: bool = False, prefix: str = "mlp") -> Weights:
    """Returns gate, up and down projection of a SwiGLU or GeGLU layer."""
    return (
        *linear(f"{prefix}.gate_proj", width, hidden, bias=bias),
        *linear(f"{prefix}.up_proj", width, hidden, bias=bias),
        *linear(f"{prefix}.down_proj", hidden, width, bias=bias),
    )


def fused_experts(experts: int, hidden: int, width: int, *, prefix: str = "mlp.experts") -> Weights:
    """Returns the 3-D tensors that transformers 5 keeps the routed experts in."""
    return (
        *tensor(f"{prefix}.gate_up_proj", WeightKind.EXPERTS, experts, 2 * width, hidden),
        *tensor(f"{prefix}.down_proj", WeightKind.EXPERTS, experts, hidden, width),
    )


def router(experts: int, hidden: int, *, name: str = "mlp.gate.weight") -> Weights:
    """Returns the router's weight."""
    return tensor(name, WeightKind.ROUTER, experts, hidden)


def norms(hidden: int, *names: str, bias: bool = False) -> Weights:
    """Returns normalisation layers of one width, in this order."""
    return tuple(weight for name in names for weight in norm(name, hidden, bias=bias))


LLAMA_NORMS = ("input_layernorm", "post_attention_layernorm")


def stack(keys: Sequence[Key], build: Callable[[Key], BlockSpec]) -> tuple[tuple[BlockSpec, ...], tuple[int, ...]]:
    """Returns the distinct blocks and, for each layer, which of them it is.

    Args:
        keys: For each layer what its block depends on.
        build: Makes the block of a key.
    """
    order = {key: index for index, key in enumerate(dict.fromkeys(keys))}
    return tuple(build(key) for key in order), tuple(order[key] for key in keys)


def layer_windows(fields: Fields, layers: int, default: Callable[[int], bool], window: int | None) -> list[int | None]:
    """Returns each layer's attention window (None: full attention).

    Args:
        fields: The config, whose ``layer_types`` goes first.
        layers: Number of blocks.
        default: Whether the layer of an index slides, where ``layer_types`` is missing.
        window: Width of the window.

    Raises:
        ZplanError: ``layer_types`` has another length or names an unknown type.
    """
    types = fields.sequence("layer_types")
    if types is None:
        return [window if default(index) else None for index in range(layers)]
    if len(types) != layers:
        raise fields.error("layer_types", f"must have one entry per layer ({layers}), got {len(types)}")
    for kind in types:
        if kind not in ("full_attention", "sliding_attention"):
            raise fields.error("layer_types", "may hold full_attention and sliding_attention only")
    return [window if kind == "sliding_attention" else None for kind in types]


def check_padding(fields: Fields, vocab: int) -> None:
    """Refuses a padding token outside of the vocabulary, with which ``nn.Embedding`` cannot be built.

    Raises:
        ZplanError: ``pad_token_id`` is out of range.
    """
    value = fields.raw("pad_token_id")
    if isinstance(value, int) and not isinstance(value, bool) and not -vocab <= value < vocab:
        raise fields.error(f"pad_token_id = {value}", f"lies outside of the vocabulary (vocab_size = {vocab})")


def causal_lm(
    fields: Fields,
    sizes: Heads,
    kinds: tuple[tuple[BlockSpec, ...], tuple[int, ...]],
    *,
    ffn_size: int,
    final_norm: Weights | None = None,
    head_bias: bool = False,
    experts: tuple[int, int] = (0, 0),
) -> Shape:
    """Returns a shape with Llama's layout around the blocks: ``model.embed_tokens``, ``model.layers``, ``model.norm``.

    Args:
        fields: The config.
        sizes: Its attention sizes.
        kinds: What ``stack`` returned.
        ffn_size: Width of the MLP.
        final_norm: Tensors of the last norm; None for an RMSNorm ``model.norm``.
        head_bias: The head has a bias.
        experts: Routed experts per block, and how many of them a token uses.
    """
    vocab, tied = fields.size("vocab_size"), fields.flag("tie_word_embeddings")
    check_padding(fields, vocab)
    last = norm("model.norm", sizes.hidden) if final_norm is None else final_norm
    return Shape(
        hidden_size=sizes.hidden,
        num_heads=sizes.heads,
        num_kv_heads=sizes.kv_heads,
        head_dim=sizes.head_dim,
        ffn_size=ffn_size,
        vocab_size=vocab,
        max_seq_len=max_positions(fields),
        tied_embeddings=tied,
        pre=embedding("model.embed_tokens", vocab, sizes.hidden),
        block_kinds=kinds[0],
        layers=kinds[1],
        post=last + head(vocab, sizes.hidden, tied=tied, bias=head_bias),
        num_experts=experts[0],
        experts_per_token=experts[1],
    )
