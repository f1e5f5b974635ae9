"""What files are: kinds by name and bytes, and images."""
