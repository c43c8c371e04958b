"""Where blocks live: which drives hold a copy of an address."""

from storagekit.placement.replicas import AbstractPlacement as AbstractPlacement
from storagekit.placement.replicas import Replicas as Replicas
