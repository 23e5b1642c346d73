"""How facts are written, related, listed and taken out of the bank and back."""
