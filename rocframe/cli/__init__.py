"""The command `rocframe`, and its exit codes."""

SUCCESS, NOT_PASSED, USER_ERROR, INTERNAL_ERROR, INTERRUPTED = 0, 1, 2, 70, 130
