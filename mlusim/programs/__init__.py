"""Programs that launch kernels, such as operators and scripts, behind one interface."""
