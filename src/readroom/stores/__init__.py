"""The ways to where bytes live, behind one seam."""
