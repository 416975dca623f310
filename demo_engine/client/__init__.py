"""The client: a process of its own that sends requests and writes down when everything happened to it."""
