// Drives the page in a real browser; prints what it found as JSON.
// Arguments: the scenario, the address, the browser, a JSON text with what the scenario needs.
const fs = require("fs");
const { chromium } = require("playwright-core");

const FLAGS = [
  "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
  "--disable-component-update", "--disable-sync",
];

const open = async (browser, address, found, options = {}) => {
  const context = await browser.newContext({ viewport: { width: 1280, height: 900 }, acceptDownloads: true, ...options });
  const page = await context.newPage();
  page.setDefaultTimeout(30000);
  page.on("console", (message) => found.complaints.push(message.text()));
  page.on("pageerror", (error) => found.complaints.push(error.message));
  page.on("request", (request) => {
    if (!request.url().startsWith(new URL(address).origin) && !/^(data|blob):/.test(request.url())) found.elsewhere.push(request.url());
  });
  await page.goto(address);
  await ready(page);
  return page;
};
const ready = async (page) => {
  await page.waitForSelector("html[data-ready]", { state: "attached" });
  await idle(page);
};
const idle = (page) => page.waitForFunction(() => document.body.dataset.waiting === "0");
const names = (page, list) => page.$$eval(`${list} > li`, (rows) => rows.map((row) => row.dataset.name));
const rows = (page) => page.$$eval("#disease-rows > li", (items) => items.map((item) => ({
  disease: item.dataset.disease, probability: Number(item.dataset.probability), other: item.dataset.other,
  percents: [...item.querySelectorAll(".percent")].map((each) => each.textContent), flagged: item.classList.contains("flagged"),
  had: !item.querySelector(".label").hidden, whiskers: item.querySelectorAll(".whisker:not(.bound)").length,
})));
const fragment = ({ present = [], absent = [], given = {} }) => [
  ...present.map((name) => `p=${encodeURIComponent(name)}`), ...absent.map((name) => `a=${encodeURIComponent(name)}`),
  ...Object.entries(given).map(([name, value]) => `given=${encodeURIComponent(`${name}=${value}`)}`),
].join("&");
const type = async (page, text) => { await page.fill("#search", text); return names(page, "#results"); };

// With the keyboard alone: search, set, undo, redo; then questions, explanations, the link.
const walk = async (page, found, { prefix, misspelled, finding }) => {
  await page.keyboard.press("/");
  found.focused = await page.evaluate(() => document.activeElement.id);
  found.prefix = await type(page, prefix);
  await page.keyboard.press("Enter");
  await idle(page);
  found.afterEnter = await rows(page);
  found.misspelled = await type(page, misspelled);
  await page.keyboard.press("Shift+Enter");
  await idle(page);
  found.states = await page.$$eval("#case > li", (items) => items.map((item) => [item.dataset.name, item.classList.contains("absent")]));
  await page.fill("#search", "");
  await page.keyboard.press("Control+z");
  await idle(page);
  found.undone = await names(page, "#case");
  found.afterUndo = await rows(page);
  await page.keyboard.press("Control+y");
  await idle(page);
  found.redone = await names(page, "#case");
  await page.locator("#case > li").first().locator(".state.unknown").focus();
  await page.keyboard.press("a");
  await idle(page);
  found.byKey = await page.$$eval("#case > li", (items) => items.map((item) => [item.dataset.name, item.classList.contains("absent")]));
  found.focusKept = await page.evaluate(() => document.activeElement.className);
  await page.click("#undo");
  await idle(page);
  found.question = (await names(page, "#question-list"))[0];
  await page.locator("#question-list > li").first().locator(".state.present").click();
  await idle(page);
  found.answered = await names(page, "#case");
  found.nextQuestion = (await names(page, "#question-list"))[0];
  const second = page.locator("#disease-rows > li .disease").nth(1);
  found.second = (await rows(page))[1].disease;
  await second.focus();
  await page.keyboard.press("Enter");
  await idle(page);
  found.chosen = await page.textContent("#chosen-name");
  found.waterfall = await page.$$eval("#waterfall .step", (steps) => steps.map((step) => [step.querySelector(".step-name").textContent, step.querySelector(".step-value").textContent]));
  found.explains = await page.$$eval("#explains .step-name", (steps) => steps.map((step) => step.textContent));
  found.picture = await page.$$eval("#neighbourhood .node.symptom.present", (nodes) => nodes.length);
  found.sets = await page.locator("#set-list > li").count();
  const node = page.locator("#neighbourhood .node.symptom.unknown").first();
  found.clicked = (await node.getAttribute("aria-label")).replace(": not asked", "");
  await node.click();
  await idle(page);
  found.afterClick = await names(page, "#case");
  found.method = await page.textContent("#method");
  found.before = await rows(page);
  found.address = page.url();
};

