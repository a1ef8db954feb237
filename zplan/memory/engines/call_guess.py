"""Call orders that were not derived: with adapters from the order without, and of unknown code from its weights."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from zplan.memory.params import Tensor


def with_adapters(texts: Mapping[str, str]) -> dict[str, str]:
    """Returns the orders of a model whose linear layers have adapters, from those of the model without.

    Every module is taken for an adapted layer; parts that a model doesn't have are left out when tensors are put in.
    """
    found: dict[str, str] = {}
    for name, text in texts.items():
        if name.startswith(("stem", "head")):
            found[name] = text.replace("+. ", "+. +base_model +base_model.model ", 1)
            continue
        backward = name != "block"
        again = False
        tokens = []
        for token in text.split():
            again = token == "<" if token in "<>" else again
            plain = token[0] not in "+-<>."
            tokens.append(token + ("^" if backward and not again else "*") if plain else token)
        found[name] = " ".join(tokens)
    return found


def guessed(tensors: Sequence[Tensor], order: Sequence[int], outside: Iterable[Tensor]) -> dict[str, str]:
    """Returns the orders of code that was never run: modules in the reverse of the order in which gradients become ready.

    Args:
        tensors: The block's.
        order: Places of its tensors in the order in which their gradients become ready.
        outside: Tensors of stem and head.
    """
    frozen = [place for place, tensor in enumerate(tensors) if not tensor.trainable]
    leaves = list(dict.fromkeys(tensors[place].name.rpartition(".")[0] for place in (*reversed(order), *frozen)))
    forward = " ".join(_with_containers(leaves))
    backward = " ".join(_with_containers(leaves[::-1]))
    modules = [tensor.name.rpartition(".")[0] for tensor in outside]
    stem = " ".join(dict.fromkeys(name for name in modules if "embed" in name or name.endswith(("wte", "wpe"))))
    head = list(dict.fromkeys(name for name in modules if name not in stem.split()))
    return {
        "stem": f"+. {stem}",
        "block": f"+. {forward} -.",
        "head": f"{' '.join(head)} -.",
        "head backward": f"+. {' '.join(head[::-1])}",
        "block backward": f"+. {backward} -.",
        "block again": f"+. < {forward} > {backward} -.",
        "stem backward": stem,
        "stem again": stem,
    }


def _with_containers(leaves: Sequence[str]) -> list[str]:
    """Modules with a call of each container around them before its first child: containers prefetch, too."""
    found, seen = [], {""}
    for module in leaves:
        parent = module.rpartition(".")[0]
        if parent not in seen:
            seen.add(parent)
            found.append(f"+{parent}")
        found.append(module)
    return found
