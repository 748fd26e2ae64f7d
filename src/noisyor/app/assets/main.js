// The page: what is asked when the case changes, and where the answers go.

import { showQuestions, showSets } from "./advice.js";
import { CaseHistory, bodyFor, fromFragment, toFragment } from "./case.js";
import { ChosenPanel } from "./chosen.js";
import { DiseasesPanel } from "./diseases.js";
import { byId, element } from "./dom.js";
import { exportCsv, exportJson } from "./exporting.js";
import { FindingsPanel } from "./findings.js";
import { RecordsPanel } from "./records.js";
import reportParts from "./report.js";
import { Index } from "./search.js";
import { Refusal, ask, cancel, get } from "./server.js";
import { rememberTexts, say, speakAs } from "./words.js";

const PATIENCE = 150; // milliseconds until the page says that it works
const LONG = 4000; // ... and until it says why that may take longer
let rowsAsked = 200; // of the most probable diseases; all, when someone wants to see more

const state = { models: [], data: null, other: null, chosen: null, isPinned: false, answers: [], explained: null, questions: null, sets: null, labels: null, version: "" };
const loaded = new Map();
const history = new CaseHistory(() => changed());
const findings = new FindingsPanel(history);
const diseases = new DiseasesPanel((name) => choose(name), (n) => {
  if (n <= rowsAsked || rowsAsked >= state.data.diseases.length) return;
  rowsAsked = Math.max(state.data.diseases.length, state.other?.diseases.length ?? 0);
  askAll();
});
const chosen = new ChosenPanel(history, (name) => choose(name));
const records = new RecordsPanel(history, () => state.data, (labels) => { state.labels = labels; });

// --- messages ---

const complain = (error) => {
  if (error.status === 401) byId("token-form").hidden = false;
  byId("message").textContent = error.message;
  byId("message").hidden = false;
};
const calm = () => { byId("message").hidden = true; document.body.classList.remove("is-stale"); };

// What is told although all goes on; the next change of the case takes it away.
const tell = (text) => { byId("notice").textContent = text; byId("notice").hidden = !text; };

// The answer of a question that may be refused; then the last answer stays, and the reason is told.
const tried = async (question) => {
  try {
    return await question;
  } catch (error) {
    if (!(error instanceof Refusal)) throw error;
    complain(error);
    return null;
  }
};

// --- asking ---

let nWaiting = 0;
const busily = async (work) => {
  nWaiting += 1;
  document.body.dataset.waiting = String(nWaiting);
  const timer = setTimeout(() => { byId("busy").hidden = false; document.body.classList.add("is-busy"); }, PATIENCE);
  const longer = setTimeout(() => { byId("patience").textContent = "Still working. After an installation the first answers wait until loops are compiled, up to a minute."; }, LONG);
  try {
    return await work();
  } finally {
    clearTimeout(timer);
    clearTimeout(longer);
    nWaiting -= 1;
    document.body.dataset.waiting = String(nWaiting);
    if (!nWaiting) { byId("busy").hidden = true; byId("patience").textContent = ""; document.body.classList.remove("is-busy"); }
  }
};

// The model that is asked about the chosen disease: the second one, if only that has it.
const asked = () => (state.other && state.chosen !== null && !state.data.diseaseSet.has(state.chosen) && state.other.diseaseSet.has(state.chosen) ? 1 : 0);
const modelAsked = () => [state.data, state.other][asked()];
const ofModel = (data) => (state.other ? `, by ${data.name}` : "");

const body = (data, more = {}) => ({ ...bodyFor(history.now, data), ...more });

const askPosteriors = async () => {
  const models = state.other ? [state.data, state.other] : [state.data];
  const draws = { draws: 0, top: rowsAsked };
  const answers = await Promise.all(models.map((data, at) => tried(ask(`posterior ${at}`, "api/posterior", body(data, draws)))));
  if (answers.some((answer) => !answer)) {
    document.body.classList.toggle("is-stale", !byId("message").hidden); // what is shown is of another case
    return false;
  }
  calm();
  state.answers = answers;
  if (!state.isPinned || !answers.some(({ probabilities }) => Object.hasOwn(probabilities, state.chosen))) state.chosen = answers[0].diseases[0]?.disease ?? null;
  showAnswers();
  if (byId("group").value === "likely") findings.showResults();
  return true;
};

