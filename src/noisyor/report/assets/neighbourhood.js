// The picture of a disease: itself at the left, its symptoms, and at the right the other diseases that
// can cause them. The wider a line, the more often the disease causes the symptom.

const MOST_SYMPTOMS = 24;
const MOST_OTHERS = 16;
const PICTURE = { width: 860, step: 27, top: 30, node: 21 };
const LAYERS = {
  chosen: { x: 8, width: 190, title: say`disease` },
  symptom: { x: 318, width: 200, title: say`its symptoms` },
  other: { x: 652, width: 200, title: "others that cause them" },
};
const LETTER = 7.2; // about as wide as a letter is on average

const byStrength = (disease) => {
  const edges = [];
  for (let edge = edgeStarts[disease]; edge < edgeStarts[disease + 1]; edge++) edges.push(edge);
  return edges.sort((a, b) => strengthOf(b) - strengthOf(a) || a - b);
};

// Which other diseases share symptoms with a disease, those first that share most of what it shows; or, where
// diseases differ in what they weigh, as much of it as they weigh.
const sharing = (disease, edges, weigh = () => 1) => {
  const found = new Map();
  edges.forEach((edge) => {
    for (const other of edgesOfSymptom[data.edges[edge]]) {
      const owner = ownerOf(other);
      if (owner === disease) continue;
      const entry = found.get(owner) ?? { disease: owner, weight: 0, edges: [] };
      entry.weight += Math.sqrt(Math.max(strengthOf(edge) * strengthOf(other), 0));
      entry.edges.push(other);
      found.set(owner, entry);
    }
  });
  for (const entry of found.values()) entry.weight *= weigh(entry.disease);
  return [...found.values()].sort((a, b) => b.weight - a.weight || a.disease - b.disease);
};

const shortened = (name, most) => (name.length > most ? `${[...name].slice(0, most - 1).join("")}…` : name);
const lineWidth = (edge) => (0.6 + 5 * strengthOf(edge)).toFixed(2);
const curve = (x1, y1, x2, y2) => {
  const middle = (x1 + x2) / 2;
  return `M${x1} ${y1.toFixed(1)}C${middle} ${y1.toFixed(1)} ${middle} ${y2.toFixed(1)} ${x2} ${y2.toFixed(1)}`;
};
const edgeTitle = (edge) =>
  `${data.diseases[ownerOf(edge)]} causes ${data.symptoms[data.edges[edge]]} in ${(100 * strengthOf(edge)).toFixed(0)}%`;

const isDropped = new Set(data.dropped ?? []); // edges that records do not need
const edgeState = (edge) => (isDropped.has(edge) ? " dropped" : flagSets[firstEdge + edge] ? " doubtful" : "");
const edgeLine = (edge, path, kind) => drawn("path", {
  class: `edge ${kind}${edgeState(edge)}`, d: path, "stroke-width": lineWidth(edge),
  "data-symptom": data.edges[edge], "data-disease": ownerOf(edge),
}, drawn("title", {}, edgeTitle(edge)));

// Edges that records ask for: of a disease, the strongest first.
const toAdd = (disease) => (data.added ?? []).filter(([owner]) => owner === disease).sort((a, b) => b[2] - a[2]);
const addedLine = ([disease, symptom, strength], path) => drawn("path", {
  class: "edge own added", d: path, "stroke-width": (0.6 + 5 * strength).toFixed(2),
  "data-symptom": symptom, "data-disease": disease,
}, drawn("title", {}, `to add: ${data.diseases[disease]} seems to cause ${data.symptoms[symptom]} in ${(100 * strength).toFixed(0)}%`));

const node = (kind, number, y, name, onOpen) => {
  const { x, width } = LAYERS[kind];
  const attributes = {
    class: `node ${kind}`, tabindex: 0, role: onOpen ? "link" : "img", "aria-label": name,
    [`data-${kind === "symptom" ? "symptom" : "disease"}`]: number,
  };
  if (onOpen) {
    attributes.onclick = onOpen;
    attributes.onkeydown = (event) => { if (event.key === "Enter") onOpen(); };
  }
  return drawn("g", attributes, drawn("title", {}, name),
    drawn("rect", { x, y: y - PICTURE.node / 2, width, height: PICTURE.node, rx: kind === "symptom" ? PICTURE.node / 2 : 4 }),
    drawn("text", { x: x + 11, y: y + 4.5 }, shortened(name, Math.floor((width - 20) / LETTER))));
};

