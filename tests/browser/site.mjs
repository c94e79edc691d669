// Looks at a site in Chromium: from a file and from below a path of a server, in light and dark, by keyboard alone.
// `node site.mjs SITE [SCREENSHOTS]`; ACX_CHROMIUM names the browser.
import assert from "node:assert/strict";
import { createServer } from "node:http";
import { readFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { extname, join, normalize, resolve, sep } from "node:path";
import { pathToFileURL } from "node:url";
import { chromium } from "playwright-core";

const site = resolve(process.argv[2]);
const shots = process.argv[3];
const axe = await readFile(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");

const TYPES = { ".html": "text/html", ".css": "text/css", ".js": "text/javascript", ".svg": "image/svg+xml" };
const server = createServer(async (request, response) => {
  const path = decodeURIComponent(new URL(request.url, "http://x").pathname);
  const file = normalize(join(site, path.replace(/^\/below\/a\/path\//, "")));
  try {
    assert(path.startsWith("/below/a/path/") && file.startsWith(site + sep));
    const bytes = await readFile(file);
    response.writeHead(200, { "content-type": TYPES[extname(file)] ?? "application/octet-stream" });
    response.end(bytes);
  } catch {
    response.writeHead(404).end();
  }
});
await new Promise((done) => server.listen(0, "127.0.0.1", done));

const browser = await chromium.launch({
  executablePath: process.env.ACX_CHROMIUM ?? "/usr/bin/chromium",
  headless: true,
  args: [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
  ],
});

/** A page whose every complaint is remembered. */
async function open(url, options = {}) {
  const context = await browser.newContext({ viewport: { width: 1200, height: 900 }, ...options });
  const page = await context.newPage();
  const complaints = [];
  page.on("console", (said) => {
    if (["error", "warning"].includes(said.type())) complaints.push(said.text());
  });
  page.on("pageerror", (error) => complaints.push(String(error)));
  page.on("requestfailed", (request) => {
    // What was still on its way when the page was left is no failure.
    const why = request.failure()?.errorText;
    if (why !== "net::ERR_ABORTED") complaints.push(why + " " + request.url());
  });
  page.on("response", (response) => {
    if (response.status() >= 400) complaints.push(response.status() + " " + response.url());
  });
  await page.goto(url);
  return { page, context, complaints };
}

/** No finding of axe-core that is serious, or worse; for that alone the page's policy is set aside, elsewhere. */
async function accessible(url, options, prepare) {
  const { page, context } = await open(url, { ...options, bypassCSP: true });
  if (prepare) await prepare(page);
  await page.evaluate(axe);
  const { violations } = await page.evaluate(() => self.axe.run());
  const bad = violations.map((v) => `${v.impact} ${v.id}: ${v.nodes.map((n) => n.html).slice(0, 3)}`);
  assert.deepEqual(
    bad.filter((line) => /^(serious|critical|moderate)/.test(line)),
    [],
    url + JSON.stringify(options),
  );
  await context.close();
}

const names = (page) => page.locator("#found .card h2").allInnerTexts();

async function look(start) {
  const { page, context, complaints } = await open(start + "index.html");
  const count = page.locator("#count");

  // The list is there, and the search with it.
  assert.equal(await page.locator("#listed .card").count(), 60);
  await page.getByLabel("Search").fill("scribe");
  await count.filter({ hasText: "found" }).waitFor();
  assert.deepEqual(await names(page), ["Scribe", "Old Scribe"]);
  assert.equal(await page.locator("#listed").isVisible(), false);
  assert.equal(new URL(page.url()).hash, "#q=scribe");

  // Filters; the address keeps them.
  await page.getByLabel("Status").selectOption("deprecated");
  await count.filter({ hasText: "1 of 137" }).waitFor();
  assert.deepEqual(await names(page), ["Old Scribe"]);
  const kept = page.url();
  await page.reload();
  await count.filter({ hasText: "1 of 137" }).waitFor();
  assert.equal(await page.getByLabel("Search").inputValue(), "scribe");
  assert.equal(page.url(), kept);
  await page.getByRole("button", { name: "Clear" }).click();
  await page.locator("#listed").waitFor();
  assert.equal(new URL(page.url()).hash, "");
  assert.equal(await count.innerText(), "");

  // By task, tag, publisher, trust, kind; by description and by key.
  for (const [label, value, expected] of [
    ["Task", "write-docs", 2],
    ["Tag", "on-call", 1],
    ["Publisher", "com.example.docs", 2],
    ["Kind", "template", 1],
    ["Kind", "workflow", 2],
    ["Kind", "agent-graph", 1],
    ["Trust", "trusted", 45],
  ]) {
    await page.getByLabel(label).selectOption(value);
    await count.filter({ hasText: expected + " of 137 found" }).waitFor();
    assert.equal((await names(page)).length, expected, label);
    await page.getByRole("button", { name: "Clear" }).click();
    await page.locator("#listed").waitFor();
  }
  await page.getByLabel("Search").fill("wakes somebody");
  await count.filter({ hasText: "1 of 137" }).waitFor();
  await page.getByLabel("Search").fill("no such thing");
  await count.filter({ hasText: "Nothing found" }).waitFor();

  // More than a page of results.
  await page.getByLabel("Search").fill("helps");
  await count.filter({ hasText: "128 of 137" }).waitFor();
  assert.equal((await names(page)).length, 60);
  await page.getByRole("button", { name: "Show more" }).click();
  assert.equal((await names(page)).length, 120);
  assert.equal(await page.evaluate(() => document.activeElement.closest("li").matches(":nth-child(61)")), true);

  // A stranger's text is text, in the results and on its page.
  await page.getByLabel("Search").fill("hostile");
  await count.filter({ hasText: "1 of 137" }).waitFor();
  assert.match((await names(page))[0], /^<\/script><script>self.pwned=1/);
  assert.equal(await page.locator("#found b, #found img, #found svg").count(), 0);
  await page.locator("#found .card a").click();
  await page.waitForURL(/hostile__net\.example\.hostile\/index\.html$/);
  assert.equal(await page.locator("main b, main img, main svg, main a[href^=javascript]").count(), 0);
  assert.match(await page.locator(".lead").innerText(), /<b>bold<\/b>\\u\{202e\}evil\\u\{1b\}\[31m/);
  assert.equal(await page.evaluate(() => self.pwned), undefined);
  assert.equal(await page.evaluate(() => document.querySelectorAll("script").length), 1);

  // The policy holds: nothing of a page runs, and nothing is fetched.
  const blocked = complaints.length;
  await page.evaluate(() => {
    const script = document.createElement("script");
    script.textContent = "self.pwned = 1";
    document.body.append(script);
  });
  assert.equal(await page.evaluate(() => self.pwned), undefined);
  assert.equal(await page.evaluate(() => fetch("https://example.com/").then(() => 1, () => 0)), 0);
  await page.waitForTimeout(50);
  assert(complaints.length > blocked);
  complaints.length = blocked;

  // From the address of a filter to a cartridge, its history and an older version.
  await page.goto(start + "index.html#q=build+smith&trust=trusted");
  await count.filter({ hasText: "1 of 137" }).waitFor();
  await page.locator("#found .card a").click();
  await page.getByRole("heading", { level: 1, name: "Build Smith" }).waitFor();
  assert.equal(await page.locator(".command").count(), 3);
  await page.getByRole("button", { name: "Copy the command" }).first().click();
  await page.locator(".command button").first().filter({ hasText: /Copied|Selected/ }).waitFor();
  await page.getByRole("link", { name: "1.0.0" }).first().click();
  await page.getByText("This version is withdrawn").waitFor();
  await page.getByRole("link", { name: "com.example.ada/build-smith 1.1.0" }).click();
  await page.waitForURL(/v-1\.1\.0\.html$/);
  await page.getByRole("link", { name: "About this index" }).click();
  await page.getByText("--min-sequence 7").waitFor();
  await page.getByRole("link", { name: "Catalogue" }).click();
  await page.getByRole("link", { name: "Next" }).click();
  await page.waitForURL(/page-2\.html$/);
  assert.equal(await page.locator("#listed .card").count(), 60);

  // From a graph's picture to a workflow that it pins, and back to the graph.
  await page.goto(start + "graphs/team__com.example.ada/v-1.0.0.html");
  assert.equal(await page.locator("svg.graph rect").count(), 8);
  await page.locator("svg.graph a").first().click();
  await page.getByRole("heading", { level: 1, name: "Deliver" }).waitFor();
  await page.getByRole("link", { name: "com.example.ada/team 1.1.0" }).click();
  await page.getByRole("heading", { level: 1, name: "Team of stewards" }).waitFor();

  // Dark, and it stays dark on the next page.
  const paper = () => page.evaluate(() => getComputedStyle(document.body).backgroundColor);
  const light = await paper();
  const theme = page.getByRole("button", { name: /^Theme/ });
  await theme.click();
  assert.equal(await theme.innerText(), "Theme: light");
  await theme.click();
  assert.equal(await theme.innerText(), "Theme: dark");
  const dark = await paper();
  assert.notEqual(dark, light);
  await page.goto(start + "registry.html");
  assert.equal(await paper(), dark);
  await theme.click();
  assert.equal(await theme.innerText(), "Theme: auto");
  assert.equal(await paper(), light);
  assert.deepEqual(complaints, [], start);
  await context.close();
}

/** Tab, arrows and Enter alone. */
async function keyboard(start) {
  const { page, context, complaints } = await open(start + "index.html");
  const active = () => page.evaluate(() => document.activeElement.id || document.activeElement.textContent);
  await page.keyboard.press("Tab");
  assert.equal(await active(), "Skip to the content");
  assert.equal(await page.locator(".skip").isVisible(), true);
  await page.keyboard.press("Enter");
  assert.equal(await active(), "main");
  await page.keyboard.press("Tab");
  assert.equal(await active(), "q");
  const ring = await page.evaluate(() => getComputedStyle(document.activeElement).outlineStyle);
  assert.equal(ring, "solid");
  await page.keyboard.type("night");
  await page.locator("#count").filter({ hasText: "1 of 137" }).waitFor();
  for (let n = 0; n < 20 && (await active()) !== "Night Watch"; n++) await page.keyboard.press("Tab");
  assert.equal(await active(), "Night Watch");
  const box = await page.evaluate(() => getComputedStyle(document.activeElement.closest(".card")).outlineStyle);
  assert.equal(box, "solid");
  await page.keyboard.press("Enter");
  await page.getByRole("heading", { level: 1, name: "Night Watch" }).waitFor();
  // Back to what was searched for.
  await page.goBack();
  await page.locator("#count").filter({ hasText: "1 of 137" }).waitFor();
  assert.equal(await page.getByLabel("Search").inputValue(), "night");
  assert.deepEqual(complaints, []);
  await context.close();
}

/** Without a script everything is listed, and nothing that needs one is shown. */
async function scriptless(start) {
  const { page, context, complaints } = await open(start + "index.html", { javaScriptEnabled: false });
  assert.equal(await page.locator("#listed .card").count(), 60);
  for (const gone of ["#search", "#theme", "#found"]) assert.equal(await page.locator(gone).isVisible(), false);
  await page.getByRole("link", { name: "Next" }).click();
  await page.getByRole("link", { name: "Next" }).click();
  assert.equal(await page.locator("#listed .card").count(), 17);
  await page.getByRole("link", { name: "starter" }).click();
  assert.equal(await page.getByRole("heading", { level: 1 }).innerText(), "starter");
  assert.deepEqual(complaints, []);
  await context.close();
}

/** Nothing is wider than the window. */
async function fits(start, path) {
  for (const width of [320, 768, 1600]) {
    const { page, context } = await open(start + path, { viewport: { width, height: 800 } });
    const wide = await page.evaluate(() => document.documentElement.scrollWidth);
    assert(wide <= width, `${path} is ${wide} wide in ${width}`);
    await context.close();
  }
}

const SMITH = "cartridges/build-smith__com.example.ada/";
const PAGES = [
  "index.html",
  "page-2.html",
  "registry.html",
  SMITH + "index.html",
  SMITH + "v-1.0.0.html",
  "cartridges/hostile__net.example.hostile/index.html",
  "templates/t-starter.html",
  "workflows/deliver__com.example.ada/index.html",
  "graphs/team__com.example.ada/v-1.0.0.html",
];

try {
  const file = pathToFileURL(site + sep).href;
  const served = `http://127.0.0.1:${server.address().port}/below/a/path/`;
  if (shots) {
    for (const colorScheme of ["light", "dark"]) {
      for (const [size, width] of [["wide", 1280], ["narrow", 360]]) {
        for (const [name, path] of [["front", "index.html"], ["found", "index.html#q=debug&trust=trusted"], ["cartridge", SMITH + "index.html"], ["old", SMITH + "v-1.0.0.html"], ["registry", "registry.html"], ["hostile", PAGES[5]]]) {
          const { page, context } = await open(file + path, { colorScheme, viewport: { width, height: 1100 } });
          await page.waitForTimeout(300);
          await page.screenshot({ path: join(shots, `${name}-${colorScheme}-${size}.png`) });
          await context.close();
        }
      }
    }
  }
  for (const start of [file, served]) {
    await look(start);
    await keyboard(start);
    await scriptless(start);
  }
  for (const path of PAGES) await fits(file, path);
  for (const colorScheme of ["light", "dark"]) {
    for (const path of PAGES) await accessible(served + path, { colorScheme });
    await accessible(served + "index.html#q=debug", { colorScheme }, (page) => page.locator("#found .card").first().waitFor());
    await accessible(served + "index.html", { colorScheme, viewport: { width: 360, height: 800 } });
  }
  console.log("all seen");
} finally {
  await browser.close();
  server.close();
}
