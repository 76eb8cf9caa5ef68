"""mutual_information_backward: the gradients of px and py in the RNN-T lattice of k2."""
