"""What tests share: real workers in their own processes, and waiting on conditions."""
