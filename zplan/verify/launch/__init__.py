"""Starts what measures: a dry run, one real process, or a real job; watches it, and leaves nothing behind."""
