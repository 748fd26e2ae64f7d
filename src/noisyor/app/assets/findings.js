// Findings: the search, the list of those that are known, and what else is known of the person.

import { unknownTo } from "./case.js";
import { ANSWERS, byId, element, stateButtons } from "./dom.js";
import { counted, say } from "./words.js";

const MOST_SHOWN = 60;
const MOST_LISTED = 60;

export class FindingsPanel {
  constructor(history) {
    this.history = history;
    this.index = null;
    this.found = [];
    this.active = 0;
    this.group = () => null;
    const search = byId("search");
    search.addEventListener("input", () => { this.active = 0; this.showResults(); });
    search.addEventListener("keydown", (event) => this.key(event));
    byId("group").addEventListener("change", () => { this.active = 0; this.showResults(); });
    byId("case").addEventListener("keydown", (event) => this.caseKey(event));
  }

  // `group` gives the numbers of the findings of a group; `other` is the model beside it, if there is one.
  useModel(data, other, index, group) {
    Object.assign(this, { data, index, group, models: other ? [data, other] : [data] });
    this.showCovariates();
    this.showResults();
  }

  state(name) { return this.history.now.findings.get(name) ?? "unknown"; }

  // --- the search ---

  showResults() {
    const among = byId("group").value ? this.group(byId("group").value) : null;
    this.found = this.index.find(byId("search").value, among);
    this.active = Math.min(this.active, Math.max(Math.min(this.found.length, MOST_SHOWN) - 1, 0));
    byId("results").replaceChildren(...this.found.slice(0, MOST_SHOWN).map((i, place) => this.option(i, place)));
    const left = this.found.length - MOST_SHOWN;
    byId("results-more").textContent = !this.found.length ? say`No finding matches.`
      : left > 0 ? `${counted(left, "more finding")}: write more of the name.` : counted(this.found.length, "finding");
    this.markActive();
  }

  option(number, place) {
    const name = this.data.symptoms[number];
    const state = this.state(name);
    const set = (value) => { this.active = place; this.set(name, value); };
    return element("li", {
      role: "option", id: `result-${place}`, class: `result ${state}`, "aria-selected": String(place === this.active), "data-name": name,
      onclick: (event) => { if (!event.target.closest(".state")) set(state === "present" ? "unknown" : "present"); },
    }, element("span", { class: "name" }, name, this.alsoNamed(number), state === "unknown" ? null : element("span", { class: "hidden" }, ` (${state})`)),
    this.mouseSigns(state, set));
  }

  // The synonym by which it was found, if it was.
  alsoNamed(number) {
    const synonym = this.index.synonymFor(number, byId("search").value);
    return synonym === null ? null : element("span", { class: "note" }, ` (${synonym})`);
  }

  // For the mouse, and so no buttons; whoever uses keys has Enter and Shift+Enter.
  mouseSigns(state, set) {
    return element("span", { class: "states", "aria-hidden": "true" }, ...ANSWERS.map(([value, sign, words]) => element("span", {
      class: `state ${value}`, "data-pressed": String(state === value), title: words, onclick: () => set(state === value ? "unknown" : value),
    }, sign)));
  }

  markActive() {
    const rows = [...byId("results").children];
    rows.forEach((row, place) => row.setAttribute("aria-selected", String(place === this.active)));
    const row = rows[this.active];
    if (row) byId("search").setAttribute("aria-activedescendant", row.id);
    else byId("search").removeAttribute("aria-activedescendant");
    return row;
  }

  key(event) {
    const moves = { ArrowDown: 1, ArrowUp: -1, PageDown: 8, PageUp: -8 };
    const most = Math.min(this.found.length, MOST_SHOWN) - 1;
    if (moves[event.key]) {
      event.preventDefault();
      this.active = Math.min(Math.max(this.active + moves[event.key], 0), Math.max(most, 0));
      this.markActive()?.scrollIntoView({ block: "nearest" });
    } else if (event.key === "Enter" && this.found.length) {
      event.preventDefault();
      const name = this.data.symptoms[this.found[this.active]];
      this.set(name, event.shiftKey ? "absent" : "present");
      byId("search").select();
    } else if (event.key === "Escape") {
      byId("search").value = "";
      this.showResults();
    }
  }

