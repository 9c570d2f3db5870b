"""The web page: static files in ``page``, which the REST server sends and which talk to the REST API alone."""
