"""The acceptance gate: a candidate run against a baseline run."""
