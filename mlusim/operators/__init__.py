"""What an operator is to mlusim, how one is run on its cases and judged, and how they are found."""
