"""One reader a format. Each takes the bytes of a file, fills a draft, and raises what its library raises."""
