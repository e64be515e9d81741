"""The networks in plain NumPy."""
