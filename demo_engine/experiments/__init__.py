"""The experiments: what is asked, what is predicted, what is measured."""
