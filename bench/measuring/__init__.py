"""What bench/run and bench/compare share: figures and their files, limits, sides, verdicts, tables."""
