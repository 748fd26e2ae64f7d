// What to ask next, and the most probable sets of diseases.

import { ANSWERS, byId, element, spread, stateButtons } from "./dom.js";
import { isolated, percent, say } from "./words.js";

// `of` says whose they are, where there are two models.
export const showQuestions = ({ questions }, onAnswer, of) => {
  const focused = document.activeElement?.closest?.("#question-list .state")?.classList;
  const most = Math.max(...questions.map((row) => row.gain), 1e-9);
  byId("question-list").replaceChildren(...questions.map((row) => element("li", { "data-name": row.symptom },
    element("span", { class: "name" }, row.symptom),
    stateButtons(row.symptom, "unknown", (state) => onAnswer(row.symptom, state), ANSWERS),
    element("span", { class: "gain" }, element("span", { class: "gain-track" }, spread("gain-bar", 0, row.gain / most)),
      element("span", { class: "note" }, `${row.gain.toFixed(3)} bits, present in ${percent(row.probability)}`)))));
  byId("questions-say").textContent = questions.length ? `By what the answer is expected to tell${of}.` : say`No finding is left to ask.`;
  // Whoever has just answered one by key answers the next.
  if (focused) (byId("question-list").querySelector(focused.contains("absent") ? ".state.absent" : ".state.present") ?? byId("search")).focus({ preventScroll: true });
};

export const showSets = ({ sets, is_proven: isProven }, of) => {
  byId("set-list").replaceChildren(...sets.map((row) => element("li", {},
    element("span", { class: "name" }, row.diseases.map(isolated).join(" + ") || say`none of the diseases`),
    element("span", { class: "percent" }, percent(row.probability)),
    element("span", { class: "track" }, spread("fill model-0", 0, row.probability)))));
  byId("sets-say").textContent = say`Exactly these diseases and no others${of}${isProven ? "" : "; there was no time to exclude better sets"}.`;
};
