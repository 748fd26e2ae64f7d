// Diseases, the most probable first: how probable each was before, and is now; of one model, or of two.

import { byId, element, ownOf, place, spread } from "./dom.js";
import { counted, intervalSays, methodSays, percent, say } from "./words.js";

const FIRST_SHOWN = 12;
const hasIntervals = (answer) => answer.diseases.some((row) => (row.interval_lower ?? null) !== null);

export class DiseasesPanel {
  constructor(onChoose, onMore) {
    Object.assign(this, { onChoose, onMore });
    this.nShown = FIRST_SHOWN;
    this.rows = new Map();
    this.answers = [];
    this.labels = null;
    byId("more").addEventListener("click", () => {
      const first = this.nShown;
      this.nShown += 30;
      this.show(this.answers, this.chosen, this.labels);
      if (byId("more").hidden) byId("disease-rows").children[first]?.querySelector("button").focus(); // it had the focus
      this.onMore(this.nShown);
    });
  }

  clear() { this.rows.clear(); byId("disease-rows").replaceChildren(); this.nShown = FIRST_SHOWN; }

  // Answers of one or two models; the diseases that a file says the record had.
  show(answers, chosen, labels) {
    Object.assign(this, { answers, chosen, labels });
    const [first, second] = answers;
    const beside = second ? new Map(second.diseases.map((row) => [row.disease, row])) : null;
    const rows = this.ordered(first, second).slice(0, this.nShown);
    const list = byId("disease-rows");
    const kept = new Set(rows.map((row) => row.disease));
    for (const [name, row] of this.rows) if (!kept.has(name)) { row.item.remove(); this.rows.delete(name); }
    rows.forEach((row, at) => {
      const made = this.row(row, beside?.get(row.disease), first, second);
      if (list.children[at] !== made) list.insertBefore(made, list.children[at] ?? null);
    });
    const left = Object.keys(first.probabilities).length - rows.length;
    byId("more").hidden = left <= 0;
    byId("more").textContent = `Show more (${left.toLocaleString("en")})`;
    byId("method").textContent = this.methodLine(answers);
    this.showLegend(answers, rows);
    this.showFlags(rows);
  }

  ordered(first, second) {
    if (!second) return first.diseases;
    const known = new Set(first.diseases.map((row) => row.disease));
    const only = second.diseases.filter((row) => !known.has(row.disease) && !Object.hasOwn(first.probabilities, row.disease));
    const missing = only.map(({ disease }) => ({ disease, probability: null, prior: null }));
    const most = (row) => Math.max(row.probability ?? 0, ownOf(second.probabilities, row.disease) ?? 0);
    return [...first.diseases, ...missing].sort((a, b) => most(b) - most(a));
  }

  row(row, other, first, second) {
    let kept = this.rows.get(row.disease);
    if (!kept) {
      kept = this.makeRow(row.disease);
      this.rows.set(row.disease, kept);
    }
    const both = second ? [row, other ?? { probability: ownOf(second.probabilities, row.disease), prior: null }] : [row];
    kept.item.classList.toggle("chosen", row.disease === this.chosen);
    kept.item.classList.toggle("flagged", Boolean(row.flags));
    kept.button.setAttribute("aria-pressed", String(row.disease === this.chosen));
    kept.item.dataset.probability = row.probability ?? "";
    kept.item.dataset.other = second ? both[1].probability ?? "" : "";
    kept.star.textContent = row.flags ? "★" : "";
    kept.star.title = row.flagged_by ?? "";
    kept.label.hidden = !this.labels?.includes(row.disease);
    kept.bars.replaceChildren(...both.map((each, at) => this.bar(kept, each, at)));
    kept.numbers.replaceChildren(...both.map((each, at) => element("span", { class: `percent model-${at}`, title: each.probability === null ? say`the model has no such disease` : null }, each.probability === null ? "–" : percent(each.probability))));
    kept.button.title = this.says(row, first.method);
    return kept.item;
  }

  makeRow(name) {
    const star = element("span", { class: "star", "aria-hidden": "true" });
    const label = element("span", { class: "chip label", hidden: true, title: "the file says that the record had it" }, "had it");
    const bars = element("span", { class: "bars" });
    const numbers = element("span", { class: "numbers" });
    const button = element("button", { type: "button", class: "disease", onclick: () => this.onChoose(name) },
      element("span", { class: "disease-name" }, name, star, label), numbers, bars);
    return { item: element("li", { "data-disease": name }, button), button, star, label, bars, numbers, was: [0, 0] };
  }

  bar(kept, row, at) {
    const p = row.probability ?? 0;
    const fill = spread(`fill model-${at}`, 0, kept.was[at]);
    kept.was[at] = p;
    requestAnimationFrame(() => place(fill, 0, p));
    const bar = element("span", { class: "track" }, fill);
    if (row.interval_lower !== undefined && row.interval_lower !== null)
      bar.append(spread("whisker", row.interval_lower, row.interval_upper, intervalSays(row)));
    else if (row.bound_upper !== undefined && row.bound_upper !== null && row.bound_upper - row.bound_lower > 0.002)
      bar.append(spread("whisker bound", row.bound_lower, row.bound_upper, `${percent(row.bound_lower)} to ${percent(row.bound_upper)}`));
    if (row.prior !== null && row.prior !== undefined) bar.append(spread("prior-mark", row.prior, row.prior, `before: ${percent(row.prior)}`));
    return bar;
  }

  says(row, method) {
    const parts = [`${percent(row.probability)} now, ${percent(row.prior)} before`];
    if (method !== "exact" && row.bound_lower !== undefined) parts.push(`${percent(row.bound_lower)} to ${percent(row.bound_upper)} for certain`.replace("for certain", method === "gibbs" ? "with 95% confidence" : "for certain"));
    const interval = intervalSays(row);
    return [...parts, ...(interval ? [interval] : [])].join("; ");
  }

  methodLine(answers) {
    const lines = answers.map((answer) => (answers.length > 1 ? `${answer.model}: ${methodSays(answer)}` : methodSays(answer)));
    const { without_intervals: without, parameters_without_error: nWithout } = answers[0];
    const more = without ? ` No intervals: ${without}.` : nWithout && hasIntervals(answers[0]) ? ` ${counted(nWithout, "parameter")} without a standard error: intervals are too narrow.` : "";
    const notices = [...new Set(answers.flatMap((answer) => answer.notices))].map((text) => ` ${text[0].toUpperCase()}${text.slice(1)}`);
    return `${lines.join(". ")}.${more}${notices.join("")}`;
  }

  showLegend(answers, rows) {
    const keys = answers.length > 1 ? answers.map(({ model }, at) => [`model-${at}`, model]) : [["model-0", "now"]];
    if (rows.some((row) => row.flags)) keys.push(["flagged", "flagged"]);
    keys.push(["tick", "before"]);
    if (hasIntervals(answers[0])) keys.push(["line", "95% interval"]);
    byId("legend").replaceChildren(...keys.map(([kind, text]) => element("span", { class: "legend-item" }, element("span", { class: `key ${kind}` }), text)));
  }

  showFlags(rows) {
    const flagged = rows.filter((row) => row.flags);
    const codes = new Set(flagged.flatMap((row) => row.flags.split(" ")));
    byId("flags").replaceChildren(...(flagged.length
      ? [element("li", {}, `★ rests on parameters that are flagged (${[...codes].map((code) => code.replaceAll("_", " ")).join(", ")}): it may be far off, and has no interval.`),
         ...flagged.map((row) => element("li", {}, `${row.disease}: ${row.flagged_by}.`))]
      : []));
  }
}
