"""The client: every verb that talks to a worker over its REST API."""
