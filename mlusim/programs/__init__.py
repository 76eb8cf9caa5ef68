"""Programs that launch kernels: operators and scripts, behind one interface."""
