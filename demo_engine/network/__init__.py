"""What may stand between client and server: an emulated link, and a reverse proxy. Neither does unless asked for."""
