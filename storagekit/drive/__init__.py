"""Models of a single disk drive: the positions of arm and platter, and the times of seek, rotation and transfer.

A `Drive` describes a disk (`load_drive` by name or from a file, `Drive.from_datasheet`, `ideal_drive`). Its layout
gives the location of requests. Its mechanics give the times of arm and platter. The parameters of controller, bus and
buffer are separate (`load_controller`), and so is the model of their behaviour (`storagekit.drive.buffer`). `Buffered`
(`load_buffered` by name) combines all of these into a drive for a system. Closed-form models need fewer parameters.
These calls take the parameters from a drive:

    analytic.array.positioning.spindle(drive)         seek times, rotation and overhead for the formulas of the planner
    analytic.forkjoin.Disk.like(drive)                mean seek, mean rotation, rate
    analytic.headtracking.HeadTracking.like(drive)    rotation for software head tracking; `Access.like`: tracks, seeks

`DriveFigures`, `Disk`, `HeadTracking` and `Access` can also be created from numbers, for papers that give only these
numbers.
"""

from storagekit.drive.base import AbstractBuffer as AbstractBuffer
from storagekit.drive.base import AbstractDrive as AbstractDrive
from storagekit.drive.base import AbstractLayout as AbstractLayout
from storagekit.drive.base import AbstractMechanics as AbstractMechanics
from storagekit.drive.base import Arm as Arm
from storagekit.drive.base import HostAccess as HostAccess
from storagekit.drive.base import NoBuffer as NoBuffer
from storagekit.drive.base import OneKind as OneKind
from storagekit.drive.base import Positioning as Positioning
from storagekit.drive.base import Target as Target
from storagekit.drive.buffered import Buffered as Buffered
from storagekit.drive.buffered import load_buffered as load_buffered
from storagekit.drive.controller import DriveController as DriveController
from storagekit.drive.controller import known_controller as known_controller
from storagekit.drive.controller import load_controller as load_controller
from storagekit.drive.facts import drive_from_facts as drive_from_facts
from storagekit.drive.facts import facts_of as facts_of
from storagekit.drive.geometry import Geometry as Geometry
from storagekit.drive.library import drive_facts as drive_facts
from storagekit.drive.library import drive_names as drive_names
from storagekit.drive.library import ideal_drive as ideal_drive
from storagekit.drive.library import load_drive as load_drive
from storagekit.drive.mechanical import Drive as Drive
from storagekit.drive.mixed import Mixed as Mixed
from storagekit.drive.seek import AbstractSeek as AbstractSeek
from storagekit.drive.seek import LinearSeek as LinearSeek
from storagekit.drive.seek import SeekFit as SeekFit
from storagekit.drive.seek import SeekTable as SeekTable
from storagekit.drive.seek import fit_seek as fit_seek
from storagekit.drive.server import Flash as Flash
from storagekit.drive.server import RateServer as RateServer
from storagekit.drive.sheet_file import drive_from_sheet as drive_from_sheet
from storagekit.drive.slowed import Slowed as Slowed
from storagekit.drive.ssd import SSD as SSD
from storagekit.drive.ssd import SSDFigures as SSDFigures
from storagekit.drive.ssd_sheet import load_ssd as load_ssd
