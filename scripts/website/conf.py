"""Settings of Sphinx for the site; its pages are gathered beside this file's copy."""

from __future__ import annotations

import os

from readroom.core.release import VERSION

project = "readroom"
author = "The readroom authors"
copyright = "The readroom authors, MIT licence"
release = VERSION

extensions = ["myst_parser"]
source_suffix = {".md": "markdown"}
root_doc = "index"
# Quotes outside of code are part of what is pasted, too: view="outline".
smartquotes = False
exclude_patterns: list[str] = []
nitpicky = True

# Links between pages name headings as GitHub does.
myst_disable_syntax = ["footnote_ref", "footnote_inline", "footnote_def"]
myst_heading_anchors = 4
myst_enable_extensions = ["attrs_inline"]

html_theme = "pydata_sphinx_theme"
html_title = "readroom"
html_static_path = [os.path.join(os.path.dirname(__file__), "static")]
html_css_files = ["site.css"]
html_js_files = ["site.js"]
html_show_sourcelink = False
html_copy_source = False
html_baseurl = ""
html_sidebars: dict[str, list[str]] = {"index": []}
html_theme_options = {
    "logo": {"text": "readroom"},
    "header_links_before_dropdown": 8,
    "show_prev_next": True,
    "show_toc_level": 2,
    "secondary_sidebar_items": ["page-toc"],
    "footer_start": ["copyright"],
    "footer_end": [],
    "navbar_end": ["theme-switcher"],
    # The highlighting styles of the theme's own project, made for contrast.
    "pygments_light_style": "a11y-high-contrast-light",
    "pygments_dark_style": "a11y-high-contrast-dark",
}
