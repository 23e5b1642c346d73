"""From a conversation to facts: what is listened for, found, extracted, and kept exactly once."""
