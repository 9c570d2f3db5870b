"""Where the runtime remembers: one Log interface and the stores written on it."""
