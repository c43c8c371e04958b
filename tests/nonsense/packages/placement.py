"""Valid calls of layouts."""

from functools import cache

import numpy as np
from nonsense.attack import ValidCall

from storagekit.placement import Node, ParityGroups, Replicas, Segments, Volume
from storagekit.workload.trace import RequestTrace

LOOP = "arrays that only the event loop creates"
RESULT = "a result of a layout"


@cache
def trace():
    return RequestTrace(
        time=np.array([0.0, 1.0]),
        offset=np.array([0, 512]),
        size=np.array([4096, 4096]),
        read=np.array([True, False]),
        device=np.array([0, 0]),
        devices=("a disk",),
    )


@cache
def segments():
    return Segments((Node(2), Node(2)), (Volume(1024, 256, parts=2),))


VALID_CALLS = {
    "placement.AfterLoss": ValidCall(lambda: {"layout": ParityGroups(6, 2), "lost": 1}),
    "placement.Bricks": ValidCall(lambda: {"across": Replicas(2), "disks": 2, "unit": 128}),
    "placement.Coded": ValidCall(lambda: {"data": 2, "fragments": 3}),
    "placement.Declustered": ValidCall(lambda: {"bricks": 4, "copies": 2, "data": 2**20, "extent": 2048}),
    "placement.Grouping": ValidCall(lambda: {"sizes": (2, 3)}),
    "placement.Node": ValidCall(lambda: {"disks": 3, "raid5": True, "sectors": 2**20}),
    "placement.DeclusteredParity": ValidCall(lambda: {"disks": 7, "group": 4, "parities": 2, "unit": 128}),
    "placement.ParityGroups": ValidCall(lambda: {"disks": 6, "parities": 2, "groups": 2, "unit": 128}),
    "placement.RAID5": ValidCall(lambda: {"disks": 4, "unit": 128}),
    "placement.Replicas": ValidCall(lambda: {"copies": 2}),
    "placement.SRMirror": ValidCall(
        lambda: {"stripes": 2, "replicas": 2, "mirrors": 2, "data": 1.0, "unit": 128, "most_replicas": 6}
    ),
    "placement.Segments": ValidCall(
        lambda: {
            "nodes": (Node(2), Node(2)),
            "volumes": (Volume(1024, 256, parts=2),),
            "wraps": False,
            "whole_blocks": False,
        }
    ),
    "placement.SplitVolumes": ValidCall(lambda: {"size": 1024, "bricks": [[0], [0, 1]], "unit": 128}),
    "placement.Striped": ValidCall(lambda: {"disks": 4, "unit": 128}),
    "placement.Volume": ValidCall(lambda: {"sectors": 1024, "segment": 256, "parts": 2, "needed": 2, "block": 128}),
    "placement.Volumes": ValidCall(lambda: {"size": 1024, "bricks": [[0], [0, 1]], "unit": 128}),
    "placement.cut": ValidCall(lambda: {"trace": trace(), "layout": segments()}),
    "placement.laid_out": ValidCall(
        lambda: {"nodes": (Node(2, sectors=2**20),), "volumes": (Volume(1024, 256, parts=1),), "wraps": False}
    ),
    "placement.LocalReconstruction": ValidCall(
        lambda: {"data": 6, "local_groups": 2, "global_parities": 2, "groups": 2, "unit": 128}
    ),
}
NOT_ATTACKED = {
    "placement.AfterLoss.holds_data": "a method of a layout, whose arguments the engine and scenarios create",
    "placement.AfterLoss.used": "a method of a layout, whose arguments the engine and scenarios create",
    "placement.Location": RESULT,
    "placement.NearestReplica": RESULT,
    "placement.nearest_replica": LOOP,
    "placement.of_part": LOOP,
}
