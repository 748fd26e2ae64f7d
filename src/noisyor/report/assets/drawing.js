// Elements, whose texts are always texts: names are never read as markup.

const SVG = "http://www.w3.org/2000/svg";

const filled = (made, attributes, children) => {
  for (const [name, value] of Object.entries(attributes)) {
    if (name.startsWith("on")) made.addEventListener(name.slice(2), value);
    else if (value !== null && value !== undefined) made.setAttribute(name, value);
  }
  made.append(...children.filter((child) => child !== null));
  return made;
};
const element = (name, attributes = {}, ...children) =>
  filled(document.createElement(name), attributes, children);
const drawn = (name, attributes = {}, ...children) =>
  filled(document.createElementNS(SVG, name), attributes, children);
const byId = (id) => document.getElementById(id);

// A value with its interval, and the true value where it is known, on a scale; one that does not begin at 0 is logarithmic.
const intervalBar = (value, [lower, upper], { least, most }, truth = NaN) => {
  const width = 132;
  const share = (x) => (least > 0 ? Math.log(Math.max(x, least) / least) / Math.log(most / least) : x / most);
  const place = (x) => 6 + (width - 12) * Math.min(Math.max(share(x), 0), 1);
  const known = Number.isFinite(lower);
  const label = known ? `95% interval ${shown(lower)} to ${shown(upper)}` : `value ${shown(value)}`;
  return drawn("svg", { class: "interval", viewBox: `0 0 ${width} 18`, role: "img", "aria-label": label },
    drawn("title", {}, label),
    drawn("line", { class: "rail", x1: 6, x2: width - 6, y1: 9, y2: 9 }),
    known ? drawn("line", { class: "span", x1: place(lower), x2: Math.max(place(upper), place(lower) + 1), y1: 9, y2: 9 }) : null,
    known && least > 0 && lower < least ? drawn("path", { class: "on", d: "M7 5l-5 4 5 4" }) : null, // it goes on
    drawn("circle", { class: "dot", cx: place(value), cy: 9, r: 3.6 }),
    Number.isFinite(truth) ? drawn("path", { class: "true", d: `M${place(truth)} 1v16` }) : null);
};

const flagChips = (row) => {
  const chips = element("span", { class: "chips" });
  for (const [short, reason] of reasonsOf(row))
    chips.append(element("span", { class: "chip", title: reason }, short, element("span", { class: "hidden" }, `: ${reason}`)));
  return chips;
};

// A table that is wider than its place can be reached, and so moved, with the keyboard.
const makeReachable = () => {
  const watcher = new ResizeObserver((entries) => entries.forEach(({ target }) => {
    const box = target.closest(".scroll");
    if (box.scrollWidth <= box.clientWidth) return ["tabindex", "role", "aria-label"].forEach((name) => box.removeAttribute(name));
    filled(box, { tabindex: 0, role: "region", "aria-label": box.querySelector("caption").textContent }, []);
  }));
  for (const box of document.querySelectorAll(".scroll")) { watcher.observe(box); watcher.observe(box.firstElementChild); }
};

const diseaseLink = (disease) =>
  element("a", { href: `#disease=${encodeURIComponent(data.diseases[disease])}` }, data.diseases[disease]);
const symptomLink = (symptom) =>
  element("a", { href: `#symptom=${encodeURIComponent(data.symptoms[symptom])}` }, data.symptoms[symptom]);
const numberCell = (content) => element("td", { class: "number" }, content);
