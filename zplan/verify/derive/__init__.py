"""Derives activation tables from the real model code: runs it without data, names every live tensor, writes formulas."""
