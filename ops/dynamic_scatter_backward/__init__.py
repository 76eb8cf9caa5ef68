"""dynamic_scatter_backward: the gradient of a voxel goes to the point that gave its maximum."""
