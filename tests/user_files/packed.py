"""Compressed files, and files that are not what their names say."""

import bz2
import gzip
import lzma

import pyarrow as pa

from user_files.cases import Case, refused, same
from user_files.hospital import parquet
from user_files.truth import GAPS, file, long, wide, zipped

ROWS = file(wide())
GZIPPED = gzip.compress(ROWS, mtime=0)


def _zstd(content: bytes) -> bytes:
    out = pa.BufferOutputStream()
    with pa.CompressedOutputStream(out, "zstd") as packed:
        packed.write(content)
    return out.getvalue().to_pybytes()


CASES = [
    Case("gzip", same(), {"records.csv.gz": GZIPPED}),
    Case("gzip_of_tabs", same(), {"records.tsv.gz": gzip.compress(file(wide(), "\t"), mtime=0)}),
    Case(
        "gzip_of_semicolons", same(), {"records.txt.gz": gzip.compress(file(wide(), ";"), mtime=0)}
    ),
    Case("bzip2", same(), {"records.csv.bz2": bz2.compress(ROWS)}),
    Case("xz", same(), {"records.csv.xz": lzma.compress(ROWS)}),
    Case("zstd", same(), {"records.csv.zst": _zstd(ROWS)}),
    Case("zip", same(), {"records.zip": zipped({"records.csv": ROWS})}),
    Case("zip_of_csv", same(), {"records.csv.zip": zipped({"records.csv": file(wide(), ";")})}),
    Case(
        "gzip_of_findings",
        same("gaps"),
        {"findings.csv.gz": gzip.compress(file(long(GAPS, ("no", "yes", ""))), mtime=0)},
    ),
    Case(
        "zip_of_two",
        refused("records.zip", "one.csv|2 files|more than one"),
        {"records.zip": zipped({"one.csv": ROWS, "two.csv": ROWS})},
    ),
    Case("zip_of_nothing", refused("records.zip"), {"records.zip": zipped({})}),
    Case(
        "gzip_cut_off",
        refused("records.csv.gz", "read|damaged|end"),
        {"records.csv.gz": GZIPPED[:-40]},
    ),
    Case("gzip_that_is_none", refused("records.csv.gz", "gzip|read"), {"records.csv.gz": ROWS}),
    Case(
        "gzip_without_the_ending",
        refused("records.csv", "gzip|compressed|UTF-8"),
        {"records.csv": GZIPPED},
    ),
    Case(
        "parquet_named_csv",
        refused("findings.csv", "Parquet|UTF-8|text"),
        {"findings.csv": parquet(long(), ids=str)},
    ),
    Case("csv_named_parquet", refused("records.parquet", "Parquet"), {"records.parquet": ROWS}),
    Case(
        "a_page",
        refused("records.csv"),
        {"records.csv": b"<!DOCTYPE html>\n<html><body>Not found</body></html>\n"},
    ),
    Case("no_ending", refused("records", r"\.csv"), {"records": ROWS}),
]
