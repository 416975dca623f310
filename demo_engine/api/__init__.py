"""The API process: gateway, tokenizer, router and stream. No torch here."""
