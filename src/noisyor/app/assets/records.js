// A case file: its records are opened one after the other, and compared with labels where these are given.

import { byId, element } from "./dom.js";
import { ask } from "./server.js";
import { counted, say } from "./words.js";

const LARGEST = 20 * 2 ** 20;

const base64Of = (file) => new Promise((resolve, reject) => {
  const reader = new FileReader();
  reader.onerror = () => reject(new Error(`${file.name} cannot be read.`));
  reader.onload = () => resolve(reader.result.slice(reader.result.indexOf(",") + 1));
  reader.readAsDataURL(file);
});

// Sentences are those of the command line, whose options they name; where the page has the same one, it says so.
const hintFor = (sentence) => {
  if (sentence.includes("ignore_unknown")) return " Here: tick “Pass over what the model does not know”.";
  return sentence.includes("unmentioned=") ? " Here: choose “unknown” above." : "";
};

export class RecordsPanel {
  constructor(history, modelOf, onRecord) {
    Object.assign(this, { history, modelOf, onRecord, records: [], at: -1 });
    byId("file-records").addEventListener("change", () => this.open());
    byId("file-labels").addEventListener("change", () => this.open());
    byId("file-unmentioned").addEventListener("change", () => this.open());
    byId("file-ignore").addEventListener("change", () => this.open());
    byId("file-previous").addEventListener("click", () => this.go(this.at - 1));
    byId("file-next").addEventListener("click", () => this.go(this.at + 1));
    byId("file-record").addEventListener("change", (event) => this.go(Number(event.target.value)));
    byId("file-close").addEventListener("click", () => this.close());
  }

  say(text) { byId("file-says").textContent = text; }

  async open() {
    const [file] = byId("file-records").files;
    const [labels] = byId("file-labels").files;
    if (!file) return;
    if (file.size + (labels?.size ?? 0) > LARGEST) { this.say("The file is too large for the page: noisyor diagnose takes any size."); return; }
    this.say(`Reading ${file.name} …`);
    try {
      if (file.name.toLowerCase().endsWith(".json")) this.openCase(JSON.parse(await file.text()), file.name);
      else await this.openRecords(file, labels);
    } catch (error) {
      this.say(error instanceof SyntaxError ? `${file.name} is not JSON.` : `${error.message}${hintFor(error.message)}`);
    }
  }

  openCase(document, name) {
    const found = document?.case;
    const areNames = (list) => Array.isArray(list) && list.every((each) => typeof each === "string");
    if (document?.format !== "noisyor-case" || !areNames(found?.present) || !areNames(found?.absent)) throw new Error(`${name} is not a case that this page wrote.`);
    const absent = new Set(found.absent);
    const both = found.present.find((each) => absent.has(each));
    if (both !== undefined) throw new Error(say`${name} says of ${both} that it is present, and that it is absent.`);
    const person = found.covariates ?? {};
    if (typeof person !== "object" || Array.isArray(person) || !Object.values(person).every((value) => ["string", "number"].includes(typeof value))) throw new Error(`${name}: its covariates are not names with a number or a text each.`);
    this.close();
    this.history.open([...found.present.map((each) => [each, "present"]), ...found.absent.map((each) => [each, "absent"])], person);
    this.say(`Opened ${name}.`);
  }

  async openRecords(file, labels) {
    const body = { model: this.modelOf().name, name: file.name, content: await base64Of(file), unmentioned: byId("file-unmentioned").value, ignore_unknown: byId("file-ignore").checked };
    if (labels) Object.assign(body, { labels_name: labels.name, labels: await base64Of(labels) });
    const answer = await ask("records", "api/records", body);
    if (!answer) return;
    this.records = answer.records;
    byId("file-record").replaceChildren(...this.records.map((record, at) => element("option", { value: at }, `record ${record.record}`)));
    byId("file-steps").hidden = !this.records.length;
    this.say([`${counted(this.records.length, "record")} of ${file.name}.`, ...answer.notices.map((text) => text[0].toUpperCase() + text.slice(1))].join(" "));
    if (this.records.length) this.go(0);
  }

  go(at) {
    if (at < 0 || at >= this.records.length) return;
    this.at = at;
    const { symptoms } = this.modelOf();
    const record = this.records[at];
    const findings = record.present.map((j) => [symptoms[j], "present"]);
    const isListed = new Set([...record.present, ...(record.unknown ?? [])]);
    const absent = record.absent ?? symptoms.keys();
    for (const j of absent) if (record.absent || !isListed.has(j)) findings.push([symptoms[j], "absent"]);
    byId("file-record").value = String(at);
    byId("file-previous").disabled = at === 0;
    byId("file-next").disabled = at === this.records.length - 1;
    byId("file-labelled").textContent = record.diseases ? `It had ${record.diseases.join(", ") || say`none of the diseases`}.` : "";
    this.onRecord(record.diseases ?? null);
    const person = Object.entries(record.covariates ?? {}).filter(([, value]) => value !== null);
    this.history.open(findings, Object.fromEntries(person));
  }

  close() {
    this.records = [];
    this.at = -1;
    byId("file-steps").hidden = true;
    byId("file-records").value = byId("file-labels").value = "";
    this.say("Records are read and sent back; nothing of them is kept.");
    this.onRecord(null);
  }
}
