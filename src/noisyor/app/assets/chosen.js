// One disease: what each finding adds to it, which findings it explains, and its picture with the evidence.

import { byId, element, ownOf, spread } from "./dom.js";
import { counted, intervalSays, isolated, percent, say, signed } from "./words.js";

const MOST_ROWS = 20;
const logOdds = (p) => Math.log(p) - Math.log1p(-p);

export class ChosenPanel {
  constructor(history, onChoose) {
    Object.assign(this, { history, onChoose, closer: null });
    byId("zoom-in").addEventListener("click", () => this.closer?.zoom(1.25));
    byId("zoom-out").addEventListener("click", () => this.closer?.zoom(0.8));
    byId("zoom-reset").addEventListener("click", () => this.closer?.reset());
  }

  // `beside` is the answer of the other model, if there is one.
  showHead(name, data, answer, beside, reasons) {
    const row = answer.diseases.find((each) => each.disease === name);
    const p = answer.probabilities[name];
    const isOfPerson = data.covariates.some((each) => Object.hasOwn(this.history.now.covariates, each.name));
    const before = `, before ${percent(row?.prior ?? this.priorOf(name))}${isOfPerson ? " in such a person" : ""}`;
    const interval = row && intervalSays(row);
    byId("chosen-name").textContent = name;
    const other = beside ? (Object.hasOwn(beside.probabilities, name) ? ` ${beside.model}: ${percent(beside.probabilities[name])}.` : say` ${beside.model} has no such disease.`) : "";
    byId("chosen-says").textContent = `${beside ? `${answer.model}: now` : "Now"} ${percent(p)}${before}${interval ? ` (${interval})` : ""}.${other}` +
      (row?.flags ? ` Flagged: ${row.flags.split(" ").map((code) => reasons.get(code) ?? code).join("; ")}.` : "") +
      (row?.flagged_by ? ` It rests on: ${row.flagged_by}.` : "");
  }

  // --- what each finding adds ---

  showExplanation(name, explained, answer) {
    const rows = explained.contributions.filter((row) => row.disease === name);
    const before = ownOf(explained.priors, name) ?? this.priorOf(name); // of anyone: what is known of the person is a step
    this.showWaterfall(rows, before, answer, name, explained.findings_left);
    this.showExplained(name, explained.causes);
  }

  // From the log odds before to those now: each finding by what it adds beyond all others, and what is left: what
  // findings say only together, and what those say that have no row of their own.
  showWaterfall(rows, prior, answer, name, nLeft) {
    const now = answer.probabilities[name];
    const [start, end] = [logOdds(prior), logOdds(now)];
    const box = byId("waterfall");
    if (!rows.length || !Number.isFinite(start)) {
      box.replaceChildren(element("p", { class: "note" }, rows.length ? say`It was certain before: no finding changes that.` : "Nothing is known that speaks for or against it."));
      byId("waterfall-says").textContent = "";
      return;
    }
    const shown = rows.slice().sort((a, b) => Math.abs(b.log_odds ?? 99) - Math.abs(a.log_odds ?? 99)).slice(0, MOST_ROWS)
      .sort((a, b) => (b.log_odds ?? 99) - (a.log_odds ?? 99));
    const isCertain = !Number.isFinite(end) || shown.some((row) => row.log_odds === null);
    const steps = [];
    let at = start;
    for (const row of shown) {
      const step = row.log_odds ?? Math.sign(0.5 - (row.without ?? 0.5)) * 8;
      steps.push({ row, from: at, to: at + step });
      at += step;
    }
    const finish = isCertain ? at : end;
    const [low, high] = [Math.min(start, finish, ...steps.map((x) => x.to)), Math.max(start, finish, ...steps.map((x) => x.to))];
    const scale = (x) => (x - low + 0.02 * (high - low || 1)) / (1.04 * (high - low || 1));
    const line = (kind, label, from, to, value, title) => element("div", { class: `step ${kind}`, title },
      element("span", { class: "step-name", title: label.textContent ?? label }, label), element("span", { class: "step-track" }, spread("step-bar", scale(from), scale(to))), element("span", { class: "step-value" }, value));
    const zero = low - 0.02 * (high - low || 1);
    const made = [line("end", "before", zero, start, percent(prior), `log odds ${start.toFixed(2)}`)];
    for (const { row, from, to } of steps)
      made.push(line(to >= from ? "for" : "against", this.label(row), from, to, signed(row.log_odds), `without it: ${percent(row.without)}`));
    const rest = finish - at;
    const [label, title] = this.remainder(rows, answer);
    if (!isCertain && Math.abs(rest) >= 0.005) made.push(line(rest >= 0 ? "for together" : "against together", label, at, finish, signed(rest), title));
    made.push(line("end", "now", zero, finish, percent(now), `log odds ${finish.toFixed(2)}`));
    box.replaceChildren(...made);
    const left = rows.length - shown.length;
    const unsaid = nLeft ? ` Of ${counted(nLeft, "finding")} further from it nothing is said: the case is too large to leave each out in turn.` : "";
    byId("waterfall-says").textContent = say`In log odds, against not knowing the finding.${left > 0 ? ` ${counted(left, "finding")} that add${left === 1 ? "s" : ""} less ${left === 1 ? "is" : "are"} not shown.` : ""}${unsaid}`;
  }

