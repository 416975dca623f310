"""The wire between the API process and an engine process: typed messages over a Unix socket."""
