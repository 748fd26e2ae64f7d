"""Arrow tables written to CSV and Parquet, whole or not at all."""

from collections.abc import Iterable
from typing import Any

import pyarrow as pa
import pyarrow.csv as pa_csv
import pyarrow.parquet as pq

from noisyor.errors import FileError
from noisyor.io.paths import PathLike, replaced_when_done, unwritable


def write_csv(path: PathLike, table: Any) -> None:
    """Write an Arrow table as CSV with a header."""
    write_batches(path, table.schema, table.to_batches(), kind="csv")


def write_table(path: PathLike, table: Any) -> None:
    """Write an Arrow table as CSV or Parquet, by the ending of the path."""
    write_batches(path, table.schema, table.to_batches(), table_kind(path))


def write_batches(path: PathLike, schema: Any, batches: Iterable[Any], kind: str) -> None:
    """Write batches, as they come, to a CSV or Parquet file."""
    with replaced_when_done(path) as part:
        try:
            with _writer(str(part), schema, kind) as writer:
                for batch in batches:
                    writer.write_batch(batch)
        except pa.ArrowException as error:
            raise unwritable(str(path), error) from None


def _writer(part: str, schema: Any, kind: str) -> Any:
    if kind == "parquet":
        return pq.ParquetWriter(part, schema, compression="zstd")
    return pa_csv.CSVWriter(part, schema, write_options=pa_csv.WriteOptions(quoting_style="needed"))


def table_kind(path: PathLike) -> str:
    """Return "csv" or "parquet" by the ending of a file to be written."""
    name = str(path).lower()
    if name.endswith((".parquet", ".pq")):
        return "parquet"
    if name.endswith(".csv"):
        return "csv"
    raise FileError(f"{path}: the ending must be .csv or .parquet.")
