// Elements, whose texts are always texts: names are never read as markup. Styles are set by properties, which
// the page's policy allows; attributes of style it does not.

export const byId = (id) => document.getElementById(id);

export const element = (name, attributes = {}, ...children) => {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (key.startsWith("on")) made.addEventListener(key.slice(2), value);
    else if (value !== null && value !== undefined && value !== false) made.setAttribute(key, value === true ? "" : value);
  }
  made.append(...children.filter((child) => child !== null && child !== undefined));
  return made;
};

// A member of what JSON held: an object has others by itself, such as `constructor`.
export const ownOf = (members, name) => (Object.hasOwn(members, name) ? members[name] : null);

export const hidden = (text) => element("span", { class: "hidden" }, text);

// A box from one share of the width to another.
export const spread = (kind, from, to, title = null) => {
  const made = element("span", { class: kind, title });
  place(made, from, to);
  return made;
};

export const place = (made, from, to) => {
  made.style.left = `${100 * Math.max(Math.min(from, to), 0)}%`;
  made.style.width = `${100 * Math.min(Math.abs(to - from), 1)}%`;
};

const STATES = [["present", "✓", "present"], ["absent", "✗", "absent"], ["unknown", "·", "not asked"]];

// Three buttons that say which state a finding has; keys p, a and u do the same.
export const stateButtons = (name, state, onSet, states = STATES) => {
  const buttons = states.map(([value, sign, words]) => element("button", {
    type: "button", class: `state ${value}`, "aria-pressed": String(state === value), title: words,
    "aria-label": `${name}: ${words}`, onclick: () => onSet(value),
  }, sign));
  return element("span", { class: "states", role: "group", "aria-label": name }, ...buttons);
};
export const ANSWERS = STATES.slice(0, 2);
