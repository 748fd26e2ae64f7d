"""Tables of results: how they print, what is found by name, what others take of them."""

import copy
import doctest
import importlib
import pkgutil
import subprocess
import sys

import numpy as np
import pyarrow as pa
import pytest

import noisyor
from noisyor.errors import UnknownNameError
from noisyor.io.result_tables import ResultTable, ShownAsTable, cell_text

TABLE = ResultTable(
    {"disease": ["flu", "cold", "gout"], "chance": [0.5, 1 / 3, None], "n": [1, 20, 30_000]},
    "disease",
)
PAIRS = ResultTable(
    {"disease": ["flu", "flu", "cold"], "symptom": ["fever", "cough", "cough"], "x": [1, 2, 3]},
    ("disease", "symptom"),
)


def test_it_prints_as_a_table():
    assert str(TABLE).splitlines() == [
        "disease  chance       n",
        "flu         0.5       1",
        "cold     0.3333      20",
        "gout             30,000",
    ]


def test_it_is_html_in_a_notebook_and_names_are_escaped():
    page = ResultTable({"name": ["<b>fever</b>"], "x": [0.123456]})._repr_html_()
    assert "&lt;b&gt;fever&lt;/b&gt;" in page
    assert "<b>" not in page
    assert "0.1235" in page


def test_long_tables_are_cut_and_say_so():
    table = ResultTable({"n": np.arange(100)})
    assert str(table).splitlines()[-1] == "... and 80 more rows"
    assert len(table.to_text(max_rows=None).splitlines()) == 101
    assert "and 80 more rows" in table._repr_html_()
    assert str(ResultTable({"n": pa.array([], pa.int64())})).splitlines() == ["n", "(no rows)"]


def test_wide_tables_fit_the_line():
    columns = {f"column_{j}": [float(j)] for j in range(30)}
    table = ResultTable({"name": ["x" * 200], **columns}, "name")
    *lines, last = table.to_text(width=60).splitlines()
    assert max(map(len, lines)) <= 60
    assert lines[1].startswith("xxxxxxxxxxx…")
    assert last.startswith("(not shown: column_")
    assert last.endswith("column_29)")


def test_what_would_act_on_a_terminal_is_escaped():
    assert cell_text("fever\x1b[2J") == "fever\\x1b[2J"
    assert "\n" not in cell_text("two\nlines")


def test_rows_by_name_and_index():
    assert TABLE["cold"] == {"disease": "cold", "chance": 1 / 3, "n": 20}
    assert TABLE[0] == TABLE[-3] == TABLE.row("flu")
    assert [row["n"] for row in TABLE] == [1, 20, 30_000]
    assert "flu" in TABLE
    assert "measles" not in TABLE
    assert TABLE["n"].to_pylist() == [1, 20, 30_000]
    with pytest.raises(UnknownNameError, match="no row is called 'colt'; did you mean 'cold'"):
        TABLE["colt"]
    with pytest.raises(UnknownNameError, match="no column 'chances'; did you mean 'chance'"):
        TABLE.column("chances")
    with pytest.raises(IndexError, match="no row 3: the table has 3 rows"):
        TABLE[3]


def test_where_two_columns_name_rows_a_name_gives_all_of_its_rows():
    assert PAIRS["flu"].to_pydict()["x"] == [1, 2]
    assert PAIRS.row("flu", "cough")["x"] == 2
    with pytest.raises(UnknownNameError, match="2 rows are called 'cough'"):
        PAIRS.row("cough")


def test_a_name_of_a_row_and_of_a_column_is_refused():
    table = ResultTable({"disease": ["n"], "n": [1]}, "disease")
    with pytest.raises(UnknownNameError, match="both a column and a row"):
        table["n"]
    assert table.row("n")["n"] == table.column("n")[0].as_py()


def test_slices_columns_and_order():
    assert TABLE[1:].to_pydict()["disease"] == ["cold", "gout"]
    assert TABLE[::-1].to_pydict()["n"] == [30_000, 20, 1]
    assert TABLE.slice(0, 1)["flu"]["n"] == 1
    assert TABLE.select(["n"]).column_names == ["n"]
    assert TABLE.sort_by("chance", descending=True).to_pydict()["disease"] == [
        "flu", "cold", "gout",
    ]  # fmt: skip


