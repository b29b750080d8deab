"""Simulated memory: buffers, images and samplers of an address space."""
