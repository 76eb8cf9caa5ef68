"""The inputs that find bugs: calls of a kernel drawn where faults live, the failing ones made small and kept."""
