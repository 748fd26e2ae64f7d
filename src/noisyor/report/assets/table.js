// The table of all estimates: searched, sorted, and shown a page at a time.

const ROWS_OF_A_PAGE = 25;
const COLUMNS = [
  { title: "kind", key: "kind", of: kinds },
  { title: say`disease`, key: "disease", of: null },
  { title: say`symptom`, key: "symptom", of: null },
  { title: "value", key: "value", of: values, number: true },
  { title: "std. error", key: "error", of: errors, number: true, when: data.knows.errors },
  { title: data.knows.errors ? "95% interval" : "value as a bar", key: null },
  { title: "true value", key: "truth", of: truths, number: true, when: data.knows.truth },
  { title: "depth", key: "depth", of: null, number: true },
  { title: "flags", key: "flags", of: null, when: data.knows.flags },
].filter((each) => each.when !== false);

// Where each row stands if rows are sorted by the names of its disease or symptom; NaN without one.
const ranked = (names, of) => {
  const order = names.map((_, i) => i);
  const { compare } = new Intl.Collator("en", { numeric: true });
  order.sort((a, b) => compare(names[a], names[b]));
  const ranks = new Float64Array(names.length);
  order.forEach((name, rank) => { ranks[name] = rank; });
  return Float64Array.from(of, (name) => (name < 0 ? NaN : ranks[name]));
};

const sortKeys = {
  disease: () => ranked(data.diseases, diseaseOf),
  symptom: () => ranked(data.symptoms, symptomOf),
  depth: () => depths.map((depth) => (depth < 0 ? NaN : depth)),
  flags: () => flagSets.map((each) => data.flagSets[each].length || NaN),
};
const sortKey = (name) => {
  const found = COLUMNS.find((each) => each.key === name);
  found.of ??= sortKeys[name]();
  return found.of;
};

// The scale of each kind's bars, with room for all intervals: failures are spread over 0 to 1; priors and leaks are mostly
// small, and where they differ by powers of ten the scale is logarithmic.
const rounded = (x, up) => {
  const step = 10 ** Math.floor(Math.log10(x));
  return Number(((up ? Math.ceil(x / step - 1e-9) : Math.floor(x / step + 1e-9)) * step).toPrecision(1));
};
const scales = KINDS.map((kind, number) => {
  if (kind === "failure") return { least: 0, most: 1 };
  let [least, most] = [1, 1e-6];
  for (let row = 0; row < nRows; row++) {
    if (kinds[row] !== number) continue;
    for (const x of [values[row], uppers[row], truths[row]]) if (x > most) most = x;
    if (values[row] > 1e-6 && values[row] < least) least = values[row];
  }
  most = Math.min(rounded(most, true), 1);
  if (most / least <= 100) return { least: 0, most };
  // Lower ends of intervals too, down to a tenth of the smallest value: 0 is infinitely far away here.
  const floor = least / 10;
  for (let row = 0; row < nRows; row++)
    if (kinds[row] === number && lowers[row] < least) least = Math.max(lowers[row], floor);
  return { least: rounded(least, false), most };
});
const scaleInWords = ({ least, most }) => (least > 0 ? `from ${least} to ${most} (logarithmic)` : `from 0 to ${most}`);

const view = { words: [], kind: "", onlyFlagged: false, sort: null, descending: false, page: 0, rows: [] };

const matching = (names, word) => Uint8Array.from(names, (name) => name.toLowerCase().includes(word));

const findRows = () => {
  const tests = view.words.map((word) => [matching(data.diseases, word), matching(data.symptoms, word)]);
  const rows = [];
  for (let row = 0; row < nRows; row++) {
    if (view.kind !== "" && kinds[row] !== Number(view.kind)) continue;
    if (view.onlyFlagged && !flagSets[row]) continue;
    const [i, j] = [diseaseOf[row], symptomOf[row]];
    if (tests.every(([inDisease, inSymptom]) => inDisease[i] || inSymptom[j])) rows.push(row);
  }
  if (view.sort) {
    const key = sortKey(view.sort);
    const sign = view.descending ? -1 : 1;
    // What has no entry comes last, whichever way is up.
    rows.sort((a, b) => (key[a] !== key[a]) - (key[b] !== key[b]) || sign * (key[a] - key[b]) || a - b);
  }
  view.rows = rows;
};

const tableRow = (row) => element("tr", { class: flagSets[row] ? "flagged" : null },
  ...COLUMNS.map(({ title, key }) => {
    if (title === "kind") return element("td", {}, KINDS[kinds[row]]);
    if (key === "disease") return element("td", { class: "name" }, diseaseOf[row] < 0 ? "" : diseaseLink(diseaseOf[row]));
    if (key === "symptom") return element("td", { class: "name" }, symptomOf[row] < 0 ? "" : symptomLink(symptomOf[row]));
    if (key === "value") return numberCell(shown(values[row]));
    if (key === "error") return numberCell(shown(errors[row]));
    if (key === "truth") return numberCell(shown(truths[row]));
    if (key === "depth") return numberCell(depths[row] < 0 ? "" : String(depths[row]));
    if (key === "flags") return element("td", {}, flagChips(row));
    return element("td", {}, intervalBar(values[row], intervalOf(row), scales[kinds[row]], truths[row]));
  }));

