"""When things happen: work, logs, rates, and the predicted time that follows from them."""
