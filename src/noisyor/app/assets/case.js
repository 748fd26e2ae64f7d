// The case: findings that are present or absent, and what else is known of the person. Each change is a new
// value, so that it can be undone. What is not in it is unknown.

const EMPTY = Object.freeze({ findings: new Map(), covariates: {} });
const MOST_KEPT = 500;
const MOST_LINKED = 200;

export const namesOf = (value, state) =>
  [...value.findings].filter(([, each]) => each === state).map(([name]) => name);

// Which of the models do not know a finding, in words; null where all do.
export const unknownTo = (name, models) => {
  const without = models.filter(({ symptomSet }) => !symptomSet.has(name));
  if (!without.length) return null;
  if (models.length === 1) return "the model does not know it";
  return without.length === models.length ? "neither model knows it" : `${without[0].name} does not know it`;
};

// The body of a question: what a model does not know is left out, and told.
export const bodyFor = (value, data) => {
  const known = data.symptomSet;
  const ofPerson = data.covariates.map(({ name }) => name).filter((name) => Object.hasOwn(value.covariates, name));
  const body = {
    model: data.name,
    present: namesOf(value, "present").filter((name) => known.has(name)),
    absent: namesOf(value, "absent").filter((name) => known.has(name)),
  };
  if (ofPerson.length) body.covariates = Object.fromEntries(ofPerson.map((name) => [name, value.covariates[name]]));
  return body;
};

export class CaseHistory {
  constructor(onChange) {
    this.now = EMPTY;
    this.past = [];
    this.future = [];
    this.onChange = onChange;
  }

  replace(value) {
    this.past.push(this.now);
    if (this.past.length > MOST_KEPT) this.past.shift();
    this.future = [];
    this.now = value;
    this.onChange();
  }

  // Another case altogether, such as the next record of a file: the same as a change.
  open(findings, covariates = {}) { this.replace({ findings: new Map(findings), covariates: { ...covariates } }); }

  set(name, state) {
    if ((this.now.findings.get(name) ?? "unknown") === state) return;
    const findings = new Map(this.now.findings);
    if (state === "unknown") findings.delete(name);
    else findings.set(name, state);
    this.replace({ ...this.now, findings });
  }

  cycle(name) {
    const next = { unknown: "present", present: "absent", absent: "unknown" };
    this.set(name, next[this.now.findings.get(name) ?? "unknown"]);
  }

  setCovariate(name, value) {
    const covariates = { ...this.now.covariates };
    if (value === null) delete covariates[name];
    else covariates[name] = value;
    this.replace({ ...this.now, covariates });
  }

  reset() { if (this.now.findings.size || Object.keys(this.now.covariates).length) this.replace(EMPTY); }

  undo() { this.step(this.past, this.future); }

  redo() { this.step(this.future, this.past); }

  step(from, to) {
    if (!from.length) return;
    to.push(this.now);
    this.now = from.pop();
    this.onChange();
  }
}

// --- the case in the fragment of the address, which browsers send to no server ---

export const toFragment = (value, where) => {
  if (value.findings.size > MOST_LINKED) return null;
  const parts = [];
  const add = (key, text) => parts.push(`${key}=${encodeURIComponent(text)}`);
  if (where.model) add("model", where.model);
  if (where.other) add("beside", where.other);
  for (const [name, state] of value.findings) add(state === "present" ? "p" : "a", name);
  for (const [name, given] of Object.entries(value.covariates)) add("given", `${name}=${given}`);
  if (where.disease) add("disease", where.disease);
  return parts.join("&");
};

export const fromFragment = (hash) => {
  const found = { findings: new Map(), covariates: {}, model: null, other: null, disease: null, token: null };
  const text = hash.replace(/^#/, "");
  if (!text.includes("=")) return text ? null : found;
  for (const part of text.split("&")) {
    const [key, raw] = [part.slice(0, part.indexOf("=")), part.slice(part.indexOf("=") + 1)];
    let word;
    try { word = decodeURIComponent(raw); } catch { continue; }
    if (key === "p") found.findings.set(word, "present");
    else if (key === "a") found.findings.set(word, "absent");
    else if (key === "given" && word.includes("=")) found.covariates[word.slice(0, word.indexOf("="))] = word.slice(word.indexOf("=") + 1);
    else if (key === "model") found.model = word;
    else if (key === "beside") found.other = word;
    else if (key === "disease") found.disease = word;
    else if (key === "token") found.token = word;
  }
  return found;
};
