"""The style sheet of the HTML report: light, dark, and paper."""

from __future__ import annotations

STYLE = """
:root { --ink: #1a1a1a; --paper: #ffffff; --soft: #f3f3f1; --rule: #c9c9c4; --faint: #5c5c58; --link: #0b57a4;
  --fits: #c8e6c9; --tight: #ffe49c; --oom: #f6c1bd; --none: #e4e4e4; --edge: #ffffff; }
@media (prefers-color-scheme: dark) { :root { --ink: #ececea; --paper: #17181a; --soft: #222427; --rule: #44474c;
  --faint: #b3b3ae; --link: #8ab8f0; --fits: #1f5128; --tight: #6a5208; --oom: #78281f; --none: #3a3c40;
  --edge: #d8d8d4; } }
* { box-sizing: border-box; }
html { background: var(--paper); color: var(--ink); }
body { font: 1rem/1.5 system-ui, -apple-system, "Segoe UI", "DejaVu Sans", sans-serif; max-width: 62rem;
  margin: 0 auto; padding: 1rem; overflow-wrap: break-word; }
h1 { font-size: 1.6rem; line-height: 1.25; margin: 0.4em 0; }
h2 { font-size: 1.25rem; margin: 2.2rem 0 0.6rem; padding-top: 0.6rem; border-top: 1px solid var(--rule); }
p { margin: 0.5rem 0; }
a { color: var(--link); }
.facts, figcaption, footer, caption { color: var(--faint); }
.verdict { padding: 0 0.4em; border-radius: 0.3em; }
.z-fits { background: var(--fits); } .z-tight { background: var(--tight); }
.z-oom { background: var(--oom); } .z-none { background: var(--none); }
nav ul { display: flex; flex-wrap: wrap; gap: 0.2rem 1.2rem; list-style: none; padding: 0; margin: 1rem 0; }
figure { margin: 0.8rem 0; }
figcaption, caption { font-size: 0.9rem; text-align: left; padding: 0.3rem 0; }
.scroll { overflow-x: auto; }
.scroll:focus-visible, pre:focus-visible, a:focus-visible, summary:focus-visible { outline: 2px solid var(--link);
  outline-offset: 2px; }
svg[role="img"] { display: block; height: auto; color: var(--ink); }
svg.wide { width: 100%; min-width: 42rem; }
svg .z-paper { fill: var(--paper); }
svg .z-segment { stroke: var(--edge); stroke-width: 0.7; }
svg .z-fits { fill: var(--fits); } svg .z-tight { fill: var(--tight); }
svg .z-oom { fill: var(--oom); } svg .z-none { fill: var(--none); }
table { border-collapse: collapse; font-size: 0.9rem; }
th, td { padding: 0.25rem 0.7rem 0.25rem 0; text-align: left; vertical-align: top;
  border-bottom: 1px solid var(--rule); }
td.number, th.number { text-align: right; font-variant-numeric: tabular-nums; }
td.number { white-space: nowrap; }
tbody th { font-weight: normal; min-width: 9rem; }
tr.total th, tr.total td { font-weight: bold; }
th svg { vertical-align: -2px; margin-right: 0.3em; }
thead th { border-bottom: 2px solid var(--rule); }
td.wide { min-width: 14rem; }
code, pre { font-family: ui-monospace, "DejaVu Sans Mono", monospace; font-size: 0.9em; }
code { background: var(--soft); padding: 0.1em 0.3em; border-radius: 0.2em; }
pre { background: var(--soft); padding: 0.8rem; overflow: auto; max-height: 30rem; overflow-wrap: normal; }
ol li, ul li { margin: 0.25rem 0; }
footer { margin-top: 3rem; font-size: 0.9rem; }
@media print {
  :root { --ink: #000000; --paper: #ffffff; --soft: #f3f3f1; --rule: #999999; --faint: #333333; --link: #000000;
    --fits: #c8e6c9; --tight: #ffe49c; --oom: #f6c1bd; --none: #e4e4e4; --edge: #ffffff; }
  body { max-width: none; padding: 0; font-size: 10pt; }
  nav, details { display: none; }
  figure, tr { break-inside: avoid; } h2 { break-after: avoid; }
  .scroll { overflow: visible; } svg.wide, svg.natural { min-width: 0; max-width: 100%; }
  svg, .verdict { print-color-adjust: exact; -webkit-print-color-adjust: exact; }
}
"""
