"""A drive model from measured service times, and its distance from them."""

from storagekit.calibrate.demerit import demerit as demerit
from storagekit.calibrate.drive_check import demerit_by_class as demerit_by_class
from storagekit.calibrate.drive_figures import figures as figures
from storagekit.calibrate.drive_figures import seek_curve as seek_curve
from storagekit.calibrate.drive_figures import zone_map as zone_map
