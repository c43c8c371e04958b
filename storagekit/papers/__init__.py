"""The papers: one package for each, with a function for every exhibit that returns a Dataset."""
