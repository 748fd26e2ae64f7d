// One disease: chosen in the list, by a link, or by the address (#disease=...).

const MOST_LISTED = 300;
let chosen = -1;
let closer = null;
const numberOf = new Map(data.diseases.map((name, i) => [name, i]));
const byPrior = data.diseases.map((_, i) => i).sort((a, b) => values[b] - values[a] || a - b);

const listDiseases = () => {
  const wanted = byId("disease-search").value.toLowerCase().trim();
  const found = byPrior.filter((i) => data.diseases[i].toLowerCase().includes(wanted));
  byId("disease-list").replaceChildren(...found.slice(0, MOST_LISTED).map((i) => element("li", {},
    element("button", { type: "button", "data-disease": i, "aria-current": i === chosen ? "true" : null, onclick: () => visit(i) },
      element("span", {}, data.diseases[i]), element("span", { class: "prior" }, shown(values[i]))))));
  const left = found.length - MOST_LISTED;
  byId("disease-more").textContent = !found.length ? "No disease matches."
    : left > 0 ? `${left.toLocaleString("en")} more: search for them.` : "By prior, the most frequent first.";
};

const percent = (value) => `${(100 * value).toPrecision(value >= 0.0995 ? 3 : 2)}%`;

const inWords = (disease) => {
  const [lower, upper] = intervalOf(disease);
  const interval = errors[disease] === 0 ? "" // it was fixed
    : Number.isFinite(lower) ? ` (95% interval ${percent(lower)} to ${percent(upper)})`
    : data.knows.errors ? " (interval unknown)" : "";
  const reasons = reasonsOf(disease).map(([, reason]) => reason).join("; ");
  const truth = Number.isFinite(truths[disease]) ? ` The truth is ${percent(truths[disease])}.` : "";
  return `Prior: ${percent(values[disease])} of records have it${interval}.${truth}${reasons ? ` Flagged: ${reasons}.` : ""}`;
};

const DISEASE_COLUMNS = [
  "symptom", "causes it in", data.knows.errors ? "95% interval" : "as a bar", "failure",
  ...(data.knows.errors ? ["std. error"] : []), ...(data.knows.truth ? ["true failure"] : []), "depth", "other causes",
  ...(data.knows.flags ? ["flags"] : []),
];
const isNumber = (title) => !["symptom", "95% interval", "as a bar", "flags"].includes(title);

const symptomRow = (edge) => {
  const row = firstEdge + edge;
  const [lower, upper] = intervalOf(row);
  const cells = {
    symptom: () => element("td", { class: "name" }, data.symptoms[data.edges[edge]]),
    "causes it in": () => numberCell(`${(100 * strengthOf(edge)).toFixed(1)}%`),
    failure: () => numberCell(shown(values[row])),
    "std. error": () => numberCell(shown(errors[row])),
    "true failure": () => numberCell(shown(truths[row])),
    depth: () => numberCell(depths[row] < 0 ? "" : String(depths[row])),
    "other causes": () => numberCell(String(edgesOfSymptom[data.edges[edge]].length - 1)),
    flags: () => element("td", {}, flagChips(row)),
  };
  const bar = () => element("td", {}, intervalBar(strengthOf(edge), [1 - upper, 1 - lower], 1, 1 - truths[row]));
  return element("tr", { class: flagSets[row] ? "flagged" : null }, ...DISEASE_COLUMNS.map((title) => (cells[title] ?? bar)()));
};

const showPicture = (disease) => {
  const made = neighbourhood(disease, visit);
  const picture = drawn("svg", {
    id: "neighbourhood", viewBox: `0 0 ${PICTURE.width} ${made.height}`, tabindex: 0, role: "group",
    "aria-label": `${data.diseases[disease]}, its symptoms, and other diseases that cause them. Plus and minus zoom, arrows move.`,
  }, made.scene);
  closer = zoomable(picture, made.scene, made.height);
  litUp(picture);
  byId("picture").replaceChildren(picture);
  const left = [];
  if (made.nSymptoms > made.nEdges) left.push(counted(made.nSymptoms - made.nEdges, "weaker symptom"));
  if (made.nSharing > made.nOthers) left.push(`${counted(made.nSharing - made.nOthers, "other disease")} that can cause its symptoms`);
  byId("picture-says").replaceChildren(
    `Wide lines: often caused${data.knows.flags ? "; dashed: flagged" : ""}. `,
    element("span", { class: "no-print" }, "Click the picture, then zoom with the wheel; drag to move; or use + − 0 and the arrow keys. "),
    left.length ? `Not shown: ${left.join(" and ")}.` : "");
};

const showDisease = (disease) => {
  chosen = disease;
  byId("disease-name").textContent = data.diseases[disease];
  byId("disease-says").textContent = inWords(disease);
  showPicture(disease);
  const table = byId("disease-table");
  table.caption.textContent = `What it causes, by strength: ${counted(data.children[disease], "symptom")}`;
  table.tBodies[0].replaceChildren(...byStrength(disease).map(symptomRow));
  for (const button of byId("disease-list").querySelectorAll("button"))
    if (Number(button.dataset.disease) === disease) button.setAttribute("aria-current", "true");
    else button.removeAttribute("aria-current");
};

const visit = (disease) => {
  const address = `#disease=${encodeURIComponent(data.diseases[disease])}`;
  if (location.hash === address) followAddress();
  else location.hash = address;
};

const followAddress = () => {
  if (!location.hash.startsWith("#disease=")) return;
  let name = location.hash.slice("#disease=".length);
  try { name = decodeURIComponent(name); } catch { return; }
  if (!numberOf.has(name)) return;
  byId("diseases").classList.add("is-chosen");
  showDisease(numberOf.get(name));
  byId("diseases").scrollIntoView({ block: "start" });
  byId("disease-name").focus({ preventScroll: true });
};

const startDiseases = () => {
  if (!nDiseases) { byId("diseases").hidden = true; return; }
  byId("disease-table").tHead.append(element("tr", {}, ...DISEASE_COLUMNS.map((title) =>
    element("th", { scope: "col", class: isNumber(title) ? "number" : null }, title))));
  byId("disease-search").addEventListener("input", listDiseases);
  byId("zoom-in").addEventListener("click", () => closer.zoom(1.25));
  byId("zoom-out").addEventListener("click", () => closer.zoom(0.8));
  byId("zoom-reset").addEventListener("click", () => closer.reset());
  listDiseases();
  showDisease(byPrior[0]);
  addEventListener("hashchange", followAddress);
  followAddress();
};

startTable();
startDiseases();
makeReachable();
document.documentElement.dataset.ready = "yes";
