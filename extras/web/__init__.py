"""Read web pages, Wikipedia articles and the subtitles of videos: the tools `plugin` offers; docs/web-tools.md."""