const askIntervals = async () => {
  if (!state.data.has_errors) return;
  const answer = await tried(ask("intervals", "api/posterior", body(state.data, { top: rowsAsked })));
  if (!answer) return;
  state.answers = [answer, ...state.answers.slice(1)];
  showAnswers();
};

const askExplanation = async () => {
  if (!state.chosen) return;
  const name = state.chosen;
  const explained = await tried(ask("explain", "api/explain", body(modelAsked(), { diseases: [name] })));
  if (!explained) return;
  state.explained = explained;
  chosen.showExplanation(name, explained, state.answers[asked()]);
};

const askQuestions = async () => {
  const isAbout = byId("about").checked && state.chosen !== null;
  const data = isAbout ? modelAsked() : state.data;
  const found = await tried(ask("questions", "api/questions", body(data, { top: 6, ...(isAbout ? { about: state.chosen } : {}) })));
  if (!found) return;
  state.questions = found;
  showQuestions(found, (name, answer) => history.set(name, answer), ofModel(data));
};

const askSets = async () => {
  const found = await tried(ask("sets", "api/sets", body(state.data, { k: 5, budget: 0.5 })));
  if (!found) return;
  state.sets = found;
  showSets(found, ofModel(state.data));
};

const FOLLOWING = ["intervals", "explain", "questions", "sets"];

const askAll = () => busily(async () => {
  cancel(...FOLLOWING);
  if (!(await askPosteriors())) return;
  await Promise.all([askExplanation(), askQuestions(), askSets(), askIntervals()]);
});

// --- showing ---

const reasonsOf = (data) => new Map(data.reasons.map(([short, reason]) => [short.replaceAll(" ", "_"), reason]));

const showAnswers = () => {
  diseases.show(state.answers, state.chosen, state.labels);
  showChosen();
};

const showChosen = () => {
  byId("chosen").hidden = byId("around").hidden = !state.chosen;
  if (!state.chosen) return;
  const [at, data] = [asked(), modelAsked()];
  chosen.priorOf = (disease) => data.parameters.prior.values[data.diseases.indexOf(disease)];
  chosen.showHead(state.chosen, data, state.answers[at], state.answers[1 - at], reasonsOf(data));
  chosen.showPicture(partsOf(data), data, data.diseases.indexOf(state.chosen), state.answers[at]);
  byId("about-says").textContent = `about ${state.chosen} only`;
};

const choose = (name) => {
  if (!state.answers.some(({ probabilities }) => Object.hasOwn(probabilities, name))) return;
  state.chosen = name;
  state.isPinned = true;
  writeAddress();
  showAnswers();
  if (byId("group").value) findings.showResults();
  if (matchMedia("(max-width: 800px)").matches) byId("chosen").scrollIntoView({ block: "start" }); // it lies below
  const more = byId("about").checked ? [askQuestions()] : [];
  busily(() => Promise.all([askExplanation(), ...more]));
};

const writeAddress = () => {
  const disease = state.isPinned ? state.chosen : null;
  const isFirst = state.data.name === state.models[0].name;
  const fragment = toFragment(history.now, { model: isFirst ? null : state.data.name, other: state.other?.name, disease });
  window.history.replaceState(null, "", fragment ? `#${fragment}` : location.pathname);
  byId("link").disabled = fragment === null;
  byId("link").title = fragment === null ? "The case is too long for a link; JSON holds it" : "Copy a link that holds the case";
};

// A button that has the focus and can no longer be pressed gives it to the other.
const enable = (name, isEnabled, other) => {
  const hasFocus = document.activeElement === byId(name);
  byId(name).disabled = !isEnabled;
  if (hasFocus && !isEnabled) byId(other).focus();
};

