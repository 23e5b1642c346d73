"""From a question to what is known: facts, verbatim turns, daily notes, and what matters at a start."""
