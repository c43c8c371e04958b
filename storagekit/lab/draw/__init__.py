"""Charts of the lab's pages. Know neither JAX nor the engine."""
