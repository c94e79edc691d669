// Search, light or dark, and copying. The pages are whole without it. Texts are only ever set as text.
(() => {
  "use strict";
  const root = document.documentElement;
  const THEMES = ["auto", "light", "dark"];
  const get = (id) => document.getElementById(id);
  const el = (tag, name, ...children) => {
    const made = document.createElement(tag);
    if (name) made.className = name;
    made.append(...children.filter((child) => child !== null));
    return made;
  };
  // A page may be denied storage, for one when it is opened from a file.
  const stored = (value) => {
    try {
      if (value === undefined) return localStorage.getItem("acx-theme");
      localStorage.setItem("acx-theme", value);
    } catch {}
    return null;
  };

  // Before the page is drawn, so that it does not flash.
  let theme = stored();
  if (!THEMES.includes(theme)) theme = "auto";
  const setTheme = () => {
    if (theme === "auto") root.removeAttribute("data-theme");
    else root.dataset.theme = theme;
  };
  setTheme();

  const themeButton = () => {
    const button = get("theme");
    if (!button) return;
    const label = () => {
      button.textContent = "Theme: " + theme;
    };
    button.addEventListener("click", () => {
      theme = THEMES[(THEMES.indexOf(theme) + 1) % THEMES.length];
      setTheme();
      stored(theme);
      label();
    });
    label();
    button.hidden = false;
  };

  const copyButtons = () => {
    for (const command of document.querySelectorAll(".command")) {
      const code = command.querySelector("code");
      const button = el("button", "", "Copy");
      button.type = "button";
      button.setAttribute("aria-label", "Copy the command");
      const said = el("span", "hidden");
      said.setAttribute("role", "status");
      button.addEventListener("click", async () => {
        let done = false;
        try {
          await navigator.clipboard.writeText(code.textContent);
          done = true;
        } catch {
          // Pages that were opened from a file may have no clipboard.
          const selection = getSelection();
          selection.selectAllChildren(code);
          done = document.execCommand("copy");
        }
        button.textContent = done ? "Copied" : "Selected";
        said.textContent = done ? "Copied" : "Selected; copy it with your keyboard";
        setTimeout(() => {
          button.textContent = "Copy";
          said.textContent = "";
        }, 2000);
      });
      command.append(button, said);
    }
  };

  // One card of the list, as the pages have it.
  const PAGE = 60;
  const CHIPS = 4;
  const clip = (text, letters) => {
    const list = [...text];
    return list.length > letters ? list.slice(0, letters).join("").trimEnd() + "…" : text;
  };
  const badge = (name, kind = name) => el("span", "badge " + kind, name);
  const card = (item) => {
    const link = el("a", "", el("bdi", "", item.name));
    link.href = item.href;
    const chips = item.tasks.slice(0, CHIPS).map((task) => el("li", "", el("bdi", "", clip(task, 32))));
    if (item.tasks.length > CHIPS) chips.push(el("li", "rest", "+" + (item.tasks.length - CHIPS)));
    const list = chips.length ? el("ul", "chips", ...chips) : null;
    list?.setAttribute("aria-label", "Claimed capabilities");
    const foot = [badge(item.trust)];
    if (item.status !== "active") foot.push(" ", badge(item.status));
    if (item.kind !== "cartridge") foot.push(" ", badge(item.kind, "kind"));
    if (item.keyid) {
      const key = el("code", "key", "key " + item.keyid.replace("ed25519:", "").slice(0, 12) + "…");
      key.title = item.keyid;
      foot.push(" ", key);
    }
    return el(
      "li",
      "",
      el(
        "article",
        "card " + item.trust,
        el(
          "div",
          "head",
          el("h2", "", link),
          item.version ? el("span", "version", item.version) : null,
        ),
        el("p", "coordinate", el("bdi", "", item.publisher + "/", el("wbr"), item.id)),
        el("p", "about", el("bdi", "", item.about)),
        list,
        el("p", "foot", ...foot),
      ),
    );
  };

  const FIELDS = ["q", "publisher", "task", "tag", "trust", "status", "kind"];
  const OPTIONS = 500;

  const search = () => {
    const form = get("search");
    if (!form) return;
    const files = Number(form.dataset.files);
    const total = Number(form.dataset.total);
    const items = [];
    const listed = get("listed");
    const found = get("found");
    const cards = found.querySelector("ul");
    const count = get("count");
    const more = get("more");
    const clear = get("clear");
    let hits = [];
    let shown = 0;
    let loading = null;

    self.acxData = (rows) => {
      for (const row of rows) {
        const [kind, href, publisher, id, name, version, trust, status, about, tasks, tags, keyid] = row;
        const all = [id, name, about, publisher, ...tasks, ...tags, keyid].join("\n").toLowerCase();
        items.push({ kind, href, publisher, id, name, version, trust, status, about, tasks, tags, keyid, all });
      }
    };
    const script = (n) =>
      new Promise((done, failed) => {
        const tag = el("script");
        tag.src = "assets/data-" + n + ".js";
        tag.onload = done;
        tag.onerror = failed;
        document.head.append(tag);
      });
    const load = () => {
      loading ??= (async () => {
        for (let n = 1; n <= files; n++) await script(n);
        options();
      })();
      return loading;
    };

    const options = () => {
      const choices = {
        publisher: (item) => [item.publisher],
        task: (item) => item.tasks,
        tag: (item) => item.tags,
        trust: (item) => [item.trust],
        status: (item) => [item.status],
        kind: (item) => [item.kind],
      };
      for (const [name, of] of Object.entries(choices)) {
        const counts = new Map();
        for (const item of items) {
          for (const value of of(item)) counts.set(value, (counts.get(value) ?? 0) + 1);
        }
        const often = [...counts].sort((a, b) => b[1] - a[1]).slice(0, OPTIONS);
        often.sort((a, b) => (a[0] < b[0] ? -1 : 1));
        for (const [value, n] of often) option(name, value, clip(value, 40) + " (" + n + ")");
        // With one choice only there is nothing to filter by.
        get(name).closest(".field").hidden = counts.size < 2 && !get(name).value;
      }
    };
    const option = (name, value, label) => {
      const select = get(name);
      const there = [...select.options].find((one) => one.value === value);
      if (there) there.textContent = label;
      else select.append(new Option(label, value));
    };

    const wanted = () => {
      const fields = {};
      for (const name of FIELDS) fields[name] = get(name).value.trim();
      return fields;
    };
    const isAsked = (fields) => FIELDS.some((name) => fields[name] !== "");

    const fits = (item, fields, words) =>
      words.every((word) => item.all.includes(word)) &&
      (!fields.publisher || item.publisher === fields.publisher) &&
      (!fields.task || item.tasks.includes(fields.task)) &&
      (!fields.tag || item.tags.includes(fields.tag)) &&
      (!fields.trust || item.trust === fields.trust) &&
      (!fields.status || item.status === fields.status) &&
      (!fields.kind || item.kind === fields.kind);

    const show = () => {
      const next = hits.slice(shown, shown + PAGE).map(card);
      cards.append(...next);
      shown += next.length;
      more.hidden = shown >= hits.length;
      return next[0];
    };
    more.addEventListener("click", () => show()?.querySelector("a")?.focus());

    const number = (n) => n.toLocaleString("en");
    const update = async () => {
      const fields = wanted();
      const asked = isAsked(fields);
      const hash = new URLSearchParams(Object.entries(fields).filter(([, value]) => value)).toString();
      if (hash !== location.hash.slice(1)) {
        // Not a step back for each letter.
        history.replaceState(null, "", asked ? "#" + hash : location.pathname + location.search);
      }
      clear.hidden = !asked;
      if (!asked) {
        listed.hidden = false;
        found.hidden = true;
        count.textContent = "";
        return;
      }
      try {
        count.textContent ||= "Loading…";
        await load();
      } catch {
        count.textContent = "The search data cannot be loaded.";
        return;
      }
      const now = wanted();
      if (FIELDS.some((name) => now[name] !== fields[name])) return;
      const words = fields.q.toLowerCase().split(/\s+/).filter(Boolean);
      hits = items.filter((item) => fits(item, fields, words));
      // A name that begins with the words is what was meant.
      const first = (item) => item.id.startsWith(words[0]) || item.name.toLowerCase().startsWith(words[0]);
      if (words.length) hits = [...hits.filter(first), ...hits.filter((item) => !first(item))];
      shown = 0;
      cards.replaceChildren();
      show();
      listed.hidden = true;
      found.hidden = false;
      count.textContent = hits.length
        ? number(hits.length) + " of " + number(total) + " found"
        : "Nothing found. Fewer words or filters may help.";
    };

    const fromHash = () => {
      const given = new URLSearchParams(location.hash.slice(1));
      // A link within the page, and no search.
      if (location.hash && !FIELDS.some((name) => given.has(name))) return;
      for (const name of FIELDS) {
        const value = (given.get(name) ?? "").slice(0, 300);
        // Options come with the data; the one that is asked for must be there before.
        if (value && name !== "q") option(name, value, value);
        get(name).value = value;
      }
      update();
    };

    let timer = 0;
    form.addEventListener("input", () => {
      clearTimeout(timer);
      timer = setTimeout(update, 80);
    });
    form.addEventListener("submit", (event) => {
      event.preventDefault();
      update();
    });
    form.addEventListener("reset", () => {
      setTimeout(() => {
        update();
        get("q").focus();
      });
    });
    addEventListener("hashchange", fromHash);
    form.hidden = total === 0;
    // A small registry's choices are there at once, a large one's when they are asked for.
    const prepare = () => load().catch(() => {});
    if (files === 1) prepare();
    else form.addEventListener("focusin", prepare, { once: true });
    fromHash();
  };

  document.addEventListener("DOMContentLoaded", () => {
    themeButton();
    copyButtons();
    search();
  });
})();