// The address opened anew holds the case; then everything is forgotten.
const follow = async (page, found) => {
  await page.goto("about:blank");
  await page.goto(found.address);
  await ready(page);
  found.linked = await rows(page);
  found.linkedChosen = await page.textContent("#chosen-name");
  await page.click("#reset");
  await idle(page);
  found.reset = await names(page, "#case");
  found.resetAddress = new URL(page.url()).hash;
  await page.click("#undo");
  await idle(page);
  found.broughtBack = await rows(page);
};

const download = async (page, button) => {
  const [file] = await Promise.all([page.waitForEvent("download"), page.click(button)]);
  return fs.readFileSync(await file.path(), "utf8");
};

const scenarios = {
  walk: async (browser, address, found, task) => {
    const page = await open(browser, address, found);
    await walk(page, found, task);
    await follow(page, found);
    found.json = JSON.parse(await download(page, "#export-json"));
    found.csv = await download(page, "#export-csv");
    await page.click("#tab-explore");
    const report = await (await page.waitForSelector("#explore iframe")).contentFrame();
    await report.waitForSelector("html[data-ready]", { state: "attached" });
    found.report = await report.textContent("h1");
    await page.click("#tab-diagnose");
    await page.emulateMedia({ media: "print" });
    found.printed = await page.isVisible("#disease-rows") && !(await page.isVisible("#search")) && !(await page.isVisible("#undo"));
  },

  // What stands on the screen for many cases.
  cases: async (browser, address, found, { cases, shown }) => {
    const page = await open(browser, address, found);
    found.cases = [];
    for (const each of cases) {
      await page.evaluate((hash) => { location.hash = hash; }, fragment(each) || "p=");
      const wanted = [...each.present, ...each.absent].sort().join("\n");
      await page.waitForFunction((text) => document.body.dataset.waiting === "0" &&
        [...document.querySelectorAll("#case > li")].map((item) => item.dataset.name).sort().join("\n") === text, wanted);
      while ((await page.locator("#disease-rows > li").count()) < shown && (await page.isVisible("#more"))) await page.click("#more");
      found.cases.push(await rows(page));
    }
  },

  beside: async (browser, address, found, { other, cases }) => {
    const page = await open(browser, `${address}#${fragment(cases[0])}`, found);
    await page.selectOption("#other", other);
    await idle(page);
    found.rows = await rows(page);
    found.method = await page.textContent("#method");
    const again = await open(browser, page.url(), found);
    found.linked = await rows(again);
    await again.selectOption("#model", other);
    await idle(again);
    found.turned = await rows(again);
  },

  // Models that do not have the same names: what only one of them has is told, and can be looked at.
  differing: async (browser, address, found, { other, disease, present }) => {
    const page = await open(browser, `${address}#beside=${encodeURIComponent(other)}&${fragment({ present })}`, found);
    found.case = await page.$$eval("#case .name", (all) => all.map((each) => each.textContent));
    await page.click(`#disease-rows [data-disease="${disease}"] .disease`);
    await idle(page);
    found.chosen = await page.textContent("#chosen-name");
    found.says = await page.textContent("#chosen-says");
    found.waterfall = await page.$$eval("#waterfall .step-name", (steps) => steps.map((step) => step.textContent));
    found.drawn = await page.getAttribute("#neighbourhood .node.chosen", "aria-label");
    const stranger = await open(browser, `${address}#model=yesterday&p=fever`, found);
    found.notice = await stranger.textContent("#notice");
    found.shown = (await rows(stranger)).length;
  },

  // Where the focus is after what keys do.
  focus: async (browser, address, found, { hash }) => {
    const page = await open(browser, `${address}#${hash}`, found);
    const press = async (place, key = "Enter") => {
      await place.focus();
      await page.keyboard.press(key);
      await idle(page);
      return page.evaluate(() => document.activeElement.id || document.activeElement.getAttribute("aria-label") || document.activeElement.className);
    };
    found.question = await press(page.locator("#question-list .state.absent").first());
    found.next = (await names(page, "#question-list"))[0];
    const symptom = page.locator("#neighbourhood .node.symptom.unknown").first();
    found.symptom = (await symptom.getAttribute("aria-label")).replace(": not asked", "");
    found.afterSymptom = await press(symptom);
    const other = page.locator("#neighbourhood .node.other").first();
    found.other = (await other.getAttribute("aria-label")).split(":")[0];
    found.afterOther = await press(other);
    found.more = await press(page.locator("#more"));
    await press(page.locator("#undo"));
    found.undone = await press(page.locator("#undo"));
  },

  // How wide the page is with names of any length.
  long: async (browser, address, found, { hash }) => {
    found.wide = {};
    for (const width of [1280, 360]) {
      const page = await open(browser, `${address}#${hash}`, found, { viewport: { width, height: 844 } });
      found.wide[width] = await page.evaluate(() => document.documentElement.scrollWidth);
      found.case = await names(page, "#case");
    }
  },

  person: async (browser, address, found, { given }) => {
    const page = await open(browser, address, found);
    for (const [name, value] of Object.entries(given)) {
      const field = page.locator(`[data-covariate="${name}"]`);
      if ((await field.evaluate((each) => each.tagName)) === "SELECT") await field.selectOption(value);
      else { await field.fill(value); await field.press("Tab"); }
      await idle(page);
    }
    found.rows = await rows(page);
    found.waterfall = await page.$$eval("#waterfall .step", (steps) => steps.map((step) => [step.querySelector(".step-name").textContent, step.querySelector(".step-value").textContent]));
    found.address = decodeURIComponent(new URL(page.url()).hash);
  },

  // Files that are nearly right.
  odd: async (browser, address, found) => {
    const page = await open(browser, address, found);
    const give = async (name, text, until) => {
      await page.setInputFiles("#file-records", { name, mimeType: "text/csv", buffer: Buffer.from(text) });
      await page.waitForFunction((words) => document.getElementById("file-says").textContent.includes(words), until);
      await idle(page);
      return page.textContent("#file-says");
    };
    await page.selectOption("#file-unmentioned", "unknown");
    found.refused = await give("shoes.csv", "fever,shoe size\n1,43\n", "Here:");
    await page.check("#file-ignore");
    await page.waitForFunction(() => document.getElementById("file-says").textContent.includes("1 record of"));
    await idle(page);
    found.taken = await names(page, "#case");
    found.both = await give("both.json", JSON.stringify({ format: "noisyor-case", case: { present: ["fever"], absent: ["fever"] } }), "both.json");
    found.person = await give("person.json", JSON.stringify({ format: "noisyor-case", case: { present: [], absent: [], covariates: [1] } }), "person.json");
    found.complaints = found.complaints.filter((text) => !text.includes("400 (Bad Request)")); // the browser's own note
  },

  file: async (browser, address, found, { records, labels }) => {
    const page = await open(browser, address, found);
    await page.setInputFiles("#file-labels", labels);
    await page.setInputFiles("#file-records", records);
    await page.waitForFunction(() => document.querySelectorAll("#file-record option").length > 0);
    await idle(page);
    found.nRecords = await page.locator("#file-record option").count();
    await page.click("#file-next");
    await idle(page);
    found.second = await rows(page);
    found.labelled = await page.textContent("#file-labelled");
    await page.setInputFiles("#file-records", { name: "wrong.csv", mimeType: "text/csv", buffer: Buffer.from("nonsense\n1\n") });
    await page.waitForFunction(() => /^(?!Reading).*wrong\.csv/.test(document.getElementById("file-says").textContent));
    found.wrong = await page.textContent("#file-says");
    found.complaints = found.complaints.filter((text) => !text.includes("400 (Bad Request)")); // the browser's own note
  },

  hostile: async (browser, address, found, { symptom }) => {
    const start = Date.now();
    const page = await open(browser, address, found);
    found.opened = Date.now() - start;
    const typed = Date.now();
    found.results = await type(page, symptom);
    found.searched = Date.now() - typed;
    await page.keyboard.press("Enter");
    await idle(page);
    found.known = await names(page, "#case");
    found.rows = await rows(page);
    found.title = await page.title();
    found.hacked = await page.evaluate(() => window.hacked === true);
    found.tags = await page.$$eval("main img, main script, main b", (made) => made.length);
    await page.goto("about:blank");
  },

  token: async (browser, address, found, { token }) => {
    const bare = address.split("#")[0];
    const first = await browser.newPage();
    await first.goto(bare);
    await first.waitForSelector("#token-form:not([hidden])");
    found.refused = await first.textContent("#message");
    await first.fill("#token", token);
    await first.keyboard.press("Enter");
    await ready(first);
    found.byForm = (await rows(first)).length;
    const page = await open(browser, address, found);
    found.byAddress = (await rows(page)).length;
    found.shown = page.url();
    found.cookies = await page.evaluate(() => document.cookie);
  },

  five: async (browser, address, found, task) => {
    const each = async () => {
      const mine = { complaints: found.complaints, elsewhere: found.elsewhere };
      const own = await chromium.launch({ executablePath: process.argv[4], args: FLAGS });
      try {
        await walk(await open(own, address, mine), mine, task);
      } finally { await own.close(); }
      return mine.before;
    };
    found.five = await Promise.all([0, 1, 2, 3, 4].map(each));
  },

  // The reader's words, and names found by their synonyms.
  words: async (browser, address, found, { synonyms }) => {
    const page = await open(browser, address, found);
    found.titles = await page.$$eval("h2", (all) => all.map((each) => each.textContent.trim()));
    found.placeholder = await page.getAttribute("#search", "placeholder");
    found.found = [];
    for (const synonym of synonyms) found.found.push(await type(page, synonym));
    found.shown = await page.textContent("#results .name");
    await page.keyboard.press("Enter");
    await idle(page);
    found.case = await names(page, "#case");
    await page.click("#tab-explore");
    const report = page.frameLocator("#explore iframe");
    found.report = await report.locator("#diseases-title").textContent();
    found.verdict = await report.locator(".verdict").textContent();
  },

  // Widths without a sideways bar; what axe-core finds wrong, in light and dark.
  access: async (browser, address, found, { hash }) => {
    found.wide = {};
    found.violations = [];
    for (const [width, colorScheme] of [[1280, "light"], [390, "dark"], [320, "light"]]) {
      const page = await open(browser, `${address}#${hash}`, found, { viewport: { width, height: 844 }, colorScheme, reducedMotion: "reduce" });
      found.wide[width] = await page.evaluate(() => document.documentElement.scrollWidth);
      await page.waitForTimeout(400);
      const source = fs.readFileSync(require.resolve("axe-core/axe.min.js"), "utf8");
      await page.evaluate(source); // by the debugger: the page's policy forbids it to pages
      const result = await page.evaluate(() => globalThis.axe.run(document, { resultTypes: ["violations"] }));
      for (const each of result.violations) found.violations.push(`${width} ${colorScheme} ${each.id}: ${each.nodes.map((node) => node.target.join(" ")).slice(0, 5).join(", ")}`);
    }
  },

  shots: async (browser, address, found, { hash, shots }) => {
    for (const { path, width, height, colorScheme, full } of shots) {
      const page = await open(browser, `${address}#${hash}`, found, { viewport: { width, height }, colorScheme, deviceScaleFactor: 1.25 });
      await page.waitForTimeout(400);
      await page.screenshot({ path, fullPage: Boolean(full) });
    }
  },
};

const main = async ([scenario, address, browserPath, task]) => {
  const browser = await chromium.launch({ executablePath: browserPath, args: FLAGS });
  const found = { complaints: [], elsewhere: [] };
  try {
    await scenarios[scenario](browser, address, found, JSON.parse(task));
  } finally { await browser.close(); }
  console.log(JSON.stringify(found));
};

main(process.argv.slice(2)).catch((error) => { console.error(error); process.exit(1); });
