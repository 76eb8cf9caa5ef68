"""border_align_backward: gradients of pooled box borders, added to the features they came from."""
