"""The algorithms of saitan: arrays in, arrays out. Knows no file but its own `.cu`, and no Snakemake."""