  set(name, state) { this.history.set(name, state); }

  // --- the case ---

  showCase() {
    const { findings, covariates } = this.history.now;
    const order = [...findings].sort((a, b) => (a[1] === "absent") - (b[1] === "absent"));
    byId("case").replaceChildren(...order.slice(0, MOST_LISTED).map(([name, state]) => this.caseRow(name, state, unknownTo(name, this.models))));
    byId("case-says").textContent = this.caseSays(order, Object.keys(covariates));
    for (const row of byId("results").children) this.refreshResult(row);
    this.fillCovariates();
  }

  caseSays(order, ofPerson) {
    if (!order.length && !ofPerson.length) return say`Nothing is known yet. Search a finding above, or answer a question below.`;
    const more = order.length - MOST_LISTED;
    const nLeft = this.data.symptoms.length - order.filter(([name]) => this.data.symptomSet.has(name)).length;
    const strangers = ofPerson.filter((name) => !this.models.some((data) => data.covariates.some((each) => each.name === name)));
    const first = more > 0 ? `${counted(more, "more finding")} ${more === 1 ? "is" : "are"} known, most of them absent.`
      : nLeft ? `${counted(nLeft, "other finding")} not asked.` : say`No finding is left to ask.`;
    return `${first}${strangers.length ? ` The model does not know ${strangers.join(", ")}.` : ""}`;
  }

  refreshResult(row) {
    const place = Number(row.id.slice("result-".length));
    row.replaceWith(this.option(this.found[place], place));
  }

  caseRow(name, state, unknown) {
    return element("li", { class: `known ${state}`, "data-name": name },
      element("span", { class: "name", title: name }, name, unknown === null ? null : element("span", { class: "note" }, ` (${unknown})`)),
      stateButtons(name, state, (value) => this.setAndKeepFocus(name, value)));
  }

  // The row is made anew: the focus goes to the same button of it, or to the search where the row is gone.
  setAndKeepFocus(name, state) {
    this.set(name, state);
    const row = [...byId("case").children].find((each) => each.dataset.name === name);
    (row?.querySelector(`.state.${state}`) ?? byId("search")).focus();
  }

  caseKey(event) {
    const states = { p: "present", a: "absent", u: "unknown", Delete: "unknown", Backspace: "unknown" };
    const row = event.target.closest("li");
    if (!row || !states[event.key] || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    this.setAndKeepFocus(row.dataset.name, states[event.key]);
  }

  // --- the person ---

  showCovariates() {
    byId("covariates").hidden = !this.data.covariates.length;
    byId("covariate-fields").replaceChildren(...this.data.covariates.map((each) => this.covariate(each)));
  }

  covariate({ name, levels, centre }) {
    const give = (event) => this.history.setCovariate(name, event.target.value === "" ? null : event.target.value);
    const field = levels.length
      ? element("select", { "data-covariate": name, onchange: give }, element("option", { value: "" }, "unknown"), ...levels.map((level) => element("option", { value: level }, level)))
      : element("input", { type: "number", step: "any", inputmode: "decimal", "data-covariate": name, placeholder: `unknown (~${Number(centre.toPrecision(3))})`, onchange: give });
    return element("label", { class: "covariate" }, element("span", {}, name), field);
  }

  fillCovariates() {
    for (const field of byId("covariate-fields").querySelectorAll("[data-covariate]")) {
      const value = this.history.now.covariates[field.dataset.covariate] ?? "";
      field.value = field.type === "number" && !Number.isFinite(Number(value)) ? "" : value; // of a file; it is refused
    }
  }
}
