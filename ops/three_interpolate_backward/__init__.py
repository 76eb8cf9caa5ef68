"""three_interpolate_backward: scatter weighted gradients back to the three nearest features."""
