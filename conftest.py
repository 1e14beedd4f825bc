"""Import rocframe before pytest collects its files.

If pytest imports `rocframe/calibration` as a file, it sets `rocframe.calibration` to the folder
instead of the function of this name.
"""

import rocframe as rf  # noqa: F401
