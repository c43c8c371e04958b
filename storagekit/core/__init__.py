"""Utilities of all packages: units, errors, validation, arrays with a batch axis, and the configuration of JAX."""

from storagekit.core.lazy_loading import loader

__getattr__, __dir__ = loader(__name__, ("resources", "units"))
