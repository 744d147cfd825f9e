"""PDF through PDFium: `page` reads marks and lines, `tables` finds ruled tables, `layout` makes a text of it all."""

from app.ingestion.parsing.formats.pdf.document import read_pdf

__all__ = ["read_pdf"]
