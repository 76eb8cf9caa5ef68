"""The editor's front: a server of the Debug Adapter Protocol over the debugger's values."""
