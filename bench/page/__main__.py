"""``python -m bench.page``: print the page's figures as JSON; exit 1 when one is out of bounds."""

import json
import sys

from bench.page.measure import report

figures = report()
print(json.dumps(figures))
sys.exit(not figures["within_bounds"])
