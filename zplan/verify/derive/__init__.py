"""Derives activation tables from the real model code: runs it without data and names every live tensor."""
