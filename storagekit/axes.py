"""The axis words: one word in an annotation, a Dataset dimension and a chart title."""

SEED = "seed"
DRIVE = "drive"
BRICK = "brick"
SCHEME = "scheme"
TIME = "time"
REQUEST = "request"

TITLES = {
    SEED: "Seed",
    DRIVE: "Drive",
    BRICK: "Brick",
    SCHEME: "Scheme",
    TIME: "Time",
    REQUEST: "Request",
    "batch": "Batch of events",
    "depth": "Requests outstanding",
    "replicas": "Replicas",
    "bricks": "Bricks",
    "latency": "One-way network latency",
    "read_share": "Share of reads",
    "completion": "When a write is answered",
}


def title(axis: str) -> str:
    """How a chart names an axis: its entry in `TITLES`, or the word itself."""
    return TITLES.get(axis, axis.replace("_", " ").capitalize())
