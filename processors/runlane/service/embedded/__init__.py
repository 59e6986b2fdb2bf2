"""The whole pipeline in one process, for one machine: `runlane up` and `runlane demo`."""
