"""Charts of the lab's pages. The package imports neither JAX nor the engine."""
