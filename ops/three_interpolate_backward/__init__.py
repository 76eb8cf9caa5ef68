"""three_interpolate_backward: scatters weighted gradients back to the three nearest features."""
