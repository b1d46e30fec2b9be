"""``python -m d2s``: the same as the command ``d2s``."""

import sys

from d2s.cli.main import main

sys.exit(main())
