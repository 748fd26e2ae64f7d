// What a disease causes, with its picture; and what a symptom is caused by.

let closer = null;
const ERRORS = data.knows.errors ? ["95% interval"] : ["as a bar"];
const WITH_ERRORS = data.knows.errors ? ["std. error"] : [];
const TRUTH = data.knows.truth ? ["true failure"] : [];
const FLAGS = data.knows.flags ? ["flags"] : [];

const diseases = new Chooser("disease", data.diseases, values.slice(0, nDiseases),
  ["symptom", "causes it in", ...ERRORS, "failure", ...WITH_ERRORS, ...TRUTH, "depth", "other causes", ...FLAGS], (disease) => {
    byId("disease-says").textContent = say`Prior: ${percent(values[disease])} of records have it${withInterval(disease)}.${reservations(disease)}`;
    showPicture(disease);
    diseases.fill(say`What it causes, by strength: ${counted(data.children[disease], "symptom")}`, byStrength(disease));
  });

const showPicture = (disease) => {
  const made = framed(disease, neighbourhood(disease, (other) => diseases.visit(other)));
  closer = made.closer;
  byId("picture-says").replaceChildren(
    `Wide lines: often caused${data.knows.flags ? "; dashed: flagged" : ""}. `,
    toAdd(disease).length ? "Green and dashed: edges that records ask for. " : "",
    data.dropped.length ? "Orange and dotted: edges that they do not need. " : "",
    element("span", { class: "no-print" }, "Click the picture, then zoom with the wheel; drag to move; or use + − 0 and the arrow keys. "), made.leftOut);
};

// How frequent a symptom is in all records, where diseases are independent; else how often it comes by itself.
const frequencies = data.symptoms.map((_, symptom) => {
  const causes = data.knows.independent ? edgesOfSymptom[symptom] : [];
  return 1 - causes.reduce((absent, edge) => absent * (1 - values[ownerOf(edge)] * strengthOf(edge)), 1 - values[firstLeak + symptom]);
});

const symptoms = new Chooser("symptom", data.symptoms, frequencies,
  ["disease", "causes it in", ...ERRORS, "failure", ...WITH_ERRORS, ...TRUTH, "prior", "causes it, of all records", ...FLAGS], (symptom) => {
    const leak = firstLeak + symptom;
    const often = data.knows.independent ? say`Present in ${percent(frequencies[symptom])} of records. ` : "";
    byId("symptom-says").textContent = say`${often}Leak: without any of the diseases in ${percent(values[leak])}${withInterval(leak)}.${reservations(leak)}`;
    const share = (edge) => values[ownerOf(edge)] * strengthOf(edge);
    const causes = [...edgesOfSymptom[symptom]].sort((a, b) => share(b) - share(a) || a - b);
    symptoms.fill(say`What causes it, the most frequent cause first: ${counted(causes.length, "disease")}`, causes);
  });

byId("zoom-in").addEventListener("click", () => closer.zoom(1.25));
byId("zoom-out").addEventListener("click", () => closer.zoom(0.8));
byId("zoom-reset").addEventListener("click", () => closer.reset());
startTable();
diseases.start();
symptoms.start();
makeReachable();
document.documentElement.dataset.ready = "yes";
