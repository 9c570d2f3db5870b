"""What is left when workers are killed, disks fail and clients misbehave."""
