"""Formulas of a disk array and of a disk in it: equations, positioning times, closed loops and costs of layouts."""
