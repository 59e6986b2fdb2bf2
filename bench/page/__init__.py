"""How fast the web page is with a run of 10,000 records, in a real Chromium."""

from bench.page.measure import PageFigures, Site, measure

__all__ = ["PageFigures", "Site", "measure"]
