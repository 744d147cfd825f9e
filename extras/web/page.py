"""Title, date and text of a web page, by trafilatura. Runs in a confined process.

Never imported by the service itself, which works without the optional library; `web` names it for its process.
"""

import json

from trafilatura import bare_extraction

_HIDDEN = [
    "//*[@hidden]",
    "//*[contains(translate(@style, ' ', ''), 'display:none')]",
    "//*[contains(translate(@style, ' ', ''), 'visibility:hidden')]",
    "//*[contains(translate(@style, ' ', ''), 'font-size:0')]",
]
"""What nobody sees on the page."""
SAMPLE = b"""<html lang="en"><head><title>Annual leave</title><meta property="article:published_time"
content="2026-03-02T08:00:00+07:00"></head><body><nav><a href="/">Home</a></nav><article><h1>Annual leave</h1>
<p>Published on 2 March 2026. Everybody has twelve days.</p><ul><li>One</li></ul><table><tr><th>Kind</th></tr><tr>
<td>Wedding</td></tr></table></article><footer>2026</footer></body></html>"""
"""What the function is tried on before it is confined."""


def read_page(content: bytes) -> bytes:
    """JSON with ``title``, ``date`` (ISO or empty) and ``text`` (Markdown) of HTML, as UTF-8.

    The text is empty where the page has none that can be told from its furniture.
    """
    page = bare_extraction(
        content.decode("utf-8", "replace"),
        include_formatting=True,
        with_metadata=True,
        include_comments=False,
        include_tables=True,
        include_links=False,
        include_images=False,
        favor_recall=True,
        prune_xpath=_HIDDEN,
    )
    told = {"title": "", "date": "", "text": ""}
    if page is not None and not isinstance(page, dict):
        told = {"title": page.title or "", "date": page.date or "", "text": page.text or ""}
    return json.dumps(told, ensure_ascii=False).encode("utf-8", "replace")