const changed = () => {
  enable("undo", history.past.length > 0, "redo");
  enable("redo", history.future.length > 0, "undo");
  tell("");
  if (!state.data) return;
  findings.showCase();
  writeAddress();
  askAll();
};

// --- models ---

const load = async (name) => {
  if (!loaded.has(name)) {
    const data = await get(`api/model?model=${encodeURIComponent(name)}`);
    loaded.set(name, Object.assign(data, { symptomSet: new Set(data.symptoms), diseaseSet: new Set(data.diseases) }));
  }
  return loaded.get(name);
};

const partsOf = (data) => {
  data.parts ??= reportParts(data);
  return data.parts;
};

// The findings of a group, by their numbers in the first model.
const groupOf = (kind) => {
  const likely = kind === "likely" ? (state.answers[0]?.diseases ?? []).slice(0, 10).map(({ disease }) => disease) : [];
  const [data, names] = kind === "likely" ? [state.data, likely] : [modelAsked(), state.chosen === null ? [] : [state.chosen]];
  const edges = names.flatMap((name) => partsOf(data).byStrength(data.diseases.indexOf(name)));
  const found = [...new Set(edges.map((edge) => data.symptoms[data.edges[edge]]))];
  const numbers = new Map(state.data.symptoms.map((name, i) => [name, i]));
  return found.filter((name) => numbers.has(name)).map((name) => numbers.get(name));
};

const useModel = async (name, other) => {
  const [data, beside] = [await load(name), other ? await load(other) : null];
  Object.assign(state, { data, other: beside, answers: [], explained: null });
  document.title = `${name} – noisyor`;
  speakAs(data);
  byId("standing").hidden = data.verdict.level !== "bad";
  byId("standing").textContent = `${data.verdict.sentence} Explore says why.`;
  byId("model").value = name;
  byId("other").value = other ?? "";
  diseases.clear();
  findings.useModel(data, beside, new Index(data.symptoms, data.synonyms), groupOf);
  byId("explore").replaceChildren();
  if (!byId("explore").hidden) showReport();
};

const switchModel = () => busily(async () => {
  const name = byId("model").value;
  const other = byId("other").value === name ? "" : byId("other").value;
  if (name !== state.data.name) records.close();
  try { await useModel(name, other || null); } catch (error) { complain(error); return; }
  changed();
});

const showReport = () => {
  const address = `report?model=${encodeURIComponent(state.data.name)}`;
  byId("explore").replaceChildren(element("iframe", { src: address, title: `Report of ${state.data.name}` }));
};

const showTab = (name) => {
  for (const each of ["diagnose", "explore"]) {
    byId(each).hidden = each !== name;
    byId(`tab-${each}`).setAttribute("aria-selected", String(each === name));
    byId(`tab-${each}`).tabIndex = each === name ? 0 : -1;
  }
  if (name === "explore" && !byId("explore").firstChild) showReport();
};

// --- the toolbar and the keyboard ---

const copyLink = async () => {
  const told = byId("link").textContent;
  try { await navigator.clipboard.writeText(location.href); byId("link").textContent = "Copied"; } catch { byId("link").textContent = "See the address"; }
  setTimeout(() => { byId("link").textContent = told; }, 1500);
};

// All diseases, also those that are not shown.
const wholeAnswers = async () => {
  const models = state.other ? [state.data, state.other] : [state.data];
  return Promise.all(models.map((data, at) => ask(`whole ${at}`, "api/posterior", body(data, { top: Math.max(data.diseases.length, 1) }))));
};

const exported = (write) => busily(async () => {
  const answers = await tried(wholeAnswers());
  if (answers && answers.every(Boolean)) write(answers);
});

