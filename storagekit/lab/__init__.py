"""Pages that answer, one file for each: the question behind its controls, what answers it, and how that is said."""
