"""Speed and the price of tracing, measured side by side with a baseline in the same run."""
