"""Pieces that all pictures are made of: escaped elements, colours with patterns, and the frame for screen readers.

Colours and category names are those of PyTorch's memory profiler (``torch/profiler/_memory_profiler.py``); each
category also has a pattern, and each term a number, so that no picture depends on seeing colours. Everything is drawn
with attributes, which a page's style sheet overrides for dark mode.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from html import escape

from zplan.memory.moments import TermKey

INK, PAPER, FAINT = "#1a1a1a", "#ffffff", "#767676"
MARGIN = 8
FONT = "system-ui, -apple-system, 'Segoe UI', 'DejaVu Sans', sans-serif"
VERDICT_FILLS = {"fits": "#c8e6c9", "tight": "#ffe49c", "oom": "#f6c1bd", None: "#e4e4e4"}
VERDICT_MARKS = {"fits": "\u2713", "tight": "!", "oom": "\u2717", None: "?"}
VERDICT_WORDS = {"fits": "fits", "tight": "tight", "oom": "out of memory", None: "unknown"}
ELSEWHERE = "elsewhere"
"""Bytes that init or another rank needs beyond the peak of the rank that is shown."""


@dataclass(frozen=True, slots=True)
class Category:
    """One of the profiler's categories."""

    name: str
    colour: str
    pattern: str
    """Path of a 6 x 6 tile, drawn over the colour."""
    text: str = "#ffffff"


PARAMETER = Category("PARAMETER", "darkgreen", "")
OPTIMIZER_STATE = Category("OPTIMIZER_STATE", "goldenrod", "M-1,1 l2,-2 M0,6 l6,-6 M5,7 l2,-2", "#000000")
GRADIENT = Category("GRADIENT", "mediumblue", "M-1,5 l2,2 M0,0 l6,6 M5,-1 l2,2")
ACTIVATION = Category("ACTIVATION", "red", "M2,3 h2 M3,2 v2")
AUTOGRAD_DETAIL = Category("AUTOGRAD_DETAIL", "royalblue", "M0,3 h6 M3,0 v6")
TEMPORARY = Category("TEMPORARY", "mediumpurple", "M0,3 h6", "#000000")
INPUT = Category("INPUT", "black", "")
UNKNOWN = Category("Unknown", "grey", "M3,0 v6", "#000000")
CATEGORIES = (PARAMETER, OPTIMIZER_STATE, GRADIENT, ACTIVATION, AUTOGRAD_DETAIL, TEMPORARY, INPUT, UNKNOWN)

CATEGORY_OF: Mapping[str, Category] = {
    TermKey.PARAMS: PARAMETER,
    TermKey.PERSISTENT_PARAMS: PARAMETER,
    TermKey.GATHERED_PARAMS: PARAMETER,
    TermKey.PREFETCHED_PARAMS: PARAMETER,
    TermKey.ADAPTERS: PARAMETER,
    TermKey.QUANTIZED_PARAMS: PARAMETER,
    TermKey.SECONDARY_PARAMS: PARAMETER,
    TermKey.MASTER: OPTIMIZER_STATE,
    TermKey.OPTIMIZER: OPTIMIZER_STATE,
    TermKey.PAGED_OPTIMIZER: OPTIMIZER_STATE,
    TermKey.GRADS: GRADIENT,
    TermKey.GRADS_FP32: GRADIENT,
    TermKey.UNSHARDED_GRADS: GRADIENT,
    TermKey.ACTIVATIONS: ACTIVATION,
    TermKey.CHECKPOINTS: ACTIVATION,
    TermKey.ATTENTION_SCORES: ACTIVATION,
    TermKey.LOGITS: ACTIVATION,
    TermKey.LOGITS_GRAD: AUTOGRAD_DETAIL,
    TermKey.REDUCE_BUCKET: TEMPORARY,
    TermKey.FLAT_BUFFER: TEMPORARY,
    TermKey.OPTIMIZER_TEMPORARIES: TEMPORARY,
    TermKey.INPUTS: INPUT,
    TermKey.HOST_PARAMS: PARAMETER,
    TermKey.HOST_MASTER: OPTIMIZER_STATE,
    TermKey.HOST_OPTIMIZER: OPTIMIZER_STATE,
    TermKey.HOST_GRADS: GRADIENT,
    TermKey.HOST_STAGING: TEMPORARY,
    TermKey.HOST_STATE_DICT: PARAMETER,
    TermKey.HOST_LOGITS: ACTIVATION,
}
"""Term -> category; what is not named here lies outside of what the profiler sees."""


def category_of(key: str) -> Category:
    """The category of a term."""
    return CATEGORY_OF.get(key, UNKNOWN)


def drawing_order(keys: Iterable[str]) -> list[str]:
    """Terms by category, so that a stack reads the same in every picture; within one, as they come."""
    kept = list(dict.fromkeys(keys))
    return sorted(kept, key=lambda key: CATEGORIES.index(category_of(key)))


