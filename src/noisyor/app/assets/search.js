// Search over thousands of names: beginnings first, then words, then parts, then what is nearly spelled so.

const LONGEST = 100;
export const folded = (text) => text.slice(0, LONGEST * 4).normalize("NFKD").replace(/\p{M}/gu, "").toLowerCase();
const triplesOf = (text) => {
  const padded = `  ${text.slice(0, LONGEST)} `;
  const found = new Set();
  for (let i = 0; i + 3 <= padded.length; i++) found.add(padded.slice(i, i + 3));
  return found;
};

const likeness = (mine, theirs) => {
  let shared = 0;
  for (const each of mine) if (theirs.has(each)) shared += 1;
  return shared / (mine.size + 0.3 * Math.max(theirs.size - mine.size, 0));
};

export class Index {
  // `synonyms` has a list for each name that has any.
  constructor(names, synonyms = {}) {
    this.names = names;
    this.folded = names.map(folded);
    this.synonyms = new Map(names.flatMap((name, i) => (Object.hasOwn(synonyms, name) ? [[i, synonyms[name].map((each) => [each, folded(each)])]] : [])));
    this.triples = null; // made when something is first misspelled
  }

  // The synonym that matches better than the name itself, or null.
  synonymFor(i, text) {
    const wanted = folded(text).trim();
    if (!wanted || !this.synonyms.has(i)) return null;
    const words = wanted.split(/\s+/);
    const ranked = this.synonyms.get(i).map(([synonym, each]) => [this.rank(each, wanted, words), synonym]).sort((a, b) => a[0] - b[0]);
    return ranked[0][0] < this.rank(this.folded[i], wanted, words) ? ranked[0][1] : null;
  }

  best(i, wanted, words) {
    const others = (this.synonyms.get(i) ?? []).map(([, each]) => this.rank(each, wanted, words));
    return Math.min(this.rank(this.folded[i], wanted, words), ...others);
  }

  // The names that match, the best first; `among` restricts them to a set of numbers.
  find(text, among = null) {
    const wanted = folded(text).trim();
    const numbers = among ?? this.names.keys();
    if (!wanted) return [...numbers].sort((a, b) => this.folded[a].localeCompare(this.folded[b], "en", { numeric: true }));
    const words = wanted.split(/\s+/);
    const ranked = [];
    for (const i of numbers) {
      const rank = this.best(i, wanted, words);
      if (rank < 4) ranked.push([rank, i]);
    }
    const order = (a, b) => a[0] - b[0] || this.names[a[1]].length - this.names[b[1]].length || a[1] - b[1];
    const found = ranked.sort(order).map(([, i]) => i);
    return found.length < 5 && wanted.length > 2 ? [...found, ...this.near(wanted, among, new Set(found))] : found;
  }

  rank(name, wanted, words) {
    if (name === wanted) return 0;
    if (name.startsWith(wanted)) return 1;
    if (words.every((word) => name.split(/[^\p{L}\p{N}]+/u).some((each) => each.startsWith(word)))) return 2;
    return words.every((word) => name.includes(word)) ? 3 : 4;
  }

  // Names that share most of their triples of letters with what was written.
  near(wanted, among, without) {
    this.triples ??= this.folded.map((name, i) => [name, ...(this.synonyms.get(i) ?? []).map(([, each]) => each)].map(triplesOf));
    const mine = triplesOf(wanted);
    const found = [];
    for (const i of among ?? this.names.keys()) {
      if (without.has(i)) continue;
      const alike = Math.max(...this.triples[i].map((theirs) => likeness(mine, theirs)));
      if (alike >= 0.38) found.push([alike, i]);
    }
    return found.sort((a, b) => b[0] - a[0] || a[1] - b[1]).slice(0, 20).map(([, i]) => i);
  }
}