def test_others_take_it():
    pandas = pytest.importorskip("pandas")
    polars = pytest.importorskip("polars")
    assert isinstance(TABLE.to_pandas(), pandas.DataFrame)
    assert isinstance(TABLE.to_polars(), polars.DataFrame)
    assert pa.table(TABLE).equals(TABLE.to_arrow())
    assert polars.DataFrame(TABLE).equals(TABLE.to_polars())


def test_equality_copies_and_files(tmp_path):
    with_nan = ResultTable({"x": [float("nan")]})
    assert with_nan == ResultTable({"x": [float("nan")]})
    assert TABLE != PAIRS
    assert TABLE != 3
    assert copy.copy(TABLE) is TABLE
    assert copy.deepcopy(TABLE) == TABLE
    with pytest.raises(TypeError, match="unhashable"):
        hash(TABLE)
    with pytest.raises(AttributeError, match="cannot be changed"):
        TABLE.key = ()
    TABLE.save(tmp_path / "table.parquet")
    assert ResultTable(pa.parquet.read_table(tmp_path / "table.parquet"), "disease") == TABLE


def test_a_table_without_rows():
    empty = TABLE[:0]
    assert len(empty) == len(empty[:3]) == 0
    assert "flu" not in empty
    assert list(empty) == []
    with pytest.raises(UnknownNameError, match="no row is called 'flu'"):
        empty["flu"]
    with pytest.raises(IndexError, match="no row 0: the table has 0 rows"):
        empty[0]


class Shown(ShownAsTable):
    def table(self):
        return TABLE

    def __repr__(self):
        return "Shown(3 rows)"


def test_a_result_shows_its_table_below_one_line():
    assert str(Shown()).splitlines()[:2] == ["Shown(3 rows)", "disease  chance       n"]
    assert Shown()["cold"]["n"] == 20
    assert [row["disease"] for row in Shown()] == ["flu", "cold", "gout"]
    assert Shown()._repr_html_().startswith("<p>Shown(3 rows)</p><table>")
    assert pa.table(Shown()) == TABLE.to_arrow()
    assert len(Shown().to_pandas()) == len(Shown().to_polars()) == 3


def test_numpy_s_numbers_and_texts_become_what_arrow_makes_of_them():
    rng = np.random.default_rng(0)
    columns = {
        "floats": rng.normal(size=5), "whole": rng.integers(0, 9, 5),
        "small": np.arange(5, dtype="u1"),
        "texts": np.array(["", "ä", "\N{FACE WITH THERMOMETER}", "b c", "\x00"], dtype=object),
        "some": np.array(["a", None, "b", "c", "d"], dtype=object), "true": np.arange(5) > 2,
        "strided": np.arange(10.0)[::2], "nan": np.full(5, np.nan),
    }  # fmt: skip
    floats = columns.pop("nan")
    assert np.isnan(ResultTable({"x": floats}).to_arrow()["x"].to_numpy()).all()
    assert ResultTable(columns).to_arrow().equals(pa.table(columns))
    none = {name: values[:0] for name, values in columns.items()}
    assert ResultTable(none).to_arrow().equals(pa.table(none))


def test_a_table_does_not_load_pandas():
    code = (
        "import sys, numpy as np; from noisyor import ResultTable; "
        "t = ResultTable({'a': np.array(['x'], object), 'b': np.ones(1)}, 'a'); "
        "t.to_pylist(); print('pandas' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"


def every_result():
    """Return all kinds of results that print a table."""
    for module in pkgutil.walk_packages(noisyor.__path__, "noisyor."):
        if not module.name.endswith(("kernels", "__main__")):
            importlib.import_module(module.name)
    found, new = set(), {ShownAsTable}
    while new:
        new = {each for kind in new for each in kind.__subclasses__()}
        found |= new
    return sorted(
        (each for each in found if each.__module__.startswith("noisyor.")),
        key=lambda each: each.__name__,
    )


@pytest.mark.parametrize("kind", every_result(), ids=lambda kind: kind.__name__)
def test_every_result_shows_in_its_documentation_how_it_prints(kind):
    examples = doctest.DocTestParser().get_examples(kind.__doc__ or "")
    printed = [each for each in examples if "print(" in each.source and each.want.count("\n") > 1]
    assert printed, f"{kind.__name__} has no doctest of a printed table"
