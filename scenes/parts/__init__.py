"""Parts of a picture: what the grammar's geometry looks like when it is drawn."""
