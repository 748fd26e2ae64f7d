// The numbers of the page (`data`) as arrays with one entry per parameter: priors, then failures, then leaks.

const KINDS = ["prior", "failure", "leak"];
const nDiseases = data.diseases.length;
const nEdges = data.edges.length;
const nSymptoms = data.symptoms.length;
const nRows = nDiseases + nEdges + nSymptoms;
const firstEdge = nDiseases;
const firstLeak = nDiseases + nEdges;

const column = (name, missing) => {
  const joined = new Float64Array(nRows).fill(missing);
  let start = 0;
  for (const [place, kind] of KINDS.entries()) {
    const values = data.parameters[kind][name];
    if (values) values.forEach((value, i) => { if (value !== null) joined[start + i] = value; });
    start += [nDiseases, nEdges, nSymptoms][place];
  }
  return joined;
};

const values = column("values", NaN);
const errors = column("errors", NaN);
const lowers = column("lower", NaN);
const uppers = column("upper", NaN);
const depths = column("depths", -1);
const flagSets = column("flags", 0);
const truths = column("truth", NaN);
const kinds = new Uint8Array(nRows).fill(1, firstEdge, firstLeak).fill(2, firstLeak);

// The edges of disease i are edgeStarts[i] to edgeStarts[i + 1]; -1 where there is no disease or symptom.
const edgeStarts = new Int32Array(nDiseases + 1);
const diseaseOf = new Int32Array(nRows).fill(-1);
const symptomOf = new Int32Array(nRows).fill(-1);
for (let i = 0; i < nDiseases; i++) {
  edgeStarts[i + 1] = edgeStarts[i] + data.children[i];
  diseaseOf[i] = i;
  diseaseOf.fill(i, firstEdge + edgeStarts[i], firstEdge + edgeStarts[i + 1]);
}
symptomOf.set(data.edges, firstEdge);
for (let j = 0; j < nSymptoms; j++) symptomOf[firstLeak + j] = j;

const edgesOfSymptom = Array.from({ length: nSymptoms }, () => []);
data.edges.forEach((symptom, edge) => edgesOfSymptom[symptom].push(edge));
const ownerOf = (edge) => diseaseOf[firstEdge + edge];
const strengthOf = (edge) => 1 - values[firstEdge + edge];

const intervalOf = (row) => [lowers[row], uppers[row]];
const reasonsOf = (row) => data.flagSets[flagSets[row]].map((place) => data.reasons[place]);

const shown = (value) => {
  if (!Number.isFinite(value)) return "";
  if (value === 0 || Math.abs(value) >= 0.001) return value.toFixed(4);
  return value.toPrecision(2);
};

// The reader's words in place of disease, symptom and record. `say` takes a template: what is put into it, such as a
// name, stays as it is.
const translated = (text) => (data.words ? text.replace(/\b(an? )?(disease|symptom|finding|record)(s?)\b/gi, (all, article, noun, many) => {
  const found = `${noun}${many}`.toLowerCase();
  const word = data.words[found] ?? found;
  const put = noun[0] === noun[0].toUpperCase() ? word[0].toUpperCase() + word.slice(1) : word;
  return (article ? `${article[0]}${/^[aeiou]/i.test(word) ? "n" : ""} ` : "") + put;
}) : text);
const say = (texts, ...between) => texts.map((text, i) => translated(text) + (between[i] ?? "")).join("");
const counted = (n, noun) => `${n.toLocaleString("en")} ${translated(`${noun}${n === 1 ? "" : "s"}`)}`;
