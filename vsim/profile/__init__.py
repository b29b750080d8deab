"""Profiles of launches: exact counts of what instructions did, and files and reports of them (docs/profile.md)."""
