// What to ask next, and the most probable sets of diseases.

import { ANSWERS, byId, element, spread, stateButtons } from "./dom.js";
import { percent, say } from "./words.js";

export const showQuestions = ({ questions }, onAnswer) => {
  const most = Math.max(...questions.map((row) => row.gain), 1e-9);
  byId("question-list").replaceChildren(...questions.map((row) => element("li", { "data-name": row.symptom },
    element("span", { class: "name" }, row.symptom),
    stateButtons(row.symptom, "unknown", (state) => onAnswer(row.symptom, state), ANSWERS),
    element("span", { class: "gain" }, element("span", { class: "gain-track" }, spread("gain-bar", 0, row.gain / most)),
      element("span", { class: "note" }, `${row.gain.toFixed(3)} bits, present in ${percent(row.probability)}`)))));
  byId("questions-say").textContent = questions.length ? "By what the answer is expected to tell." : say`All findings are known.`;
};

export const showSets = ({ sets, is_proven: isProven }) => {
  byId("set-list").replaceChildren(...sets.map((row) => element("li", {},
    element("span", { class: "name" }, row.diseases.join(" + ") || say`none of the diseases`),
    element("span", { class: "percent" }, percent(row.probability)),
    element("span", { class: "track" }, spread("fill model-0", 0, row.probability)))));
  byId("sets-say").textContent = isProven ? say`Exactly these diseases and no others.` : say`Exactly these diseases and no others; there was no time to exclude better sets.`;
};
