"""Saving and loading models."""
