"""Formulas for a disk array and its disks: equations, positioning times, closed loops and costs of layouts."""
