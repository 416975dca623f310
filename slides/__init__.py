"""The talk as data: slides, claims, notes, and the templates and player that show them."""
