"""Files as such: tables (CSV, Parquet, Arrow), JSON documents, and writing that leaves no halves.

This room knows nothing of diseases or symptoms. Whatever is wrong with a file becomes a
`FileError` that names the file, the line or row, and the column.
"""
