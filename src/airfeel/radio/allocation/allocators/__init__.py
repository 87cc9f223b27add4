"""The allocators: one part for each way of sharing the sub-channels."""
