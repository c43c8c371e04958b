"""Titles of axes: each axis has one name in annotations, dimensions of a Dataset and charts."""

TITLES = {
    "seed": "Seed",
    "drive": "Drive",
    "brick": "Brick",
    "scheme": "Scheme",
    "time": "Time",
    "request": "Request",
    "batch": "Batch of events",
    "depth": "Requests outstanding",
    "replicas": "Replicas",
    "bricks": "Bricks",
    "latency": "One-way network latency",
    "read_share": "Fraction of reads",
    "completion": "Completion of a write",
    "disks": "Disks",
    "each": "Requests outstanding for each disk",
    "interval": "Time between reads of the reference sector",
    "layout": "Layout",
    "loss": "Claims lost",
    "memory": "Memory added",
    "objective": "Objective",
    "policy": "Scheduler",
    "quantity": "Published value",
    "queue": "Requests outstanding",
    "response": "Response time",
    "scale": "Rate (multiple of the trace's rate)",
    "scheduler": "Scheduler",
    "shortfall": "Shortfall against the best simulated layout",
    "slack": "Slack",
    "speed": "Speed of the slow brick",
    "timeout": "Time-out of clients",
    "trace": "Trace",
    "unit": "Striping unit",
    "workload": "Workload",
    "write_share": "Fraction of writes",
}


def title(axis: str) -> str:
    """Return the title of an axis in a chart: its entry in `TITLES` or, without an entry, its name as words.

    Parameters
    ----------
    axis : str
        Name of the axis.

    Returns
    -------
    str
        The title.
    """
    return TITLES.get(axis, axis.replace("_", " ").capitalize())
