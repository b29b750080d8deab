"""Launches over a Dask cluster."""
