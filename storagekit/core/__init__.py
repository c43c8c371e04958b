"""What every package uses: units, errors, validation of arguments, arrays with a batch axis, and the set-up of JAX."""

from storagekit.core.lazy_loading import loader

__getattr__, __dir__ = loader(__name__, ("resources", "units"))
