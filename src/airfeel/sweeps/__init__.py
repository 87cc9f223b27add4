"""Many runs: comparisons, sweeps and benchmarks, on processes or a Ray cluster."""
