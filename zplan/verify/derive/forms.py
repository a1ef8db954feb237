"""Names byte counts by symbols: from the sizes of one tensor at several sets of dimensions to a polynomial."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction
from itertools import chain, combinations, combinations_with_replacement
from math import prod

Monomial = tuple[str, ...]
"""Symbols in alphabetical order, repeated for powers; () is 1."""
Poly = dict[Monomial, Fraction]

BATCH: tuple[Monomial, ...] = (
    (),
    ("s",),
    ("b",),
    ("b", "s"),
    ("b", "s", "s"),
    ("s", "s"),
    ("b", "r"),
    ("b", "p", "s"),
    ("p", "s"),
    ("c",),
)
"""Batch parts of a size; r and p are the sequence length rounded up to 32 and 8 (see ``families.symbols``)."""


CHUNKED_BATCH: tuple[Monomial, ...] = ((), ("b",), ("b", "s"), ("c",))
"""Batch parts where a loss has chunks of c tokens: nothing there depends on s alone."""


class UnnamedError(LookupError):
    """A size that no combination of symbols explains."""


def evaluate(poly: Mapping[Monomial, Fraction], dims: Mapping[str, int]) -> int:
    """Returns a polynomial's value."""
    total = sum((c * prod(dims[name] for name in mono) for mono, c in poly.items()), Fraction(0))
    if total.denominator != 1:
        raise ValueError(f"not a whole number of bytes: {total}")
    return int(total)


def add(polys: Iterable[Mapping[Monomial, Fraction]]) -> Poly:
    """Returns a sum."""
    total: Counter[Monomial] = Counter()
    for poly in polys:
        for mono, c in poly.items():
            total[mono] += c  # type: ignore[assignment]
    return {mono: Fraction(c) for mono, c in total.items() if c}


class Namer:
    """Finds polynomials over the symbols of one family.

    Args:
        runs: For each run the value of every symbol.
        features: Symbols besides b and s (and their roundings), preferred ones first.
    """

    def __init__(self, runs: Sequence[Mapping[str, int]], features: Sequence[str]) -> None:
        self.runs = runs
        self.cache: dict[tuple[int, ...], Poly] = {}
        sizes = [(), *((x,) for x in features), *combinations_with_replacement(features, 2)]
        large = [*sizes, *combinations_with_replacement(features, 3)]
        self.groups: list[list[tuple[Monomial, tuple[int, ...]]]] = []
        for part in BATCH:
            if not all(name in runs[0] for name in part) or ("c" in runs[0] and part not in CHUNKED_BATCH):
                continue
            group = []
            for feature in large if not part else sizes:
                mono = tuple(sorted((*part, *feature)))
                group.append((mono, tuple(prod(run[x] for x in mono) for run in runs)))
            self.groups.append(group)
        self.groups.append([entry for group in self.groups for entry in group if len(entry[0]) <= 2])

    def name(self, sizes: tuple[int, ...]) -> Poly:
        """Returns the polynomial with these values.

        Raises:
            UnnamedError: None was found.
        """
        if sizes not in self.cache:
            self.cache[sizes] = self._find(sizes)
        return self.cache[sizes]

    def _find(self, sizes: tuple[int, ...]) -> Poly:
        if not any(sizes):
            return {}
        if len(set(sizes)) == 1:
            return {(): Fraction(sizes[0])}
        for whole in (True, False):
            for mono, values in chain.from_iterable(self.groups):
                if whole and sizes[0] % values[0]:
                    continue
                if all(size * values[0] == sizes[0] * value for size, value in zip(sizes, values, strict=True)):
                    return {mono: Fraction(sizes[0], values[0])}
        return self._find_sum(sizes)

    def _find_sum(self, sizes: tuple[int, ...]) -> Poly:
        for group in (self.groups[-1], *self.groups[:-1]):
            for first, second in combinations(group, 2):
                found = _solve(sizes, (first, second)) if _promising(sizes, first[1], second[1]) else None
                if found:
                    return found
        for group in self.groups[:4]:
            small = [entry for entry in group if len(entry[0]) <= 4]
            for triple in combinations(small, 3):
                found = _solve(sizes, triple)
                if found:
                    return found
        raise UnnamedError(f"no formula for sizes {sizes} at {list(self.runs)}")


def _promising(sizes: Sequence[int], one: Sequence[int], other: Sequence[int]) -> bool:
    """Whether two runs allow whole or half coefficients for a pair: a quick look before solving."""
    for i in range(1, len(sizes)):
        determinant = one[0] * other[i] - one[i] * other[0]
        if determinant:
            return (
                2 * (sizes[0] * other[i] - sizes[i] * other[0]) % determinant == 0
                and 2 * (one[0] * sizes[i] - one[i] * sizes[0]) % determinant == 0
            )
    return False


def _solve(sizes: tuple[int, ...], terms: Sequence[tuple[Monomial, tuple[int, ...]]]) -> Poly | None:
    """Coefficients (halves allowed) for these monomials that give ``sizes`` in every run, or None."""
    n = len(terms)
    rows = [[Fraction(values[i]) for _, values in terms] + [Fraction(size)] for i, size in enumerate(sizes)]
    for i in range(n):
        pivot = next((r for r in range(i, len(rows)) if rows[r][i]), None)
        if pivot is None:
            return None
        rows[i], rows[pivot] = rows[pivot], rows[i]
        for r in range(len(rows)):
            if r != i and rows[r][i]:
                factor = rows[r][i] / rows[i][i]
                rows[r] = [x - factor * y for x, y in zip(rows[r], rows[i], strict=True)]
    if any(row[n] for row in rows[n:]):
        return None
    found = [rows[i][n] / rows[i][i] for i in range(n)]
    if any(c.denominator > 2 or not c for c in found):
        return None
    return {mono: c for c, (mono, _) in zip(found, terms, strict=True)}


SMALLER = {"a": ("k",), "r": ("s",), "p": ("s",)}
"""A symbol may be replaced by one that is never larger: KV heads by heads, s by its roundings."""


def _below(small: Monomial, large: Monomial) -> bool:
    """Whether ``small`` <= ``large`` for every choice of symbols >= 1."""
    rest = Counter(large)
    for name in small:
        hit = next((x for x in (name, *(big for big, low in SMALLER.items() if name in low)) if rest[x]), None)
        if hit is None:
            return False
        rest[hit] -= 1
    return True


def dominates(large: Mapping[Monomial, Fraction], small: Mapping[Monomial, Fraction]) -> bool:
    """Whether ``large`` >= ``small`` for every choice of symbols >= 1 (sufficient, not necessary)."""
    spare: Poly = {}
    need: Poly = {}
    for mono in {*large, *small}:
        difference = large.get(mono, Fraction(0)) - small.get(mono, Fraction(0))
        (spare if difference > 0 else need)[mono] = abs(difference)
    for mono, needed in sorted(need.items(), key=lambda item: -len(item[0])):
        missing = needed
        for other in sorted(spare, key=len):
            if missing and _below(mono, other):
                used = min(missing, spare[other])
                spare[other] -= used
                missing -= used
        if missing:
            return False
    return True
