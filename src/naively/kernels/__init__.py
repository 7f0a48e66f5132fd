"""Arrays in, arrays out: every compiled loop of the library, and nothing else."""
