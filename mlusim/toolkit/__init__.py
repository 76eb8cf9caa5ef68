"""The toolkit: a compiler driver and the driver's libraries, with which users build and run native programs on the simulator."""
