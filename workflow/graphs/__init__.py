"""From files and generators to Parquet CSR: fetch, read, convert, generate, and the catalogue that names the graphs."""
