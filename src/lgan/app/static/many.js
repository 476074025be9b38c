// A dropped file: its rows with their predictions, sorted, filtered, saved.

import { accepted, ask, download, get, remove, upload, watch } from "./api.js";
import { h, later, number, picture, say } from "./dom.js";
import { smilesOf } from "./structures.js";

const PAGE = 25;

export class Many {
  constructor(root, model, actions) {
    Object.assign(this, { root, model, actions, rows: [], place: 0, sort: null, down: false });
    this.file = h("input", { type: "file", id: "file", accept: accepted(model), onchange: () => this.take(this.file.files[0]) });
    this.drop = h("div", { className: "drop" },
      h("p", {}, h("label", { htmlFor: "file" }, "Drop a file anywhere on the page, or choose one: "), this.file),
      h("p", { className: "soft" }, model.molecules ? "CSV or TSV with a column “smiles”, SMI, or SDF, also gzipped" : "A TU archive (ZIP), JSON lines or GraphML, also gzipped",
        `; up to ${model.limits.file_rows.toLocaleString("en")} rows. It stays on this machine.`));
    this.problem = h("p", { className: "message", role: "alert", hidden: true });
    this.progress = h("div", { className: "progress", hidden: true });
    this.result = h("div", { className: "result", hidden: true });
    root.append(h("div", { className: "card" }, h("h2", {}, "Many at once"), this.drop, this.problem, this.progress), this.result);
  }

  complain(words) {
    this.problem.textContent = words;
    this.problem.hidden = !words;
  }

  async take(file) {
    if (!file) return;
    this.complain("");
    this.result.hidden = true;
    const bar = h("progress", { max: 1, value: 0, "aria-label": "Rows predicted" });
    const words = h("span", {}, "sending…");
    const cancel = h("button", { type: "button", className: "quiet", disabled: true }, "Cancel");
    this.progress.replaceChildren(bar, words, cancel);
    this.progress.hidden = false;
    try {
      const batch = await upload(file, this.model);
      cancel.disabled = false;
      cancel.onclick = () => { cancel.disabled = true; words.textContent = "stopping…"; remove(`/api/batches/${batch.id}`); };
      let last = batch;
      await watch(`/api/batches/${batch.id}/events`, (told) => {
        last = told;
        bar.value = told.total ? told.done / told.total : 0;
        words.textContent = told.state === "waiting" ? "waiting for another file…" : `${told.done.toLocaleString("en")} of ${told.total.toLocaleString("en")} rows`;
      });
      if (last.state === "failed") throw new Error(last.error);
      if (!last.done) throw new Error("Nothing was predicted: it was cancelled at once.");
      await this.fill(last, file.name);
    } catch (error) {
      this.complain(error.message);
    } finally {
      this.progress.hidden = true;
      this.file.value = "";
    }
  }

  async fill(batch, name) {
    this.batch = batch;
    this.rows = [];
    while (this.rows.length < batch.done) {
      const { rows } = await get(`/api/batches/${batch.id}/rows?from=${this.rows.length}`);
      this.rows.push(...rows.map((row, i) => ({ ...row, "": this.rows.length + i + 1 })));
    }
    const [target] = this.model.targets;
    this.columns = batch.columns.filter((column) => !this.rows.slice(0, 9).some((row) => String(row[column]).includes("\n")))
      .filter((column) => column !== "seen" || this.rows.some((row) => row.seen))
      .filter((column) => column !== "error" || this.rows.some((row) => row.error))
      .filter((column) => !(this.model.kind === "binary" && column === `${target}_probability_${this.model.classes[0]}`));
    Object.assign(this, { place: 0, sort: null, words: "", only: "all" });
    const failed = this.rows.filter((row) => row.error).length;
    const text = h("input", { type: "search", id: "filter", placeholder: "text in any column", oninput: later(150, () => { this.words = text.value; this.place = 0; this.table(); }) });
    const which = h("select", { id: "which", "aria-label": "Which rows", onchange: () => { this.only = which.value; this.place = 0; this.table(); } },
      h("option", { value: "all" }, "all rows"), h("option", { value: "read" }, "with a prediction"), h("option", { value: "failed" }, "that could not be read"),
      this.model.kind !== "regression" && this.model.kind !== "multilabel" && this.model.classes.map((each) => h("option", { value: `=${each}` }, `predicted ${each}`)));
    const stem = name.replace(/\.[^.]*(\.gz)?$/, "");
    const state = batch.state === "cancelled" ? "cancelled: " : "";
    this.count = h("span", { className: "soft", role: "status" });
    this.body = h("div", { className: "scroll", tabIndex: 0, role: "region", "aria-label": "Predictions" });
    this.pages = h("div", { className: "row pages" });
    this.result.replaceChildren(h("div", { className: "card" },
      h("div", { className: "row" }, h("h2", {}, name),
        h("span", { className: "soft" }, `${state}${this.rows.length.toLocaleString("en")} rows, ${failed.toLocaleString("en")} of them unreadable`)),
      h("div", { className: "row tools" },
        h("label", { htmlFor: "filter" }, "Filter"), text, which, this.count,
        h("span", { className: "push" }),
        h("button", { type: "button", onclick: () => this.save("table.csv", `${stem}-predicted.csv`) }, "Download CSV"),
        h("button", { type: "button", className: "quiet", onclick: () => this.save("report.html", `${stem}-report.html`) }, "Download report")),
      this.body, this.pages));
    this.result.hidden = false;
    this.table();
    say(`${this.rows.length} rows predicted`);
  }

