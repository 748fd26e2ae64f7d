"""LabelTable: labels under the ids of their records, for records that come block after block.

Records in files of any size, or on a cluster, are never all in memory: their labels, which are, are
looked up as the records come. In the end it is known which of them belong to no record.
"""

import hashlib
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from noisyor.errors import FindingsError, give_notice
from noisyor.findings.blocks import Block
from noisyor.findings.findings import Findings
from noisyor.findings.joining import check_distinct, check_joined, named_id_column, read_ids
from noisyor.findings.labels import Labels, is_table, read_table
from noisyor.findings.reading import RecordFormat
from noisyor.io.columns import Words
from noisyor.io.tables import open_table
from noisyor.structure import Structure

Integers = NDArray[np.int64]
FORM = RecordFormat()


@dataclass(frozen=True, eq=False)
class LabelTable:
    """Labels of records, by their ids."""

    name: str
    ids: Any
    """An Arrow array of texts."""
    labels: Labels

    @classmethod
    def read(cls, source: Any, structure: Structure, form: RecordFormat = FORM) -> "LabelTable":
        """Read a table with a column of ids, and one for each of some diseases.

        >>> structure = Structure.from_edges([("flu", "fever"), ("cold", "fever")])
        >>> table = LabelTable.read(pa.table({"record": [7, 8], "flu": [1, 0]}), structure)
        >>> table.labels_of(pa.array([8, 9])).counts().absent
        array([1, 0])
        """
        if not is_table(source):
            raise FindingsError(
                "labels of records that are not all in memory are joined by ids: give a table or a "
                "file with a column of them, and not an array."
            )
        table = open_table(source)
        id_column = named_id_column(table, structure.diseases, form.record)
        if id_column is None:
            raise FindingsError(
                f"{table.name} has no column of ids, by which labels are joined to records that "
                f"are not all in memory: give it one, named {form.record!r}."
            )
        labels = read_table(table, structure, id_column, Words(form.values))
        ids = read_ids(table, id_column)
        check_distinct(ids, table.name)
        return cls(table.name, ids, labels)

    @property
    def fingerprint(self) -> str:
        """A text that changes with any id or label."""
        parts = self.labels.known.tobytes(), self.labels.on.tobytes()
        texts = "\0".join(map(str, self.ids.to_pylist())).encode()
        return hashlib.sha256(b"".join([texts, *parts])).hexdigest()[:32]

    def rows_of(self, ids: Any) -> Integers:
        """Return the row of each record, -1 where it has none."""
        rows = pc.index_in(ids.cast(pa.string()), value_set=self.ids, skip_nulls=True)
        return np.asarray(rows.fill_null(-1).to_numpy(zero_copy_only=False), dtype=np.int64)

    def labels_of(self, ids: Any) -> Labels:
        """Return the labels of records."""
        return self.labels.taken_or_unknown(self.rows_of(ids))

    def put_to(self, findings: Findings) -> Findings:
        """Return records in memory with their labels."""
        blocks = LabelledBlocks(self)
        parts = [blocks.labels_of(block) for block in findings.blocks]
        return Findings(findings.structure, findings.blocks, Labels.concatenate(parts, self.labels))

    def check_uses(self, uses: Integers) -> None:
        """Tell which labels belong to no record; raise an error if all, or if records share one."""
        check_joined(self.ids, uses, self.name, "labels")

    def check_ids(self, ids: Any) -> None:
        """Do the same for the ids of all records."""
        rows = self.rows_of(ids)
        self.check_uses(np.bincount(rows[rows >= 0], minlength=len(self.ids)))


def read_for_counting(
    source: Any, structure: Structure, form: RecordFormat = FORM
) -> LabelTable | Labels:
    """Read labels by their ids; or, of a table without ids, in the order of all records."""
    if is_table(source):
        table = open_table(source)
        if named_id_column(table, structure.diseases, form.record) is None:
            give_notice(
                f"{table.name} has no column of ids: its rows are taken in the order of the "
                "records."
            )
            return read_table(table, structure, None, Words(form.values))
    return LabelTable.read(source, structure, form)


class LabelledBlocks:
    """Looks up the labels of blocks, and counts how often each was used."""

    def __init__(self, table: LabelTable) -> None:
        self.table = table
        self._uses = np.zeros(len(table.ids), dtype=np.int64)

    def labels_of(self, block: Block) -> Labels:
        """Return the labels of a block's records."""
        if block.record_ids is None:
            raise FindingsError(
                f"{self.table.name} has ids of records, but the records have none: give them a "
                "column of ids."
            )
        rows = self.table.rows_of(block.record_ids)
        self._uses += np.bincount(rows[rows >= 0], minlength=len(self._uses))
        return self.table.labels.taken_or_unknown(rows)

    def take_uses(self) -> Integers:
        """Return to how many records each label belongs, and count anew."""
        uses, self._uses = self._uses, np.zeros_like(self._uses)
        return uses
