"""The documentation as a site, built by Sphinx from the Markdown pages where they stand in the repository:

    .venv/bin/sphinx-build -W --keep-going -c docs/site . data/site      (with VOXFLEET_EXTRAS=test)

A link to a page, a heading or a file that is not there is an error, here as in run_tests.sh.
"""

project = "VoxFleet"
html_title = "VoxFleet"
extensions = ["myst_parser"]
root_doc = "docs/site/index"
include_patterns = [
    "docs/**.md",
    "*.md",
    "models/voxcpm/bundled/README.md",
    "models/voxcpm/training/README.md",
    "tests/security/README.md",
]
myst_heading_anchors = 4
suppress_warnings = ["misc.highlighting_failure"]  # shortened JSON, and requests as they go over the wire
html_theme = "furo"
html_copy_source = False
html_show_copyright = False
