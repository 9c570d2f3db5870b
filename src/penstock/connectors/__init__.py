"""The connectors that come with Penstock, one package each. They use nothing but :mod:`penstock.api`."""