  async save(what, name) {
    try {
      await download(`/api/batches/${this.batch.id}/${what}`, name);
    } catch (error) {
      this.complain(error.message);
    }
  }

  chosen() {
    const words = this.words.toLowerCase();
    const [target] = this.model.targets;
    const kept = this.rows.filter((row) => {
      if (this.only === "read" && row.error) return false;
      if (this.only === "failed" && !row.error) return false;
      if (this.only.startsWith("=") && String(row[`${target}_predicted`]) !== this.only.slice(1)) return false;
      return !words || this.columns.some((column) => String(row[column]).toLowerCase().includes(words));
    });
    if (this.sort === null) return kept;
    const sign = this.down ? -1 : 1;
    const empty = (value) => value === "" || value === null || value === undefined;
    return kept.sort((a, b) => {
      const [x, y] = [a[this.sort], b[this.sort]];
      if (empty(x) || empty(y)) return empty(x) - empty(y);  // what is missing comes last, both ways
      const numbers = [Number(x), Number(y)];
      return sign * (numbers.some(Number.isNaN) ? String(x).localeCompare(String(y)) : numbers[0] - numbers[1]);
    });
  }

  table() {
    const rows = this.chosen();
    const last = Math.max(0, Math.ceil(rows.length / PAGE) - 1);
    this.place = Math.min(this.place, last);
    const shown = rows.slice(this.place * PAGE, (this.place + 1) * PAGE);
    const open = (row) => this.actions.openRow(this.batch, row);
    const thumbs = shown.map(() => h("span", { className: "thumb" }));
    this.body.replaceChildren(h("table", { className: "rows" },
      h("thead", {}, h("tr", {}, this.head("", "row"), h("th", { scope: "col" }, "picture"), this.columns.map((column) => this.head(column, column)))),
      h("tbody", {}, shown.map((row, i) => h("tr", { className: row.error ? "failed" : "" },
        h("th", { scope: "row" }, row[""]),
        h("td", {}, row.error ? h("span", { className: "bad" }, "✗ unreadable") : h("button", { type: "button", className: "bare", title: "Ask about this one", "aria-label": `Ask about row ${row[""]}`, onclick: () => open(row) }, thumbs[i])),
        this.columns.map((column) => h("td", { className: typeof row[column] === "number" ? "figure" : "" }, typeof row[column] === "number" ? number(row[column]) : String(row[column] ?? "")))))),
    ));
    this.count.textContent = rows.length === this.rows.length ? "" : `${rows.length.toLocaleString("en")} rows`;
    this.pages.replaceChildren(
      h("button", { type: "button", className: "quiet", disabled: !this.place, onclick: () => { this.place -= 1; this.table(); } }, "Previous"),
      h("span", {}, rows.length ? `rows ${this.place * PAGE + 1} to ${this.place * PAGE + shown.length} of ${rows.length.toLocaleString("en")}` : "no rows"),
      h("button", { type: "button", className: "quiet", disabled: this.place >= last, onclick: () => { this.place += 1; this.table(); } }, "Next"));
    this.pictures(shown, thumbs);
  }

  head(column, words) {
    const own = this.sort === column;
    const figures = column && this.rows.some((row) => typeof row[column] === "number");
    return h("th", { scope: "col", className: figures ? "figure" : "", "aria-sort": own ? (this.down ? "descending" : "ascending") : "none" },
      h("button", { type: "button", className: "bare", onclick: () => { this.down = own && !this.down; this.sort = column; this.place = 0; this.table(); } },
        words, h("span", { className: "arrow", "aria-hidden": "true" }, own ? (this.down ? " ▼" : " ▲") : "")));
  }

  async pictures(rows, thumbs) {
    const good = rows.map((row, i) => [row, i]).filter(([row]) => !row.error);
    if (!good.length) return;
    const { structures, id } = this.batch;
    try {
      const things = await Promise.all(good.map(([row]) => (structures ? smilesOf(row[structures]) : get(`/api/batches/${id}/graphs/${row[""] - 1}`))));
      const { svgs } = await ask("/api/pictures", structures ? { smiles: things } : { graphs: things });
      svgs.forEach((svg, k) => { if (svg) thumbs[good[k][1]].replaceWith(picture(svg, "", "thumb")); });
    } catch { /* the table says all without them */ }
  }
}