  // What the last step is called: findings that are no symptoms of the disease have no step of their own.
  remainder(rows, answer) {
    const shown = new Set(rows.map((row) => row.finding));
    const others = [...answer.present, ...answer.absent].filter((name) => !shown.has(name)).length;
    const together = "what findings say only together: each of them makes others more or less telling";
    return others ? ["together, and others", say`${together}; and what ${counted(others, "other finding")} say${others === 1 ? "s" : ""} of it through other diseases`] : ["only together", together];
  }

  label(row) {
    if (row.state === "absent") return element("span", {}, element("span", { class: "no" }, "no "), row.finding);
    return row.state === "together" ? say`diseases that occur together` : row.finding;
  }

  // --- what it explains ---

  showExplained(name, causes) {
    const mine = causes.filter((row) => row.cause === name && row.probability >= 0.005).sort((a, b) => b.probability - a.probability);
    const best = (finding) => causes.filter((row) => row.finding === finding && row.cause !== name && row.probability >= 0.05)
      .sort((a, b) => b.probability - a.probability).slice(0, 2);
    byId("explains").replaceChildren(...(mine.length ? mine.slice(0, 12).map((row) => element("div", { class: "step cause" },
      element("span", { class: "step-name", title: row.finding }, row.finding),
      element("span", { class: "step-track" }, spread("step-bar", 0, row.probability)),
      element("span", { class: "step-value" }, percent(row.probability)),
      this.rivals(best(row.finding))))
      : [element("p", { class: "note" }, say`None of the findings that are present.`)]));
  }

  rivals(rows) {
    if (!rows.length) return null;
    return element("span", { class: "step-more" }, `also ${rows.map((each) => `${each.cause === null ? "by itself" : isolated(each.cause)} ${percent(each.probability)}`).join(", ")}`);
  }

  // --- the picture ---

  showPicture(parts, data, disease, answer) {
    const { findings } = this.history.now;
    const isKnown = (symptom) => findings.has(data.symptoms[symptom]);
    const weigh = (other) => answer.probabilities[data.diseases[other]];
    const made = parts.neighbourhood(disease, (other) => this.onChoose(data.diseases[other]), isKnown, weigh);
    const focused = document.activeElement?.closest?.("#neighbourhood .node")?.dataset;
    const { picture, closer, leftOut } = parts.framed(disease, made);
    for (const node of picture.querySelectorAll(".node.symptom")) this.evidence(parts, node, data.symptoms[Number(node.dataset.symptom)]);
    for (const node of picture.querySelectorAll(".node.other, .node.chosen")) this.posterior(parts, node, answer.probabilities[data.diseases[Number(node.dataset.disease)]]);
    this.closer = closer;
    if (focused) this.focusAgain(picture, { ...focused });
    byId("picture-says").textContent = say`Wide lines: often caused. Click a symptom to say whether it is present, a disease to choose it. ${leftOut}`;
  }

  // The picture is made anew: the focus goes to the same box of it, or to the picture where the box is gone.
  focusAgain(picture, { symptom, disease }) {
    const boxes = [...picture.querySelectorAll(".node")];
    const same = boxes.find((each) => (symptom === undefined ? each.dataset.disease === disease : each.dataset.symptom === symptom));
    (same ?? picture).focus({ preventScroll: true });
  }

  evidence(parts, node, name) {
    const state = this.history.now.findings.get(name) ?? "unknown";
    node.classList.add(state);
    node.setAttribute("role", "button");
    node.setAttribute("aria-label", `${name}: ${state === "unknown" ? "not asked" : state}`);
    const sign = { present: "✓", absent: "✗", unknown: "" }[state];
    const box = node.querySelector("rect");
    node.append(parts.drawn("text", { class: "sign", x: Number(box.getAttribute("x")) + Number(box.getAttribute("width")) - 18, y: node.querySelector("text").getAttribute("y") }, sign));
    const cycle = () => this.history.cycle(name);
    node.addEventListener("click", cycle);
    node.addEventListener("keydown", (event) => { if (event.key === "Enter" || event.key === " ") { event.preventDefault(); cycle(); } });
  }

  posterior(parts, node, p) {
    if (p === undefined) return;
    const box = node.querySelector("rect");
    const at = { x: box.getAttribute("x"), y: box.getAttribute("y"), height: box.getAttribute("height"), rx: 4 };
    box.after(parts.drawn("rect", { ...at, class: "level", width: Number(box.getAttribute("width")) * p }));
    node.querySelector("title").textContent += `: ${percent(p)}`;
    node.setAttribute("aria-label", `${node.getAttribute("aria-label")}: ${percent(p)}`);
  }
}