def element(name: str, content: str | Sequence[str] = "", /, **attributes: object) -> str:
    """An element whose attributes are escaped; content must be elements or escaped text.

    Args:
        name: Tag.
        content: What is inside.
        attributes: ``font_size`` becomes ``font-size``, ``class_`` becomes ``class``; None leaves one out.

    Returns:
        Markup.
    """
    inner = content if isinstance(content, str) else "".join(content)
    words = "".join(
        f' {key.rstrip("_").replace("_", "-")}="{escape(_number(value))}"'
        for key, value in attributes.items()
        if value is not None
    )
    return f"<{name}{words}>{inner}</{name}>" if inner else f"<{name}{words}/>"


def _number(value: object) -> str:
    return f"{value:.2f}".rstrip("0").rstrip(".") if isinstance(value, float) else str(value)


def text(x: float, y: float, words: str, **attributes: object) -> str:
    """A line of text; escaped here."""
    return element("text", escape(words), x=x, y=y, **{"fill": "currentColor", **attributes})


def rect(x: float, y: float, width: float, height: float, **attributes: object) -> str:
    """A rectangle."""
    return element("rect", x=x, y=y, width=max(0.0, width), height=max(0.0, height), **attributes)


def line(x1: float, y1: float, x2: float, y2: float, **attributes: object) -> str:
    """A line in the colour of the text."""
    return element("line", x1=x1, y1=y1, x2=x2, y2=y2, **{"stroke": "currentColor", **attributes})


def verdict_class(verdict: str | None) -> str:
    """The class by which a page's style sheet recolours a verdict."""
    return f"z-{verdict or 'none'}"


def text_width(words: str, size: float = 12) -> float:
    """Roughly how wide a line of text is: six tenths of its size per character, wide enough for common fonts."""
    return len(words) * size * 0.6


def segment(prefix: str, key: str, x: float, y: float, width: float, height: float, title: str) -> str:
    """A piece of a bar in its category's colour and pattern, with a tooltip."""
    shape: dict[str, object] = {"x": x, "y": y, "width": max(0.4, width), "height": max(0.4, height)}
    category = category_of(key)
    layers = [element("title", escape(title)), element("rect", **shape, fill=category.colour, class_="z-segment")]
    if category.pattern:
        layers.append(element("rect", **shape, fill=f"url(#{prefix}-{category.name})"))
    return element("g", layers)


def segment_label(key: str, x: float, y: float, words: str) -> str:
    """Words on a piece of a bar, with a halo in its colour so that the pattern does not run through them."""
    category = category_of(key)
    return text(
        x,
        y,
        words,
        fill=category.text,
        stroke=category.colour,
        stroke_width=3,
        paint_order="stroke",
        text_anchor="middle",
        font_size=11,
        font_weight="bold",
        class_="z-on-segment",
    )


def patterns(prefix: str, keys: Iterable[str]) -> str:
    """Definitions of the patterns that a picture uses; ids are per picture, since a page has several."""
    used = {category_of(key) for key in keys}
    return element(
        "defs",
        [
            element(
                "pattern",
                element("path", d=category.pattern, stroke="#ffffff", stroke_opacity="0.55", stroke_width="1.2"),
                id=f"{prefix}-{category.name}",
                width=6,
                height=6,
                patternUnits="userSpaceOnUse",
            )
            for category in CATEGORIES
            if category in used and category.pattern
        ],
    )


def picture(
    prefix: str,
    width: float,
    height: float,
    *,
    title: str,
    description: str,
    content: Sequence[str],
    kind: str = "wide",
) -> str:
    """A whole picture, named and described for screen readers.

    Args:
        prefix: Start of the ids in it, unique within a page.
        width: Of the drawing, in its own units.
        height: Likewise.
        title: A short name.
        description: What it shows, in sentences; the numbers belong into a table beside it.
        content: Elements.
        kind: Class for a page's style sheet: ``wide`` fills the page, ``natural`` keeps its size.

    Returns:
        An ``svg`` element that also stands alone in a file.
    """
    head = [
        element("title", escape(title), id=f"{prefix}-title"),
        element("desc", escape(description), id=f"{prefix}-desc"),
        rect(-MARGIN, -MARGIN, width + 2 * MARGIN, height + 2 * MARGIN, fill=PAPER, class_="z-paper"),
    ]
    box = (-MARGIN, -MARGIN, width + 2 * MARGIN, height + 2 * MARGIN)
    return element(
        "svg",
        [*head, *content],
        xmlns="http://www.w3.org/2000/svg",
        viewBox=" ".join(_number(float(side)) for side in box),
        width=box[2],
        height=box[3],
        class_=kind,
        role="img",
        aria_labelledby=f"{prefix}-title {prefix}-desc",
        font_family=FONT,
        font_size=12,
        color=INK,
    )


def legend(
    keys: Sequence[str], names: Mapping[str, str], prefix: str, width: float, y: float
) -> tuple[list[str], float]:
    """Numbered swatches with names, wrapped to the width.

    Returns:
        Elements, and the y below them.
    """
    parts, x = [], 0.0
    for number, key in enumerate(keys, 1):
        words = f"{number} {names[key]} ({category_of(key).name})"
        wide = 20 + text_width(words, 11) + 14
        if x and x + wide > width:
            x, y = 0.0, y + 20
        parts += [segment(prefix, key, x, y, 14, 14, words), text(x + 19, y + 11, words, font_size=11)]
        x += wide
    return parts, y + 24