const showPage = () => {
  const nPages = Math.max(Math.ceil(view.rows.length / ROWS_OF_A_PAGE), 1);
  view.page = Math.min(Math.max(view.page, 0), nPages - 1);
  const start = view.page * ROWS_OF_A_PAGE;
  const rows = view.rows.slice(start, start + ROWS_OF_A_PAGE);
  const body = byId("table").tBodies[0];
  body.replaceChildren(...rows.map(tableRow));
  if (!rows.length)
    body.append(element("tr", {}, element("td", { colspan: COLUMNS.length, class: "empty" }, "Nothing matches. Use fewer words, or another kind.")));
  byId("table-status").textContent = `${view.rows.length.toLocaleString("en")} of ${counted(nRows, "parameter")}`;
  byId("page-status").textContent = `page ${(view.page + 1).toLocaleString("en")} of ${nPages.toLocaleString("en")}`;
  for (const id of ["page-first", "page-previous"]) byId(id).disabled = view.page === 0;
  for (const id of ["page-next", "page-last"]) byId(id).disabled = view.page >= nPages - 1;
};

const refresh = () => {
  findRows();
  view.page = 0;
  showPage();
};

const markSorted = (head) => {
  for (const cell of head.cells) {
    const is = cell.dataset.key && cell.dataset.key === view.sort;
    if (is) cell.setAttribute("aria-sort", view.descending ? "descending" : "ascending");
    else cell.removeAttribute("aria-sort");
  }
};

const sortBy = (key) => {
  view.descending = view.sort === key && !view.descending;
  view.sort = key;
  markSorted(byId("table").tHead.rows[0]);
  refresh();
};

const headCell = ({ title, key, number }) => element("th", { scope: "col", "data-key": key, class: number ? "number" : null },
  key ? element("button", { type: "button", class: "sort", onclick: () => sortBy(key) }, title) : title);

// The rows that are found, as a file for spreadsheets, to which a name that begins with = + - or @ would be a formula.
const quotedCell = (text) => `"${(/^[=+@-]/.test(text) ? `'${text}` : text).replaceAll('"', '""')}"`;
const numberText = (x) => (Number.isFinite(x) ? String(x) : "");
const csvOf = (rows) => [
  ["parameter", "disease", "symptom", "value", "standard_error", "lower", "upper", "depth", "flags"].join(","),
  ...rows.map((row) => [
    KINDS[kinds[row]], quotedCell(data.diseases[diseaseOf[row]] ?? ""), quotedCell(data.symptoms[symptomOf[row]] ?? ""),
    ...[values, errors, lowers, uppers].map((each) => numberText(each[row])), depths[row] < 0 ? "" : String(depths[row]),
    quotedCell(reasonsOf(row).map(([short]) => short).join("; ")),
  ].join(",")),
].join("\r\n");
const download = () => {
  const address = URL.createObjectURL(new Blob([csvOf(view.rows)], { type: "text/csv" }));
  element("a", { href: address, download: "parameters.csv" }).click();
  setTimeout(() => URL.revokeObjectURL(address), 10000);
};

const startTable = () => {
  byId("download").addEventListener("click", download);
  byId("table").tHead.append(element("tr", {}, ...COLUMNS.map(headCell)));
  const truth = data.knows.truth ? " The tall mark is the true value." : "";
  byId("table-scale").textContent = `Bars run ${scaleInWords(scales[0])} for priors, from 0 to 1 for failures, ${scaleInWords(scales[2])} for leaks; ` +
    `the dot is the value${data.knows.errors ? ", the line its 95% interval" : ""}.${truth}`;
  byId("table-controls").addEventListener("submit", (event) => event.preventDefault());
  byId("table-search").addEventListener("input", (event) => {
    view.words = event.target.value.toLowerCase().split(/\s+/).filter(Boolean);
    refresh();
  });
  byId("table-kind").addEventListener("change", (event) => { view.kind = event.target.value; refresh(); });
  byId("table-flagged").addEventListener("change", (event) => { view.onlyFlagged = event.target.checked; refresh(); });
  if (!data.knows.flags) byId("table-flagged").closest("label").hidden = true;
  const moves = { first: () => 0, previous: () => view.page - 1, next: () => view.page + 1, last: () => Infinity };
  for (const [name, target] of Object.entries(moves))
    byId(`page-${name}`).addEventListener("click", () => { view.page = target(); showPage(); });
  refresh();
};
