"""TCS-H in a Flower federation."""
