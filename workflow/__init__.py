"""The steps of the workflow: files in, files out. Imports `kernels`, never the reverse."""