const onKey = (event) => {
  const inField = event.target.closest("input, select, textarea");
  const isCommand = event.ctrlKey || event.metaKey;
  if (event.key === "/" && !inField && !isCommand) { event.preventDefault(); byId("search").focus(); byId("search").select(); }
  if (!isCommand || event.altKey || (inField && inField.value)) return;
  const key = event.key.toLowerCase();
  if (key === "z") { event.preventDefault(); if (event.shiftKey) history.redo(); else history.undo(); }
  if (key === "y") { event.preventDefault(); history.redo(); }
};

const startTools = () => {
  byId("undo").addEventListener("click", () => history.undo());
  byId("redo").addEventListener("click", () => history.redo());
  byId("reset").addEventListener("click", () => { state.isPinned = false; history.reset(); });
  byId("link").addEventListener("click", copyLink);
  byId("print").addEventListener("click", () => window.print());
  byId("export-json").addEventListener("click", () => exported((answers) => exportJson(history.now, answers, { version_of_noisyor: state.version, explanation: state.explained, sets: state.sets })));
  byId("export-csv").addEventListener("click", () => exported(exportCsv));
  byId("model").addEventListener("change", switchModel);
  byId("other").addEventListener("change", switchModel);
  byId("about").addEventListener("change", () => busily(askQuestions));
  byId("skip").addEventListener("click", (event) => { event.preventDefault(); byId("search").focus(); });
  for (const name of ["diagnose", "explore"]) {
    byId(`tab-${name}`).addEventListener("click", () => showTab(name));
    byId(`tab-${name}`).addEventListener("keydown", (event) => {
      if (!["ArrowLeft", "ArrowRight"].includes(event.key)) return;
      const next = name === "diagnose" ? "explore" : "diagnose";
      showTab(next);
      byId(`tab-${next}`).focus();
    });
  }
  document.addEventListener("keydown", onKey);
  addEventListener("hashchange", followAddress);
};

// --- the address ---

const followAddress = async () => {
  const found = fromFragment(location.hash);
  if (!found) return;
  const names = state.models.map(({ name }) => name);
  const name = names.includes(found.model) ? found.model : found.model === null ? names[0] : state.data?.name ?? names[0];
  const other = names.includes(found.other) && found.other !== name ? found.other : null;
  if (name !== state.data?.name || other !== (state.other?.name ?? null)) await useModel(name, other);
  Object.assign(state, { chosen: found.disease ?? state.chosen, isPinned: Boolean(found.disease) });
  history.open(found.findings, found.covariates);
  const missing = [found.model, found.other].filter((each) => each !== null && !names.includes(each));
  if (missing.length) tell(`The link is about ${missing.join(" and ")}, which is not open here: the answers are those of ${name}.`);
  else if (found.disease && ![state.data, state.other].some((data) => data?.diseaseSet.has(found.disease))) tell(say`The link is about ${found.disease}, which is not a disease of ${name}.`);
};

const start = async () => {
  const { token } = fromFragment(location.hash) ?? {};
  if (token) {
    window.history.replaceState(null, "", location.pathname);
    await ask("session", "api/session", { token });
  }
  const { models, version, read_only: readOnly } = await get("api/models");
  Object.assign(state, { models, version });
  for (const select of ["model", "other"]) byId(select).append(...models.map(({ name }) => element("option", { value: name }, name)));
  byId("other").prepend(element("option", { value: "" }, "none"));
  byId("other-pick").hidden = models.length < 2;
  byId("file").hidden = readOnly;
  byId("about-page").prepend(`noisyor ${version}. `);
  byId("method").textContent = "Loading the model …";
  await busily(followAddress);
  history.past = [];
  byId("undo").disabled = true;
  document.documentElement.dataset.ready = "yes";
};

byId("token-form").addEventListener("submit", async (event) => {
  event.preventDefault();
  try {
    await ask("session", "api/session", { token: byId("token").value });
    byId("token-form").hidden = true;
    calm();
    await start();
  } catch (error) { complain(error); }
});
rememberTexts(document.body);
startTools();
showTab("diagnose");
start().catch(complain);
