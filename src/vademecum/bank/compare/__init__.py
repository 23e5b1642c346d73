"""Whether two statements say the same, differ, or exclude each other, in seven languages."""
