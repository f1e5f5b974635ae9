"""Defects that were found once: each test fails where its defect comes back."""
