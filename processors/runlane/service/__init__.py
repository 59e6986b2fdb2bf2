"""The only composition root: settings, logs, metrics, health, the command line and the roles it starts."""
