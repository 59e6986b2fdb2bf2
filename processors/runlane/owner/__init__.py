"""The owner: decides a partition's commands in order and commits them as numbered blocks."""
