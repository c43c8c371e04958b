"""Fit of drive models to measured service times, and the distance between model and measurement."""

from storagekit.calibrate.demerit import demerit as demerit
from storagekit.calibrate.drive_check import demerit_by_class as demerit_by_class
from storagekit.calibrate.drive_figures import figures as figures
from storagekit.calibrate.drive_figures import seek_curve as seek_curve
from storagekit.calibrate.drive_figures import zone_map as zone_map
