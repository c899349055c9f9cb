"""The chapters of a short book."""

from __future__ import annotations

from tests.gateway.documents.files import page as xhtml

CHAPTERS = {
    "one.xhtml": xhtml("<h1>The Harbour</h1><p>Anna lit the lamp.</p><p>“Is he back?” asked Anna.</p>"),
    "two.xhtml": xhtml("<h1>The Storm</h1><p>The rain fell on the roof.</p>"),
}
