"""Formulas of an array of disks and of a disk in it: equations, positioning times, closed loops, what layouts cost."""
