"""The command line: one file per verb, and what they share; the only place that catches errors and exits."""
