"""What the tools give to other programs: the plugin of pytest."""
