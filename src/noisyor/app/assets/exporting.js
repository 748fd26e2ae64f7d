// The case and the answer as files.

import { namesOf } from "./case.js";

const save = (name, kind, text) => {
  const address = URL.createObjectURL(new Blob([text], { type: kind }));
  const link = document.createElement("a");
  Object.assign(link, { href: address, download: name });
  link.click();
  setTimeout(() => URL.revokeObjectURL(address), 10000);
};

const caseOf = (value) => ({ present: namesOf(value, "present"), absent: namesOf(value, "absent"), covariates: value.covariates });

export const exportJson = (value, answers, extras) =>
  save("case.json", "application/json", `${JSON.stringify({ format: "noisyor-case", version: 1, case: caseOf(value), answers, ...extras }, null, 2)}\n`);

// A cell that a spreadsheet would compute gets an apostrophe before it.
const cell = (content) => {
  if (content === null || content === undefined) return "";
  if (typeof content === "number") return String(content);
  const text = /^[=+\-@\t\r]/.test(content) ? `'${content}` : content;
  return /[",\n\r]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
};

export const csvOf = (answers) => {
  const columns = ["model", "disease", "probability", "interval_lower", "interval_upper", "prior", "bound_lower", "bound_upper", "flags", "flagged_by", "method", "error"];
  const lines = answers.flatMap((answer) => answer.diseases.map((row) => {
    const whole = { ...row, model: answer.model, method: answer.method, error: answer.error };
    return columns.map((name) => cell(whole[name])).join(",");
  }));
  return `${[columns.join(","), ...lines].join("\r\n")}\r\n`;
};

export const exportCsv = (answers) => save("diseases.csv", "text/csv", csvOf(answers));
