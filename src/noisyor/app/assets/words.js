// Numbers in words, as the command line writes them; and the reader's words in place of disease, symptom, record.

let words = null;
export const translated = (text) => (words ? text.replace(/\b(an? )?(disease|symptom|finding|record)(s?)\b/gi, (all, article, noun, many) => {
  const found = `${noun}${many}`.toLowerCase();
  const word = words[found] ?? found;
  const put = noun[0] === noun[0].toUpperCase() ? word[0].toUpperCase() + word.slice(1) : word;
  return (article ? `${article[0]}${/^[aeiou]/i.test(word) ? "n" : ""} ` : "") + put;
}) : text);
// A template: what is put into it, such as a name, stays as it is.
export const say = (texts, ...between) => texts.map((text, i) => translated(text) + (between[i] ?? "")).join("");

const LABELS = ["aria-label", "placeholder", "title"];
const standing = []; // what the page says before any model is loaded, each with a way to say it otherwise

export const rememberTexts = (root) => {
  const walker = document.createTreeWalker(root, NodeFilter.SHOW_TEXT);
  for (let node = walker.nextNode(); node; node = walker.nextNode()) {
    const [place, text] = [node, node.data];
    standing.push(() => { place.data = translated(text); });
  }
  for (const place of root.querySelectorAll(LABELS.map((name) => `[${name}]`).join(", ")))
    for (const name of LABELS.filter((each) => place.hasAttribute(each))) {
      const text = place.getAttribute(name);
      standing.push(() => place.setAttribute(name, translated(text)));
    }
};

export const speakAs = (data) => {
  words = data.words ?? null;
  standing.forEach((put) => put());
};

export const percent = (p) => {
  if (p === null || !Number.isFinite(p)) return "not known";
  if (p > 0 && p < 0.0005) return "< 0.1%";
  if (p > 0.9995 && p < 1) return "> 99.9%";
  return `${(100 * p).toFixed(1)}%`;
};

// A name that is written from right to left takes no number beside it along.
export const isolated = (name) => (/[\u0590-\u08ff\ufb1d-\ufefc]/.test(name) ? `\u2068${name}\u2069` : name);

export const signed = (x) => (x === null ? "certain" : `${x < 0 ? "−" : "+"}${Math.abs(x).toFixed(2)}`);

// Two digits, as Python's :.2g.
const short = (x) => String(Number(x.toPrecision(2)));

export const methodSays = ({ method, error }) => ({
  exact: "Exact",
  variational: `Bounds: no probability is off by more than ${short(error ?? 1)}`,
  mean_field: "Mean field, of unknown error",
  gibbs: `Sampled: within ${short(error ?? 1)} with 95% confidence`,
}[method] ?? method);

export const intervalSays = (row) => {
  if (!("interval_lower" in row)) return "";
  if (row.interval_lower === null) return "interval not known";
  if (row.interval_lower === row.interval_upper) return "all parameters fixed";
  return `95% interval ${percent(row.interval_lower)} to ${percent(row.interval_upper)}`;
};

export const counted = (n, noun) => `${n.toLocaleString("en")} ${translated(`${noun}${n === 1 ? "" : "s"}`)}`;
