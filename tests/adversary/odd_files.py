"""Files of records as nobody should write them, made from a seed: how odd each is, it does not say.

Columns fever, cough and ache, or a row per finding; with the quotes, ends of lines, blanks, signs,
holes and bytes that parsers stumble over.
"""

import gzip

import pyarrow as pa
import pyarrow.parquet as pq

SYMPTOMS = ("fever", "cough", "ache")
ENDS = ("\n", "\n", "\r\n", "\r")
IDS = (
    "7",
    "a b",
    "ü",
    'q"r',
    "new\nline",
    "x,y",
    "x;y",
    "-",
    "+",
    " pad ",
    "'",
    '""',
    "日本",
    "1e5",
)
FLAGS = (
    ("0", "1"),
    ("0", "1", ""),
    ("no", "yes"),
    ("False", "True", "NA"),
    ("-", "+"),
    ("-", "-", "-", "-", "-", "-", "-", "+"),
    ("-", "0", "1"),
    ("0.0", "1.0", "NaN"),
    (" 0", "1 "),
    ("0", "1", "maybe"),
)


def write_odd_file(folder, rng, number):
    """Write the file of a number; return its path."""
    is_long = rng.random() < 0.4
    if rng.random() < 0.2:
        return _write_parquet(folder / f"{number}.parquet", rng, is_long)
    content = _text(rng, is_long).encode()
    content = _damaged(content, rng)
    ending = rng.choice(["csv", "csv", "csv", "txt", "tsv", "csv.gz"])
    path = folder / f"{number}.{ending}"
    path.write_bytes(gzip.compress(content) if ending.endswith("gz") else content)
    return path


# --- text ---


def _text(rng, is_long):
    delimiter = str(rng.choice([",", ",", ",", ";", "\t", "|"]))
    rows = _long_rows(rng) if is_long else _wide_rows(rng)
    style = rng.random()
    lines = [delimiter.join(_quoted(cell, delimiter, rng, style) for cell in row) for row in rows]
    if rng.random() < 0.3:
        _spoil(lines, rng, delimiter)
    end = str(rng.choice(ENDS))
    text = end.join(lines)
    if rng.random() < 0.7:
        text += end
    if rng.random() < 0.15:  # ends of lines of another kind somewhere
        at = text.find(end, int(rng.integers(0, max(len(text), 1))))
        if at >= 0:
            text = text[:at] + str(rng.choice(["\r", "\n", "\r\n", "\n\r"])) + text[at + len(end) :]
    if rng.random() < 0.1:
        text = f"sep={delimiter}{end}{text}"
    return ("\ufeff" if rng.random() < 0.15 else "") + text


def _wide_rows(rng):
    columns = list(SYMPTOMS[: 1 if rng.random() < 0.05 else 3])
    has_ids = rng.random() < 0.5
    names = ["record", *columns] if has_ids else columns
    if rng.random() < 0.1:
        names = [name.upper() if rng.random() < 0.5 else f" {name} " for name in names]
    flags = FLAGS[rng.integers(len(FLAGS))]
    rows = [names]
    for number in range(rng.integers(0, 40)):
        cells = [str(rng.choice(flags)) for _ in columns]
        rows.append([_id(rng, number), *cells] if has_ids else cells)
    return rows


def _long_rows(rng):
    names = ["record", "symptom", "state"][: 2 if rng.random() < 0.4 else 3]
    flags = FLAGS[rng.integers(len(FLAGS))]
    symptoms = [*SYMPTOMS, "Fever"] if rng.random() < 0.2 else [*SYMPTOMS]
    if rng.random() < 0.1:
        symptoms.append("unheard of")
    rows, seen = [names], set()
    for _ in range(rng.integers(0, 60)):
        row = [_id(rng, int(rng.integers(0, 25))), str(rng.choice(symptoms))]
        if (
            rng.random() < 0.98 and (row[0], row[1].lower()) in seen
        ):  # else a contradiction, perhaps
            continue
        seen.add((row[0], row[1].lower()))
        rows.append([*row, str(rng.choice(flags))][: len(names)])
    return rows


def _id(rng, number):
    chance = rng.random()
    if chance < 0.02:
        return str(rng.choice(IDS))
    return "" if chance < 0.022 else str(number)


def _quoted(cell, delimiter, rng, style):
    """Quote where one must, where one likes to, and, hardly ever, where one must not."""
    must = any(character in cell for character in (delimiter, '"', "\n", "\r"))
    if style < 0.05 and must:
        return cell
    if must or style > 0.85:
        return '"' + cell.replace('"', '""') + '"'
    if style < 0.02:
        return cell[:1] + '"' + cell[1:]
    return cell


def _spoil(lines, rng, delimiter):
    at = int(rng.integers(0, len(lines) + 1))
    kind = rng.integers(6)
    if kind < 3:
        lines.insert(at, ["", " ", '""'][kind])
    elif at < len(lines):
        lines[at] += [delimiter, f"{delimiter}1", '"'][kind - 3]


def _damaged(content, rng):
    chance = rng.random()
    at = int(rng.integers(0, len(content) + 1))
    if chance < 0.03:
        return content[:at] + bytes([int(rng.integers(0, 256))]) + content[at:]
    if chance < 0.05:
        return content[:at]
    return b"" if chance < 0.06 else content


# --- Parquet ---


def _write_parquet(path, rng, is_long):
    rows = _long_rows(rng) if is_long else _wide_rows(rng)
    names, cells = rows[0], list(zip(*rows[1:], strict=True)) or [()] * len(rows[0])
    columns = {
        name.strip(): _column(list(values), rng) for name, values in zip(names, cells, strict=True)
    }
    pq.write_table(pa.table(columns), path, row_group_size=int(rng.integers(1, 20)))
    return path


def _column(values, rng):
    """Return texts, or what else can be made of them."""
    texts = pa.array(values, pa.string())
    wanted = [pa.int64(), pa.uint64(), pa.float64(), pa.bool_(), pa.large_string()]
    for index in rng.permutation(len(wanted)):
        try:
            column = texts.cast(wanted[index])
        except pa.ArrowInvalid:
            continue
        if wanted[index] == pa.uint64() and rng.random() < 0.3:
            return pa.array([2**63 + int(value) for value in values], pa.uint64())
        return column.dictionary_encode() if rng.random() < 0.2 else column
    return texts
