"""Who may use how much: API keys, and their limits in requests and in tokens."""
