"""For authors of transforms: run one, or a chain, on some records, the way an executor does."""

from .chains import Failed, Outcome, Step, run_chain, run_transform
from .data import decoded, encoded, records
from .session import end_session

__all__ = ["Failed", "Outcome", "Step", "decoded", "encoded", "end_session", "records", "run_chain", "run_transform"]
