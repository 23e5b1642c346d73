"""What becomes of facts: reflected on, consolidated, promoted to the core by a person."""
