// Drives one page in a real browser; prints what it found as JSON. Arguments: the page, the browser, a disease.
const { chromium } = require("playwright-core");

const FLAGS = [
  "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
  "--disable-component-update", "--disable-sync",
];

const column = (page, place) => page.$$eval("#table tbody tr", (rows, n) => rows.map((row) => row.cells[n].textContent), place);
const scale = (page) => page.$eval("#neighbourhood", (picture) => Number(picture.dataset.scale));

const look = async (page, found) => {
  found.rows = (await column(page, 0)).length;
  found.status = await page.textContent("#table-status");
  await page.click("th[data-key=value] button");
  found.ascending = await column(page, 3);
  await page.click("th[data-key=value] button");
  found.descending = await column(page, 3);
  await page.selectOption("#table-kind", "2");
  found.kinds = await column(page, 0);
  await page.selectOption("#table-kind", "");
  if (await page.isVisible("#table-flagged")) {
    await page.check("#table-flagged");
    found.flagged = await page.textContent("#table-status");
    found.reasons = await page.$$eval("#table .chip", (chips) => chips.map((chip) => chip.title));
    await page.uncheck("#table-flagged");
  }
};

const search = async (page, found, disease) => {
  await page.fill("#table-search", disease);
  found.searched = [...new Set(await column(page, 1))];
  await page.fill("#table-search", "no such name");
  found.nothing = await page.textContent("#table tbody");
  await page.fill("#table-search", "");
  await page.click("#page-next");
  found.page = await page.textContent("#page-status");
};

const openDisease = async (page, found, disease) => {
  await page.fill("#disease-search", disease);
  await page.locator("#disease-list button").first().click();
  await page.waitForFunction((name) => document.getElementById("disease-name").textContent === name, disease);
  found.address = decodeURIComponent(new URL(page.url()).hash);
  found.symptoms = await page.locator("#disease-table tbody tr").count();
  const before = await scale(page);
  await page.click("#zoom-in");
  found.zoomedByButton = (await scale(page)) > before;
  await page.locator("#neighbourhood").focus();
  await page.keyboard.press("0");
  await page.keyboard.press("+");
  found.zoomedByKey = Math.abs((await scale(page)) - 1.25) < 1e-9;
  await page.locator("#neighbourhood").hover({ position: { x: 4, y: 4 } });
  await page.mouse.wheel(0, -200);
  await page.waitForFunction(() => Number(document.getElementById("neighbourhood").dataset.scale) > 1.3);
  const scene = () => page.getAttribute("#neighbourhood .scene", "transform");
  const resting = await scene();
  await page.mouse.down();
  const { x, y } = await page.locator("#neighbourhood").boundingBox();
  await page.mouse.move(x + 60, y + 40, { steps: 3 });
  await page.mouse.up();
  found.dragged = (await scene()) !== resting;
  await page.click("#zoom-reset");
  const others = page.locator("#neighbourhood .node.other");
  found.others = await others.count();
  if (found.others) {
    await others.first().focus();
    await page.keyboard.press("Enter");
    await page.waitForFunction((name) => document.getElementById("disease-name").textContent !== name, disease);
  }
};

// The numbers at the scale, all rows as CSV, and what can cause the first symptom of the disease.
const takeAway = async (page, found) => {
  found.scale = await page.textContent("#table-scale");
  await page.fill("#table-search", "");
  const waiting = page.waitForEvent("download");
  await page.click("#download");
  const stream = await (await waiting).createReadStream();
  found.csv = "";
  for await (const part of stream) found.csv += part;
  const link = page.locator("#disease-table tbody td.name a").first();
  found.symptom = await link.textContent();
  await link.click();
  await page.waitForFunction((name) => document.getElementById("symptom-name").textContent === name, found.symptom);
  found.causes = await page.locator("#symptom-table tbody td.name").allTextContents();
  found.symptomSays = await page.textContent("#symptom-says");
  found.verdict = await page.textContent(".verdict");
};

// On a phone nothing is wider than the screen, in light and in dark.
const onPhone = async (page, found) => {
  await page.setViewportSize({ width: 390, height: 844 });
  found.tooWide = [];
  for (const colorScheme of ["light", "dark"]) {
    await page.emulateMedia({ colorScheme });
    found.tooWide.push(await page.evaluate(() => document.documentElement.scrollWidth > document.documentElement.clientWidth + 1));
  }
  await page.setViewportSize({ width: 1280, height: 900 });
};

const main = async ([file, browserPath, disease]) => {
  const browser = await chromium.launch({ executablePath: browserPath, args: FLAGS });
  const page = await browser.newPage({ viewport: { width: 1280, height: 900 } });
  const found = { complaints: [], requests: [] };
  page.on("console", (message) => found.complaints.push(message.text()));
  page.on("pageerror", (error) => found.complaints.push(error.message));
  page.on("request", (request) => { if (!/^(file|data|blob):/.test(request.url())) found.requests.push(request.url()); });
  page.setDefaultTimeout(20000);
  const start = Date.now();
  await page.goto(`file://${file}`);
  await page.waitForSelector("html[data-ready]", { state: "attached" });
  found.milliseconds = Date.now() - start;
  await look(page, found);
  await search(page, found, disease);
  await openDisease(page, found, disease);
  await takeAway(page, found);
  await onPhone(page, found);
  await page.goto("about:blank");
  await page.goto(`file://${file}#disease=${encodeURIComponent(disease)}`);
  await page.waitForSelector("html[data-ready]", { state: "attached" });
  found.linked = await page.textContent("#disease-name");
  await page.emulateMedia({ media: "print" });
  found.printed = await page.isVisible(".only-print table") && !(await page.isVisible("#table"));
  found.hacked = await page.evaluate(() => window.hacked === true);
  await browser.close();
  console.log(JSON.stringify(found));
};

main(process.argv.slice(2)).catch((error) => { console.error(error); process.exit(1); });