// What is drawn, and how much is left out. Symptoms that `isFirst` says come before stronger ones.
const neighbourhood = (disease, open, isFirst = () => false, weigh = () => 1) => {
  const all = byStrength(disease).sort((a, b) => isFirst(data.edges[b]) - isFirst(data.edges[a]));
  const edges = all.slice(0, MOST_SYMPTOMS);
  const everyone = sharing(disease, all);
  const others = sharing(disease, edges, weigh).slice(0, MOST_OTHERS);
  const added = toAdd(disease).slice(0, MOST_SYMPTOMS);
  const rows = Math.max(edges.length + added.length, others.length, 3);
  const height = PICTURE.top + rows * PICTURE.step + 12;
  const spread = (n) => (place) => PICTURE.top + ((place + 0.5) * rows * PICTURE.step) / Math.max(n, 1);
  const symptomY = spread(edges.length + added.length);
  const heights = new Map(edges.map((edge, place) => [data.edges[edge], symptomY(place)]));
  const centre = (entry) => entry.edges.reduce((sum, edge) => sum + heights.get(data.edges[edge]), 0) / entry.edges.length;
  others.sort((a, b) => centre(a) - centre(b));
  const middle = PICTURE.top + (rows * PICTURE.step) / 2;
  const right = (kind) => LAYERS[kind].x + LAYERS[kind].width;
  const lines = [];
  const nodes = [node("chosen", disease, middle, data.diseases[disease], null)];
  others.forEach((entry, place) => {
    const y = spread(others.length)(place);
    for (const edge of entry.edges)
      lines.push(edgeLine(edge, curve(right("symptom"), heights.get(data.edges[edge]), LAYERS.other.x, y), "theirs"));
    nodes.push(node("other", entry.disease, y, data.diseases[entry.disease], () => open(entry.disease)));
  });
  edges.forEach((edge) => {
    const y = heights.get(data.edges[edge]);
    lines.push(edgeLine(edge, curve(right("chosen"), middle, LAYERS.symptom.x, y), "own"));
    nodes.push(node("symptom", data.edges[edge], y, data.symptoms[data.edges[edge]], null));
  });
  added.forEach((change, place) => {
    const y = symptomY(edges.length + place);
    lines.push(addedLine(change, curve(right("chosen"), middle, LAYERS.symptom.x, y)));
    const made = node("symptom", change[1], y, data.symptoms[change[1]], null);
    made.classList.add("added");
    nodes.push(made);
  });
  const titles = Object.values(LAYERS).map(({ x, title }) => drawn("text", { class: "layer", x: x + 11, y: 18 }, title));
  const scene = drawn("g", { class: "scene" }, ...titles, ...lines, ...nodes);
  return { scene, height, nSymptoms: all.length, nEdges: edges.length, nOthers: others.length, nSharing: everyone.length };
};

// Looking closer: wheel (when the picture has the focus, or with Ctrl), drag, buttons and keys.
const zoomable = (picture, scene, height) => {
  const look = { scale: 1, x: 0, y: 0 };
  const apply = () => {
    scene.setAttribute("transform", `translate(${look.x} ${look.y}) scale(${look.scale})`);
    picture.dataset.scale = look.scale.toFixed(3);
  };
  const zoom = (factor, x = PICTURE.width / 2, y = height / 2) => {
    const scale = Math.min(Math.max(look.scale * factor, 0.5), 12);
    look.x = x - ((x - look.x) * scale) / look.scale;
    look.y = y - ((y - look.y) * scale) / look.scale;
    look.scale = scale;
    apply();
  };
  const move = (x, y) => { look.x += x; look.y += y; apply(); };
  const reset = () => { Object.assign(look, { scale: 1, x: 0, y: 0 }); apply(); };
  const placeOf = (event) => new DOMPoint(event.clientX, event.clientY).matrixTransform(picture.getScreenCTM().inverse());
  picture.addEventListener("wheel", (event) => {
    if (!event.ctrlKey && !event.metaKey && !picture.contains(document.activeElement)) return;
    event.preventDefault();
    const { x, y } = placeOf(event);
    zoom(Math.exp(-event.deltaY / 400), x, y);
  }, { passive: false });
  let last = null;
  picture.addEventListener("pointerdown", (event) => {
    if (event.button !== 0) return;
    last = placeOf(event);
    if (event.target.closest(".node")) return; // whose click would be lost
    picture.setPointerCapture(event.pointerId);
    picture.focus({ preventScroll: true });
  });
  picture.addEventListener("pointermove", (event) => {
    if (!last) return;
    const here = placeOf(event);
    move(here.x - last.x, here.y - last.y);
    last = here;
  });
  for (const name of ["pointerup", "pointerleave", "pointercancel"]) picture.addEventListener(name, () => { last = null; });
  picture.addEventListener("keydown", (event) => {
    const keys = {
      "+": () => zoom(1.25), "=": () => zoom(1.25), "-": () => zoom(0.8), 0: reset,
      ArrowLeft: () => move(40, 0), ArrowRight: () => move(-40, 0), ArrowUp: () => move(0, 40), ArrowDown: () => move(0, -40),
    };
    if (event.ctrlKey || event.metaKey || event.altKey || !keys[event.key]) return;
    event.preventDefault();
    keys[event.key]();
  });
  apply();
  return { zoom, reset };
};

// Whoever points at a node, or walks to it with the keyboard, sees its lines.
const litUp = (picture) => {
  const light = (target) => {
    const found = target && target.closest(".node");
    picture.classList.toggle("is-lit", Boolean(found));
    for (const line of picture.querySelectorAll(".edge")) {
      const { symptom, disease } = found ? found.dataset : {};
      line.classList.toggle("lit", Boolean(found) && (line.dataset.symptom === symptom || line.dataset.disease === disease));
    }
  };
  for (const name of ["pointerover", "focusin"]) picture.addEventListener(name, (event) => light(event.target));
  for (const name of ["pointerleave", "focusout"]) picture.addEventListener(name, () => light(null));
};

// The picture in its figure, and what is not in it, in words.
const framed = (disease, made) => {
  const picture = drawn("svg", {
    id: "neighbourhood", viewBox: `0 0 ${PICTURE.width} ${made.height}`, tabindex: 0, role: "group",
    "aria-label": say`${data.diseases[disease]}, its symptoms, and other diseases that cause them. Plus and minus zoom, arrows move.`,
  }, made.scene);
  const closer = zoomable(picture, made.scene, made.height);
  litUp(picture);
  byId("picture").replaceChildren(picture);
  const left = [];
  if (made.nSymptoms > made.nEdges) left.push(counted(made.nSymptoms - made.nEdges, "weaker symptom"));
  if (made.nSharing > made.nOthers) left.push(say`${counted(made.nSharing - made.nOthers, "other disease")} that can cause its symptoms`);
  return { picture, closer, leftOut: left.length ? `Not shown: ${left.join(" and ")}.` : "" };
};
