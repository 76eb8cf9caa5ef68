"""The editor front of the debugger: a server of the Debug Adapter Protocol."""
