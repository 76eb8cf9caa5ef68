"""Running a program, and running its launches again, under the debugger."""
