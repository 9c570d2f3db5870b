"""The data plane: splits in, receipts out, on Spark."""
