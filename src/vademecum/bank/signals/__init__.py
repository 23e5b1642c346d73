"""What a sentence of a user is, by rules that are data: no model, no network."""
