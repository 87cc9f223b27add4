"""The uplink: fading, scheduling, sub-channels, power, air and digital transmission."""
