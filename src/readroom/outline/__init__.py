"""Outlines of source code, markup and structured data: functions of texts."""
