"""For authors of plugins: run transforms as an executor does, and check connectors against the contract."""

from .chains import Failed, Outcome, Step, run_chain, run_transform
from .contract import SinkContract, SourceContract
from .data import decoded, encoded, records
from .session import end_session

__all__ = [
    "Failed",
    "Outcome",
    "SinkContract",
    "SourceContract",
    "Step",
    "decoded",
    "encoded",
    "end_session",
    "records",
    "run_chain",
    "run_transform",
]
