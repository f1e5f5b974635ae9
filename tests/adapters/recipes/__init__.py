"""Calls through the tools that each framework makes of plain functions; imported where it is installed."""
