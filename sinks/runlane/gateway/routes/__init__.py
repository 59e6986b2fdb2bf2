"""The routes of the read API, one module a resource."""
