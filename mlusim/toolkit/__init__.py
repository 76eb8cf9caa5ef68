"""The toolkit: a compiler driver and the driver's libraries, with which a user's own build and programs run on the simulator."""
