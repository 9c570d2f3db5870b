"""Pipeline files: what they want, how that differs from what is, and how it is brought about.

``documents`` (text → values with places) → ``reading`` (values → :class:`~.desired.Desired`) → ``diff`` (desired and
actual → actions) → ``planning`` (the plan that is shown) → ``applying`` (the same actions, done or undone).
"""
