"""Q-matrices of educational testing: which skill an item needs, as a CSV of 0 and 1.

Rows are items, columns skills, the first column holds the items' names.

The reduced RUM (Hartz 2002) is a noisy-or read in the negative. An item j has the probability
pi*_j of a correct answer when all its skills are mastered, and each required skill k that is *not*
mastered multiplies it by a penalty r*_jk:

    P(correct) = pi*_j  prod over required skills k that are not mastered of r*_jk

Eq. 2 of the paper is P(absent) = (1 - leak) prod over present diseases of their failures. They are
the same model with

    disease k present  =  skill k is not mastered (the disease is the lack of the skill)
    symptom j present  =  item j is answered wrongly; absent = correctly
    prior of k         =  P(skill k is not mastered)
    leak of j          =  1 - pi*_j
    failure of k on j  =  r*_jk

So skills become diseases and items symptoms, and answers have to be given as records in which 1
means wrong. How skills occur together is not in it: that is learned (`causes`).
"""

import numpy as np
import pyarrow as pa

from noisyor.errors import FileError, StructureError, quoted
from noisyor.io.columns import ColumnKind
from noisyor.io.paths import PathLike
from noisyor.io.tables import open_table, write_csv
from noisyor.names import Indices
from noisyor.structure import Structure


def read_q_matrix(path: PathLike) -> Structure:
    """Read a structure: skills (columns) are its diseases, items (rows) its symptoms."""
    table = open_table(path)
    first, *skills = table.column_names
    if not skills:
        raise FileError(
            f"{path} has one column only, {quoted(first)}: a Q-matrix has a column of items and "
            "one for each skill, with commas between them (or tabs, in a .tsv)."
        )
    if set(table.column_names) <= {"0", "1", "0.0", "1.0"}:
        raise FileError(
            f"{path}: the first line holds 0 and 1 only, where names of skills should stand. Add a "
            "first line with names, and a first column with those of the items."
        )
    items: list[str] = []
    parts: list[Indices] = []
    kinds = {first: ColumnKind.TEXT, **dict.fromkeys(skills, ColumnKind.FLAG)}
    for batch in table.batches(kinds):
        for number, skill in enumerate(skills):
            flags = batch.column(number + 1)
            if flags.null_count:
                row = len(items) + flags.is_null().to_pylist().index(True)
                raise FileError(
                    f"{table.location(row)}, column {quoted(skill)}: an empty cell; 0 or 1?"
                )
            rows = np.flatnonzero(flags.to_numpy(zero_copy_only=False)) + len(items)
            parts.append(np.column_stack([np.full(len(rows), number), rows]))
        items += [name or "" for name in batch.column(0).to_pylist()]
    edges = np.concatenate(parts) if parts else np.empty((0, 2), dtype=np.int64)
    seen: set[str] = set()
    for row, item in enumerate(items):
        if not item or item in seen:
            problem = (
                "the item has no name" if not item else f"the item {quoted(item)} appears twice"
            )
            raise FileError(f"{table.location(row)}: {problem}.")
        seen.add(item)
    try:
        return Structure(skills, items, edges)
    except StructureError as error:
        raise FileError(f"{path}, skills as diseases, items as symptoms: {error}") from None


def write_q_matrix(structure: Structure, path: PathLike) -> None:
    """Write which disease (a column) can cause which symptom (a row)."""
    first = "item"
    while first in structure.diseases:
        first += "_"
    needed = structure.sparse_matrix().toarray().astype(np.int8)
    columns = [pa.array(structure.symptoms, pa.string()), *map(pa.array, needed.T)]
    write_csv(path, pa.table(columns, names=[first, *structure.diseases]))
