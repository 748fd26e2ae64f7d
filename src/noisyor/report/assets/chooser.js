// One disease, or one symptom: chosen in a list, by a link, or by the address (#disease=..., #symptom=...).

const MOST_LISTED = 300;
const percent = (value) => `${(100 * value).toPrecision(value >= 0.0995 ? 3 : 2)}%`;
const isNumber = (title) => !["disease", "symptom", "95% interval", "as a bar", "flags"].includes(title);
const headOf = (titles) => element("tr", {}, ...titles.map((title) =>
  element("th", { scope: "col", class: isNumber(title) ? "number" : null }, translated(title))));

const withInterval = (row) => {
  const [lower, upper] = intervalOf(row);
  if (errors[row] === 0) return ""; // it was fixed
  if (Number.isFinite(lower)) return ` (95% interval ${percent(lower)} to ${percent(upper)})`;
  return data.knows.errors ? " (interval unknown)" : "";
};
const reservations = (row) => {
  const reasons = reasonsOf(row).map(([, reason]) => translated(reason)).join("; ");
  const truth = Number.isFinite(truths[row]) ? ` The truth is ${percent(truths[row])}.` : "";
  return `${truth}${reasons ? ` Flagged: ${reasons}.` : ""}`;
};

// The cells of an edge, in the tables of its disease and of its symptom.
const edgeCells = (edge) => {
  const row = firstEdge + edge;
  const [lower, upper] = intervalOf(row);
  const bar = () => element("td", {}, intervalBar(strengthOf(edge), [1 - upper, 1 - lower], { least: 0, most: 1 }, 1 - truths[row]));
  return {
    disease: () => element("td", { class: "name" }, diseaseLink(ownerOf(edge))),
    symptom: () => element("td", { class: "name" }, symptomLink(data.edges[edge])),
    "causes it in": () => numberCell(`${(100 * strengthOf(edge)).toFixed(1)}%`),
    "95% interval": bar,
    "as a bar": bar,
    failure: () => numberCell(shown(values[row])),
    "std. error": () => numberCell(shown(errors[row])),
    "true failure": () => numberCell(shown(truths[row])),
    depth: () => numberCell(depths[row] < 0 ? "" : String(depths[row])),
    prior: () => numberCell(shown(values[ownerOf(edge)])),
    "causes it, of all records": () => numberCell(percent(values[ownerOf(edge)] * strengthOf(edge))),
    "other causes": () => numberCell(String(edgesOfSymptom[data.edges[edge]].length - 1)),
    flags: () => element("td", {}, flagChips(row)),
  };
};
const edgeRow = (titles) => (edge) => {
  const cells = edgeCells(edge);
  return element("tr", { class: flagSets[firstEdge + edge] ? "flagged" : null }, ...titles.map((title) => cells[title]()));
};

class Chooser {
  // `kind` is disease or symptom; `beside` a number for each name, by which they are ordered.
  constructor(kind, names, beside, titles, show) {
    Object.assign(this, { kind, names, beside, titles, show, chosen: -1 });
    this.numberOf = new Map(names.map((name, i) => [name, i]));
    this.order = names.map((_, i) => i).sort((a, b) => beside[b] - beside[a] || a - b);
  }

  at(part) { return byId(`${this.kind}-${part}`); }

  list() {
    const wanted = this.at("search").value.toLowerCase().trim();
    const found = this.order.filter((i) => this.names[i].toLowerCase().includes(wanted));
    this.at("list").replaceChildren(...found.slice(0, MOST_LISTED).map((i) => element("li", {},
      element("button", { type: "button", "data-number": i, "aria-current": i === this.chosen ? "true" : null, onclick: () => this.visit(i) },
        element("span", {}, this.names[i]), element("span", { class: "prior" }, shown(this.beside[i]))))));
    const left = found.length - MOST_LISTED;
    this.at("more").textContent = !found.length ? translated(`No ${this.kind} matches.`)
      : left > 0 ? `${left.toLocaleString("en")} more: search for them.` : "The most frequent first.";
  }

  choose(number) {
    this.chosen = number;
    this.at("name").textContent = this.names[number];
    this.show(number);
    for (const button of this.at("list").querySelectorAll("button"))
      if (Number(button.dataset.number) === number) button.setAttribute("aria-current", "true");
      else button.removeAttribute("aria-current");
  }

  fill(caption, edges) {
    const table = this.at("table");
    table.caption.textContent = caption;
    table.tBodies[0].replaceChildren(...edges.map(edgeRow(this.titles)));
  }

  visit(number) {
    const address = `#${this.kind}=${encodeURIComponent(this.names[number])}`;
    if (location.hash === address) this.follow();
    else location.hash = address;
  }

  follow() {
    const start = `#${this.kind}=`;
    if (!location.hash.startsWith(start)) return;
    let name = location.hash.slice(start.length);
    try { name = decodeURIComponent(name); } catch { return; }
    if (!this.numberOf.has(name)) return;
    const section = byId(`${this.kind}s`);
    section.classList.add("is-chosen");
    this.choose(this.numberOf.get(name));
    section.scrollIntoView({ block: "start" });
    this.at("name").focus({ preventScroll: true });
  }

  start() {
    if (!this.names.length) { byId(`${this.kind}s`).hidden = true; return; }
    this.at("table").tHead.append(headOf(this.titles));
    this.at("search").addEventListener("input", () => this.list());
    this.list();
    this.choose(this.order[0]);
    addEventListener("hashchange", () => this.follow());
    this.follow();
  }
}
