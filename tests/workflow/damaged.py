"""Files damaged later."""

import pyarrow.parquet as pq


def damage(path):
    """Flip a bit among the first column's values."""
    column = pq.ParquetFile(path).metadata.row_group(0).column(0)
    place = (column.dictionary_page_offset or column.data_page_offset) + column.total_compressed_size // 2
    content = bytearray(path.read_bytes())
    content[place] ^= 1
    path.write_bytes(content)
