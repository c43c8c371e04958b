"""The base class of all components of a system, and the events that components receive; see `events`."""
