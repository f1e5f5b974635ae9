"""The style and the script of the page. The page works without the script, which adds a search."""

from __future__ import annotations

import base64
import hashlib
from functools import cache

from readroom.core import context

_STYLE = """
:root {
  color-scheme: light dark; --ink: #1a1a1a; --paper: #fff; --soft: #595959; --line: #d0d0d0; --bar: #2a6fb5;
}
@media screen and (prefers-color-scheme: dark) {
  :root { --ink: #e8e8e8; --paper: #161616; --soft: #a8a8a8; --line: #3c3c3c; --bar: #6aa9e9; }
}
body {
  font: 1rem/1.5 system-ui, sans-serif; color: var(--ink); background: var(--paper);
  margin: 0 auto; max-width: 72rem; padding: 1rem;
}
a { color: var(--bar); }
:focus-visible { outline: 3px solid var(--bar); outline-offset: 2px; }
h1 { font-size: 1.5rem; }
h2 { font-size: 1.2rem; margin-top: 2rem; }
h3 { font-size: 1rem; margin: 1rem 0 .3rem; }
table { border-collapse: collapse; width: 100%; font-size: .9rem; }
.wide { overflow-x: auto; }
.low { max-height: 24rem; overflow-y: auto; }
.low thead th { position: sticky; top: 0; background: var(--paper); }
th, td {
  text-align: left; padding: .3rem .6rem .3rem 0; border-bottom: 1px solid var(--line);
  vertical-align: top; overflow-wrap: anywhere;
}
th, td { min-width: 8rem; }
td:has(code) { min-width: 13rem; }
tbody th { font-weight: 400; }
thead th { color: var(--soft); font-weight: 500; }
.number { min-width: 0; text-align: right; white-space: nowrap; font-variant-numeric: tabular-nums; }
thead .number { white-space: normal; overflow-wrap: normal; }
code, .quoted { font: .85rem/1.4 ui-monospace, monospace; overflow-wrap: anywhere; }
.soft { color: var(--soft); }
li { overflow-wrap: anywhere; }
.share { fill: var(--bar); }
details details { margin-left: 1rem; }
summary { cursor: pointer; padding: .4rem 0; overflow-wrap: anywhere; }
tr:target, tbody:target tr { outline: 2px solid var(--bar); outline-offset: -2px; }
[hidden] { display: none; }
.search { margin: 1rem 0; }
.search input {
  font: inherit; color: var(--ink); background: var(--paper); border: 1px solid var(--soft);
  border-radius: 4px; padding: .3rem .5rem; width: min(100%, 24rem); box-sizing: border-box;
}
dl { display: grid; grid-template-columns: repeat(auto-fit, minmax(10rem, 1fr)); gap: .8rem; margin: 1rem 0; }
dt { color: var(--soft); font-size: .85rem; }
dd { margin: 0; font-size: 1.3rem; font-variant-numeric: tabular-nums; }
@media screen and (max-width: 40rem) {
  .wide table, .wide tbody { display: block; }
  .wide thead { position: absolute; width: 1px; height: 1px; overflow: hidden; clip-path: inset(50%); }
  .wide tr { display: flex; flex-wrap: wrap; gap: .1rem 1rem; border-bottom: 1px solid var(--line); }
  .wide tr { padding: .4rem 0; }
  .wide th, .wide td { border: 0; padding: 0; }
  .wide tbody th { flex-basis: 100%; }
  .wide td { min-width: 0; max-width: 100%; }
  .wide td:empty { display: none; }
  .wide td[data-h]::before { content: attr(data-h) " "; color: var(--soft); font-size: .8rem; }
  .wide td:not(.number) { flex-basis: 100%; }
  .number { text-align: left; }
}
@media print {
  :root { color-scheme: light; }
  details::details-content { content-visibility: visible; block-size: auto; }
  tr { break-inside: avoid; }
  .wide { overflow-x: visible; }
  .low { max-height: none; overflow-y: visible; }
  .search { display: none; }
}
"""

SCRIPT = """"use strict";
(() => {
  const box = document.getElementById("search"), told = document.getElementById("found");
  const rows = [...document.querySelectorAll("[data-words]")];
  const texts = rows.map((row) => (row.textContent + "\\n" + row.dataset.words).toLowerCase());
  const folded = [...document.querySelectorAll("details")].map((one) => [one, one.open]);
  const find = () => {
    const words = box.value.toLowerCase().split(/\\s+/).filter(Boolean);
    let count = 0;
    rows.forEach((row, at) => {
      row.hidden = !words.every((word) => texts[at].includes(word));
      count += !row.hidden;
      const why = row.querySelector(".why");
      if (why) {
        const fits = (name) => words.some((word) => name.toLowerCase().includes(word));
        why.textContent = row.dataset.words.split("\\n").filter(fits).slice(0, 3).join(", ");
      }
    });
    folded.forEach(([one, open]) => {
      one.open = words.length ? Boolean(one.querySelector("[data-words]:not([hidden])")) || open : open;
    });
    const all = rows.length.toLocaleString("en");
    told.textContent = words.length ? `${count.toLocaleString("en")} of ${all} rows` : "";
  };
  const unfold = () => {
    const target = location.hash && document.getElementById(decodeURIComponent(location.hash.slice(1)));
    for (let one = target; one; one = one.parentElement) if (one.tagName === "DETAILS") one.open = true;
    if (target) target.scrollIntoView();
  };
  box.addEventListener("input", find);
  addEventListener("hashchange", unfold);
  document.querySelector(".search").hidden = false;
  unfold();
})();
"""


@cache
def style() -> str:
    """The stylesheet, with that of charts."""
    return _STYLE + context.stylesheet()


def policy() -> str:
    """The content policy: this style and this script, and nothing else."""
    return (
        f"default-src 'none'; style-src '{_digest(style())}'; script-src '{_digest(SCRIPT)}'; "
        "base-uri 'none'; form-action 'none'"
    )


def _digest(text: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
